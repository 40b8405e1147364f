"""The host as programs find it: files, processes, privileges, lock, software."""
