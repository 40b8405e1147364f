"""What others measured becomes results: logs of `perf stat`, and tables of means."""
