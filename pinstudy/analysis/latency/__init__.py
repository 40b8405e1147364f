"""Core-to-core latencies: from latency.json to clusters, partners and the mapping that follows."""
