"""Cards: what a study found on a node in one small file, to be shared without identities."""
