"""What a signal that ended a process is called, and what it usually means."""

from __future__ import annotations

import signal

# Programs are built with -march=native unless told otherwise.
_MEANS = {
    signal.SIGILL: "an instruction that this CPU does not have: it was built for another; build it "
    "here with `make clean setup`",
}


def ended_by(number: int) -> str:
    """Return `ended by SIGKILL`, with what it means where that is not plain."""
    try:
        known = signal.Signals(number)
    except ValueError:
        return f"ended by signal {number}"
    means = _MEANS.get(known)
    return f"ended by {known.name}" + (f" ({means})" if means else "")
