"""YAML files: their values with positions, and the kinds of single values."""
