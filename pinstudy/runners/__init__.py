"""Floor 2: the node, its settings, plans, launching and measuring; ends in records of runs."""
