"""Settings that pinstudy changes and restores: a journal has each change before it is made."""
