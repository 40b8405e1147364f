"""Commands about the node in front of you."""
