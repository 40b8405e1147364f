"""Floor 4: the command line. One module a command, no logic."""
