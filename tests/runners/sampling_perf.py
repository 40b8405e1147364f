"""`perf c2c record` as if this CPU could sample memory accesses, on machines whose CPU cannot.

    python -m tests.runners.sampling_perf ACCESSES.json PERF c2c record …

The real PERF does all of it, but that it records page faults in the place of memory accesses; when
it has ended, the accesses of the file ([cpu, address, data source] each) are put into its samples.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from tests.runners.c2c_recordings import FAULTS, Access, put_accesses


def main() -> int:
    """Run perf; return its exit status."""
    accesses = [Access(*access) for access in json.loads(Path(sys.argv[1]).read_text())]
    perf, *arguments = sys.argv[2:]
    options = [argument for argument in arguments[2:] if argument not in ("-u", "--")]
    with subprocess.Popen([perf, "record", *FAULTS, *options], close_fds=False) as recording:
        signal.signal(signal.SIGINT, lambda *_: recording.send_signal(signal.SIGINT))
        status = recording.wait()
    path = Path(options[options.index("-o") + 1])
    # perf ends by the signal that stopped it, which is no failure.
    if "-p" in options and path.stat().st_size:
        put_accesses(path, accesses, path)
    return max(status, 0)


if __name__ == "__main__":
    sys.exit(main())
