"""The command that looks at a program that already runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

import click

from pinstudy.base.cpulist import format_cpulist, parse_cpulist
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.text import one_line, plural, printable
from pinstudy.base.units import duration
from pinstudy.cli.options import JSON, KINDS
from pinstudy.cli.output import print_columns, print_json, say, wrap

if TYPE_CHECKING:
    from pinstudy.runners.look.look import ProgramLook
    from pinstudy.runners.node.topology import Topology
    from pinstudy.runners.placement.thread_placement import Expected

# One screen holds so many threads; the busiest stand first.
_MOST_THREADS = 16
# So many characters of a list of CPUs leave a thread its line.
_MOST_OF_LIST = 18


@click.command("look")
@click.argument("pid", type=click.IntRange(1), required=False)
@click.option("--job", metavar="ID", help="A Slurm job on this node, or its step: 7, 7_1, 7.0.")
@click.option(
    "--seconds",
    type=click.FloatRange(0.5, 3600),
    default=10.0,
    show_default=True,
    help="How long to look.",
)
@click.option("--expect", metavar="CPUS", help="Prove that threads may use just these, as in 0-7.")
@click.option("--pin", is_flag=True, help="With --expect: and each on one CPU of its own.")
@click.option("--threads", type=click.IntRange(1), help="With --expect: as many are at work.")
@KINDS
@JSON
def look_command(
    pid: int | None,
    job: str | None,
    seconds: float,
    expect: str | None,
    pin: bool,
    threads: int | None,
    kinds: str | None,
    as_json: bool,
) -> None:
    """Look at a program that runs already: where its threads are, by core kind, and why.

    Shows masks, migrations, how the work is divided, and what else is on its CPUs. Needs no root
    and neither stops nor traces the program; Ctrl-C ends it earlier. With --expect exit status 1
    unless the placement is proved.
    """
    from pathlib import Path

    from pinstudy.runners.look.look import look
    from pinstudy.runners.look.processes import process_of, processes_of_job
    from pinstudy.runners.node.node import open_node

    if (pid is None) == (job is None):
        raise UserError("give one of PID and --job ID; `pgrep -a NAME` finds a PID")
    if expect is None and (pin or threads):
        raise UserError("--pin and --threads belong to --expect CPUS, such as --expect 0-7")
    # NaN is in any range.
    if math.isnan(seconds):
        raise UserError("--seconds nan: expected a number from 0.5 to 3600")
    node = open_node(Path("/"), kinds)
    expected = _expected(node.topology, expect, pin, threads) if expect is not None else None
    pids = process_of(node.tree, pid) if pid else processes_of_job(node.tree, job or "")
    seen = look(node, pids, seconds, expected)
    if as_json:
        print_json(seen.fields())
    else:
        _show(seen, node.topology)
    if seen.interrupted:
        raise KeyboardInterrupt
    if seen.proof and seen.proof.verdict != "proved":
        raise StudyError(f"placement {seen.proof.verdict}: {seen.proof.reason}")


def _expected(
    topology: Topology, text: str, pin: bool, threads: int | None
) -> Callable[[int], Expected]:
    """Return what the placement is proved against, for the number of threads found at work."""
    from pinstudy.runners.placement.thread_placement import Expected

    try:
        cpus = parse_cpulist(text)
    except ValueError as error:
        raise UserError(f"--expect {printable(text)}: {error}") from None
    missing = sorted(set(cpus).difference(topology.online))
    if missing or not cpus:
        problem = f"no CPU {format_cpulist(missing)} here" if cpus else "an empty list"
        online = format_cpulist(topology.online)
        raise UserError(f"--expect {printable(text)}: {problem}; online are CPUs {online}")
    return lambda found: Expected("pin" if pin else "set", cpus, threads or found)


def _show(seen: ProgramLook, topology: Topology) -> None:
    single = len(seen.pids) == 1
    named = f"process {seen.pids[0]}" if single else f"{len(seen.pids)} processes"
    work = f"{len(seen.at_work)} of {plural(len(seen.threads), 'thread')} at work"
    ended = ", and it ended" if seen.ended else ""
    say(wrap(one_line(seen.command), f"{named}  "))
    say(f"{duration(seen.elapsed_s)}, {plural(seen.looks, 'look')}: {work}{ended}")
    say("")
    kinds = [kind.name for kind in topology.kinds]
    print_columns(_kind_rows(seen, topology))
    say("")
    print_columns(_thread_rows(seen, kinds))
    if left := len(seen.threads) - min(len(seen.at_work), _MOST_THREADS):
        say(f"  {left} more, idle or less busy: --json shows them")
    say("")
    print_columns(_notes(seen))


def _kind_rows(seen: ProgramLook, topology: Topology) -> Iterator[tuple[str, ...]]:
    used = seen.cpu_s_on
    whole_s = sum(used.values())
    yield "kind", "CPUs", "CPUs busy", "share of its CPU time"
    for kind in topology.kinds:
        here_s = used.get(kind.name, 0.0)
        busy = f"{here_s / seen.elapsed_s:.2f} of {len(kind.cpus)}"
        yield kind.name, _cpus(kind.cpus), busy, _share(here_s, whole_s)
    if others_s := used.get("", 0.0):
        yield "none", "others", f"{others_s / seen.elapsed_s:.2f}", _share(others_s, whole_s)


def _thread_rows(seen: ProgramLook, kinds: list[str]) -> Iterator[tuple[str, ...]]:
    on_kinds = [f"on {kind}" for kind in kinds]
    yield ("thread", "name", "at work", *on_kinds, "waits", "moves", "allowed", "ran on")
    for thread in seen.at_work[:_MOST_THREADS]:
        yield (
            str(thread.tid),
            # A thread may put a line break into its name.
            one_line(thread.name),
            _share(thread.cpu_s, seen.elapsed_s),
            *(_share(thread.cpu_s_on.get(kind, 0.0), thread.cpu_s) for kind in kinds),
            "n/a" if thread.waited_s is None else _share(thread.waited_s, seen.elapsed_s),
            "n/a" if thread.migrations is None else str(thread.migrations),
            _cpus(thread.allowed),
            _cpus(thread.ran_on),
        )


def _notes(seen: ProgramLook) -> Iterator[tuple[str, str]]:
    if seen.imbalance is not None:
        most, least = (duration(thread.cpu_s) for thread in (seen.at_work[0], seen.at_work[-1]))
        times = f"the busiest thread worked {most}, the least busy {least}"
        yield "Imbalance", f"{_share(seen.imbalance, 1)}: {times}; busy waiting hides it"
    yield "Beside it", _beside(seen)
    if seen.proof:
        reason = f": {seen.proof.reason}" if seen.proof.reason else ""
        yield "Placement", seen.proof.verdict + reason
    else:
        yield "Placement", "not asked for: --expect CPUS proves it"


def _beside(seen: ProgramLook) -> str:
    """Return what else used the CPUs that the threads at work may use."""
    found, absent = seen.beside.fields, seen.beside.unavailable
    if not seen.cpus:
        return "not known: no thread was at work, whose CPUs would tell"
    if "foreign_cpu_s" not in found:
        return f"not known: {absent['foreign_cpu_s']}"
    shown = (f"{task['command']} {task['cpu_s']:.2f} s" for task in found["foreign_tasks"])
    tasks = printable(", ".join(shown)) or "none that can be seen"
    return (
        f"{found['foreign_cpu_s']:.2f} s of other CPU time on CPUs {_cpus(seen.cpus)}, of it "
        f"{found['interrupts_s']:.2f} s interrupts; {found['steal_s']:.2f} s stolen by other "
        f"machines; processes there: {tasks}"
    )


def _cpus(cpus: Collection[int]) -> str:
    """Return a list of CPUs; of a long one where it begins and how many there are."""
    text = format_cpulist(cpus)
    if len(text) <= _MOST_OF_LIST:
        return text
    count = f",…({len(cpus)})"
    end = text.rfind(",", 0, _MOST_OF_LIST - len(count) + 1)
    return text[: end if end > 0 else text.index(",")] + count


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole > 0 else "n/a"
