"""What this host is to a program that runs on it: files, processes, privileges, lock, software."""
