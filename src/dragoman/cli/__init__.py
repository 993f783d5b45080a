"""The command `dragoman`: each verb parses its options, calls one function and prints."""
