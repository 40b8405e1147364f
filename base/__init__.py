"""What every part of pinstudy builds on: errors, text, units, files, commands, readings."""
