"""What a node is: its CPUs, caches and settings, the facts that results depend on, a snapshot."""
