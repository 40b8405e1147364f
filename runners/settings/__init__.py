"""Settings that pinstudy changes and puts back: each change is in a journal before it is made."""
