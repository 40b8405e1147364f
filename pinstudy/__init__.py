"""Floor 4: the command line. A module for each group of commands, no logic."""
