"""From the results of a race to its advice: what to take, what it gains, and ready lines."""
