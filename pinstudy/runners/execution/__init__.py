"""One run: a program is started and sampled, its output is checked, and the run is classified."""
