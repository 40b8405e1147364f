"""Floor 3: records become frames, statistics and tables. Never touches the machine."""
