"""The tables of YAML: what each may hold, where it stands in its file, and how it is decoded."""
