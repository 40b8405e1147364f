"""What a study will run: its cases on this node, their CPUs, command lines and order. Pure."""
