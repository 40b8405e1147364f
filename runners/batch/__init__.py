"""Studies on nodes that a batch system gives: what is submitted, and what runs in the jobs."""
