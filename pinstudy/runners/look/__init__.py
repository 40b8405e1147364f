"""Looks at programs that already run."""
