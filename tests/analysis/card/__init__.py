"""Cards: written without identities, read from anybody."""
