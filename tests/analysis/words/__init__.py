"""Tests of findings in words."""
