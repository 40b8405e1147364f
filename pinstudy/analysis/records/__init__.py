"""Records in columns: what is kept of each run, read once and checked."""
