"""What pinstudy sets on a node, and puts back: each change is in a journal before it is made."""
