"""Records to cases: runs in columns, each case's means, and their footnotes."""
