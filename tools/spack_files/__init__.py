"""What the checks of the Spack files are made of: see tools/check_spack.py."""
