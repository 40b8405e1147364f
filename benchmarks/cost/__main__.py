"""What measuring costs: pinstudy beside perf stat, hyperfine and pyperf, on short programs.

See docs/method.md for what pinstudy does around a run, and tools.py for how the others are used.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

from benchmarks.cost.attention import Attention, Meeting
from benchmarks.cost.rounds import (
    BARE,
    PROGRAMS,
    RUNS,
    Rounds,
    added,
    added_as_used,
    bias,
    ratios,
    used_meanwhile,
)
from benchmarks.cost.tools import Pinstudy, Tool, peers, pinstudies, versions
from benchmarks.lib.kernel import Kernel

WATCHED_S = 1.0


def watch(
    tools: list[Tool], kernel: Kernel, folder: Path, rounds: int
) -> tuple[dict[str, list[Attention]], dict[str, list[Attention]]]:
    """Return the tools' use while the kernel ran: read from /proc, and from their records."""
    from_kernel: dict[str, list[Attention]] = {}
    from_records: dict[str, list[Attention]] = {}
    meeting = Meeting(folder)
    command = kernel.command(WATCHED_S, "--meet", str(meeting.says), str(meeting.hears))
    try:
        for _ in range(rounds):
            for tool in tools:
                if not (line := tool.line(command, 1)):
                    continue
                from_kernel.setdefault(tool.name, []).append(meeting.attention(line))
                if isinstance(tool, Pinstudy):
                    cost = tool.records()[0]["harness"]
                    own = Attention(cost["cpu_s"], cost["context_switches"])
                    from_records.setdefault(tool.name, []).append(own)
    finally:
        meeting.close()
    return from_kernel, from_records


def show(rounds: Rounds, watched: tuple[dict[str, list[Attention]], ...]) -> None:
    """Print all tables, each with what its numbers are."""
    names = [tool.name for tool in rounds.tools]
    beside = [name for name in names if name != BARE]
    ours = "pinstudy"
    others = [name for name in names if not name.startswith(ours)]
    programs = ", ".join(
        f"{program.name} ({rounds.kernel.steps(program.seconds)} steps)"
        for program in PROGRAMS
        if program.seconds
    )
    sections = (
        f"The kernel (`benchmarks/kernel/kernel.cpp`) was calibrated once: {programs}. Numbers are "
        "medians over rounds, in brackets their 95 % intervals.",
        "### Added to each run, ms\n\nFrom the end of one run's `main` to the beginning of the "
        "next one's, less what that takes without any tool. Of `true`: what each further run "
        "takes, less the same without a tool. pinstudy starts a perf for each run, whose cost is "
        "in its own.",
        added(rounds.costs, beside),
        f"### Added to each run when a tool makes {RUNS}, ms\n\nThe same with the tool's "
        "start and end divided among the runs: of pinstudy the plan and the tables, without "
        "verdict and report (`--no-report`).",
        added_as_used(rounds.costs, beside),
        "### Time of a run under pinstudy / under the tool\n\nThe program's own time and what is "
        "between two runs, start and end of the tool left aside.",
        ratios(rounds.costs, ours, others),
        "### Bias of the reported time, ms\n\nThe mean time that the tool reports, less the mean "
        "of the program's own clock in the same runs (`main`'s first to last line). The rest of "
        "the program's life is in it for every tool: its loading and its end, and how late the "
        "tool learns of that. pinstudy reports `elapsed_s`, perf `duration_time`, hyperfine "
        "`times`, pyperf its values.",
        bias(rounds.costs, names),
        f"### What the tool uses while the program runs for {WATCHED_S:g} s\n\nAll of the tool's "
        "processes but the program, between the first and the last step of its work, read from "
        "the kernel; beside it what pinstudy tells of itself in the record (`harness`).",
        used_meanwhile(*watched),
    )
    click.echo("\n\n".join(sections))


@click.command()
@click.option("--rounds", default=9, show_default=True, help="Rounds of all tools and programs.")
@click.option("--watched", default=6, show_default=True, help="Uses of each tool that are watched.")
def main(rounds: int, watched: int) -> None:
    """Measure what measuring costs, and print it as tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tools: list[Tool] = []
        for tool in [*peers(folder), *pinstudies(folder)]:
            if tool.missing:
                click.echo(f"- {tool.name}: n/a, because {tool.missing}")
            else:
                click.echo(f"- {tool.name}: {tool.what}")
                tools.append(tool)
        click.echo(f"\nVersions: {'; '.join(versions())}\n")
        measured = Rounds(tools, Kernel.build(folder), folder)
        for number in measured.make(rounds):
            click.echo(f"round {number} of {rounds}", file=sys.stderr)
        show(measured, watch(tools, measured.kernel, folder, watched))


if __name__ == "__main__":
    main()
