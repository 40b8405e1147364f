"""Records of runs: how they are written and read, what they may hold, and what they tell."""
