"""How tables, numbers and texts are written, in every format."""
