"""The names of core kinds."""

# Ranked by performance, best first; LP-E cores are E-cores without an L3 cache.
KIND_ORDER = ("P", "E", "LP-E")
