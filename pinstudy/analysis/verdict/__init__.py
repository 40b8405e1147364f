"""From comparisons to an answer: baselines, comparisons, verdicts, and their sentences."""
