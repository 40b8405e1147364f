"""The rows that perf prints, as the counter fields of a record. Pure."""
