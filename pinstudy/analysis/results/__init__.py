"""Records to cases: where results are from, each case's means, and their footnotes."""
