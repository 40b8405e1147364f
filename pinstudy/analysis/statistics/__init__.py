"""Statistics of repeated runs: pure functions of arrays, with no idea of records or tables."""
