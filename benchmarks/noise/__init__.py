"""Whether the verdict's statistics hold what they claim, under noise that is like and unlike."""
