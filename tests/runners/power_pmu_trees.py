"""Power PMU trees made by hand, as Linux arch/x86/events/rapl.c shows them; and a perf to count it.

The perf is a stand-in for the tool, not for what drives it: it turns its counters on and off when
it is told to, waits for its standard input to end, and prints rows that were given to it.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.studies import write_program
from tests.support.trees import CPU

INTEL_EVENTS = ("energy-pkg", "energy-cores", "energy-gpu", "energy-psys")
ROOT_CAPABILITIES, NO_CAPABILITIES = "000001ffffffffff", "0000000000000000"

_PERF = """\
#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
        -o) output=$2 ;;
        --control) fds=${2#fd:} ;;
    esac
    shift
done
exec 8< /proc/self/fd/${fds%,*} 9> /proc/self/fd/${fds#*,}
for word in enable disable; do
    read -r told <&8
    [ "$told" = "$word" ] && echo ack >&9
done
/bin/cat
/bin/cat > "$output" <<'ROWS'
# started on Mon Mar  3 12:00:00 2025

"""


def power_pmu_tree(
    root: Path,
    events: tuple[str, ...] = INTEL_EVENTS,
    cpumask: str = "0",
    vendor: str = "GenuineIntel",
    packages: dict[int, int] | None = None,
) -> Path:
    """Write a node's power PMU below `root`; `packages` has the package of each CPU."""
    _write_pmu(root, "power", events, cpumask)
    (root / CPU).mkdir(parents=True, exist_ok=True)
    for cpu, package in (packages or {}).items():
        topology = root / CPU / f"cpu{cpu}/topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text(f"{package}\n")
    (root / "proc/sys/kernel").mkdir(parents=True, exist_ok=True)
    (root / "proc/cpuinfo").write_text(f"processor\t: 0\nvendor_id\t: {vendor}\n")
    set_permission(root, "2", ROOT_CAPABILITIES)
    return root


def add_core_pmu(root: Path, cpumask: str) -> Path:
    """Write the PMU of single cores below the root of a node, which Linux shows on AMD."""
    _write_pmu(root, "power_core", ("energy-core",), cpumask)
    (root / "proc/sys/kernel").mkdir(parents=True, exist_ok=True)
    set_permission(root, "2", ROOT_CAPABILITIES)
    return root


def _write_pmu(root: Path, pmu: str, events: tuple[str, ...], cpumask: str) -> None:
    folder = event_file(root, "", pmu).parent
    folder.mkdir(parents=True)
    for number, event in enumerate(events, 1):
        event_file(root, event, pmu).write_text(f"event=0x{number:02x}\n")
        event_file(root, f"{event}.unit", pmu).write_text("Joules\n")
        event_file(root, f"{event}.scale", pmu).write_text("2.3283064365386962890625e-10\n")
    (folder.parent / "cpumask").write_text(f"{cpumask}\n")


def event_file(root: Path, name: str, pmu: str = "power") -> Path:
    return root / f"sys/bus/event_source/devices/{pmu}/events" / (name or "x")


def set_permission(root: Path, paranoid: str, capabilities: str) -> None:
    (root / "proc/self").mkdir(parents=True, exist_ok=True)
    (root / "proc/sys/kernel/perf_event_paranoid").write_text(f"{paranoid}\n")
    (root / "proc/self/status").write_text(f"CapEff:\t{capabilities}\n")


def joules_row(event: str, joules: str, run_ns: int = 2_500_000_000) -> str:
    """Return a row as perf writes it with `-x ;`."""
    return f"{joules};Joules;power/{event}/;{run_ns};100.00;;"


def core_row(cpu: int, joules: str) -> str:
    """Return a row as perf 6.1 writes it with `-j -A`."""
    return (
        f'{{"cpu" : "{cpu}", "counter-value" : "{joules}", "unit" : "Joules", '
        '"event" : "power_core/energy-core/", "event-runtime" : 2109691270, '
        '"pcnt-running" : 100.00, "metric-value" : 0.000000, "metric-unit" : "(null)"}'
    )


def install_perf(folder: Path, *rows: str) -> str:
    """Write a perf that prints these rows; return its path."""
    return str(write_program(folder / "perf", _PERF + "\n".join(rows) + "\nROWS\n"))


def install_failing_perf(folder: Path, message: str) -> str:
    """Write a perf that ends at once with this message; return its path."""
    return str(write_program(folder / "perf", f"#!/bin/sh\necho '{message}' >&2\nexit 255\n"))
