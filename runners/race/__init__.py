"""Cases that race: which of them a study still runs, and what is decided, from its runs alone."""
