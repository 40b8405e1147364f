"""Two results, or two programs of one algorithm, side by side."""
