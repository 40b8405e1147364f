"""The tables of means that a study ends with, as published tables have them."""
