"""The commands, a module each, which has a click command named `command`."""
