"""How long a cache line takes from one CPU to another: which pairs, and their measurement."""
