"""One run: a program is started, placed, sampled, checked and classified."""
