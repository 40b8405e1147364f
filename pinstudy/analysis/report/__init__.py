"""The report of results: one HTML file, read without a network, from templates of our own."""
