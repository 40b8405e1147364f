"""Studies on a batch system's nodes: their submission, and the workers that run in its jobs."""
