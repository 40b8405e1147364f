"""A study's cases on this node, their CPUs, command lines and order. Pure."""
