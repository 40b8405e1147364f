"""Floor 2: the node, mappings, plans, launching, measuring; ends in Run records."""
