"""The conditions under which a program ran: heat, throttling, other tasks, quotas, suspends."""
