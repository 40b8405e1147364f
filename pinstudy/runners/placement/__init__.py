"""Where the threads of a program are: sampled while they run, and proved against the mapping."""
