"""A site's command for tests: sets the governor of a recorded tree's policies.

fake_site.py ROOT GOVERNOR CPUS
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT, GOVERNOR, CPUS = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
if GOVERNOR == "ondemand":
    sys.exit("ondemand is not allowed at this site")
for part in CPUS.split(","):
    first, _, last = part.partition("-")
    for cpu in range(int(first), int(last or first) + 1):
        file = ROOT / f"sys/devices/system/cpu/cpufreq/policy{cpu}/scaling_governor"
        file.write_text(f"{GOVERNOR}\n")
with (ROOT / "asked").open("a") as log:
    log.write(f"{GOVERNOR} {CPUS}\n")
