"""Core-to-core latencies: from latency.json to clusters, partners and the mapping that follows."""

from analysis.latency.model import Latency
from analysis.latency.reading import read_latency

__all__ = ["Latency", "read_latency"]
