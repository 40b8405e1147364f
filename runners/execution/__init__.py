"""One run: a program is started, placed, watched, checked and judged."""
