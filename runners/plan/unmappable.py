"""What rules a mapping out on a node."""


class CannotMapError(Exception):
    """The node, the thread count or the program's build rules this mapping out; says why."""
