"""What else went on while a program ran: heat, throttling, other tasks, quotas, suspends."""
