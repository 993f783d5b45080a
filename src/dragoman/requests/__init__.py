"""What each command is asked to do, as frozen sections: options with their help, ranges, defaults and rules."""
