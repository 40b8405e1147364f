"""Floor 1: what to run. The schema of studies, apps and mappings, and the YAML it describes."""
