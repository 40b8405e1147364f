"""Rules between tables: of studies with their apps and mappings, and of races."""
