"""What can be measured on a node, what cannot, why, and what grants it: `pinstudy doctor`."""
