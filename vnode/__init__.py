"""A virtual node with P- and E-cores, energy counters and hybrid PMUs, in a guest of QEMU."""
