"""Evidence that tells core kinds apart, a module each; kinds.py takes the first that does."""
