"""What must hold between tables: of studies with their apps and mappings, races, mechanisms."""
