"""The commands: each module has a click command named `command`."""
