"""Records to cases: runs in columns, each case's means, and what has to be said of them."""
