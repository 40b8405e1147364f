"""The commands: `pinstudy COMMAND` is the function COMMAND_command of its module."""
