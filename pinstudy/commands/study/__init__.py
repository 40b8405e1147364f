"""Commands that make or show a study."""
