"""The signs that tell core kinds apart, a module each; kinds.py orders them into kinds."""
