"""From comparisons to an answer: who is compared with whom, which mapping pays, and in words."""
