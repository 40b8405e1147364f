"""The signs that tell a node's core kinds apart, one module each; runners/kinds.py orders them."""
