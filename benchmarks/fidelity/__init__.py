"""Are our own programs those that are asked about? The originals and ours, side by side."""
