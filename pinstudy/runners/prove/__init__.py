"""`pinstudy prove`: the instruments of a study, tested on the node by work of a known amount."""
