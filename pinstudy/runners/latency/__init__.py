"""How long a cache line takes from one CPU to another: choice of pairs, and measurement."""
