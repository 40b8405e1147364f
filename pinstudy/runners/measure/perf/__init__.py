"""perf: its events, processes and output, and what was counted on each core kind."""
