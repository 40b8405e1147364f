"""What every part of pinstudy builds on: errors, text, units, files, commands, readings."""

# As in pyproject.toml.
VERSION = "0.1.0"
