"""Tests of the way from a user's command line to a study."""
