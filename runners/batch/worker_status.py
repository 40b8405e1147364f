"""With which exit status a worker says how it ended."""

# All of its runs are made.
DONE = 0
# All but those of cases that this node cannot run.
REFUSED = 3
# sysexits.h, EX_TEMPFAIL: what is left can be made later.
STOPPED = 75
