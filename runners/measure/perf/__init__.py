"""perf: which events, its processes, its output, and what was counted on each core kind."""
