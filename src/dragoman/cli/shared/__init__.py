"""What several verbs share: option parsing, constraint files, output files."""
