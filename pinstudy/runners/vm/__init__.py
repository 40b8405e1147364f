"""Guests for the engine `vm`: QEMU, its boot files, its CPUs on the host, the runner inside."""
