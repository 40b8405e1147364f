"""What the trial with a real Spack is made of: see tools/test_spack.py."""
