"""The answer at a glance: every comparison of a study in one grid, and what else is to say."""
