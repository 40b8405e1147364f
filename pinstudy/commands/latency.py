"""`pinstudy latency`: how long CPUs need to hand a cache line to each other, and what follows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pinstudy.options import INTO, RESULTS, node_options

if TYPE_CHECKING:
    from runners.latency_plan import LatencyPlan
    from runners.node import Node
    from runners.topology import Topology

# When all pairs take longer, the shorter plan is named.
_LONG_S = 600.0
_NO_PRECISION = "none"


@click.command("latency")
@click.option(
    "--pairs",
    "which",
    metavar="PAIRS",
    help="Which pairs: all (default), representative, or a list such as 0:1,0:2.",
)
@click.option("--cpus", metavar="LIST", help="Only pairs of these CPUs, as 0-3,8.")
@click.option(
    "--method",
    type=click.Choice(["cas", "store"]),
    default="cas",
    show_default=True,
    help="How the line is handed over: compare-and-swap, or stores and loads.",
)
@click.option(
    "--precision",
    default="1%",
    show_default=True,
    metavar="SHARE",
    help="Half the 95 % interval of each run's median, at most; none for --samples only.",
)
@click.option(
    "--samples",
    type=click.IntRange(10, 1000),
    default=30,
    show_default=True,
    help="Samples of each run, at least.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 10**9),
    default=1,
    show_default=True,
    help="Draws the order of pairs, directions and lines, and representative pairs.",
)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Measure nothing; read an earlier latency.json, of this node or of another one.",
)
@RESULTS
@INTO
@node_options
def command(
    which: str | None,
    cpus: str | None,
    method: str,
    precision: str,
    samples: int,
    seed: int,
    source: Path | None,
    results: Path,
    into: Path | None,
    sysroot: Path,
    kinds: str | None,
    as_json: bool,
) -> None:
    """Measure the latency between CPUs, draw it, and say which CPUs belong together.

    Heat map, clusters, the best partner of each CPU and ready OMP_PLACES go to
    results/latency/<node>/, or to --into.
    """
    from configs.errors import UserError
    from runners.latency import LatencySettings, estimate_s, measure, write_latency
    from runners.node import open_node
    from runners.workplace import LIVE_ROOT

    if source is not None:
        if which is not None or cpus is not None:
            raise UserError("--from measures nothing; leave out --pairs and --cpus")
        _show(source, into or source.parent, as_json)
        return
    settings = LatencySettings(method, samples, _share(precision), seed=seed)
    node = open_node(sysroot, kinds)
    plan = _plan(node.topology, which or "all", cpus, seed)
    expected_s = estimate_s(len(plan.pairs), settings)
    if sysroot != LIVE_ROOT:
        _show_plan(node, plan, expected_s, as_json)
        return
    _say_plan(node, plan, expected_s)
    with _PairProgress(len(plan.pairs)) as progress:
        content = measure(node, plan, settings, progress.done)
    folder = into or results / "latency" / node.node_id
    path = write_latency(folder, content)
    click.echo(f"written: {path}", err=as_json)
    if content.get("interrupted"):
        raise KeyboardInterrupt
    try:
        _show(path, folder, as_json)
    except ImportError as error:
        reason = " ".join(str(error).split())[:200]
        click.echo(
            f"no heat map: {reason}; where numpy, pandas, scipy and matplotlib are installed: "
            f"pinstudy latency --from {path}",
            err=True,
        )


def _share(text: str) -> float | None:
    """Return what --precision gives; raises UserError when it is no percentage."""
    from configs.errors import UserError
    from configs.shares import parse_share

    if text == _NO_PRECISION:
        return None
    try:
        share = parse_share(text)
    except ValueError as error:
        raise UserError(f"--precision: {error}") from None
    if share is None:
        raise UserError(f"--precision {text}: expected a percentage such as 1%, or {_NO_PRECISION}")
    return share


def _plan(topology: Topology, which: str, cpus: str | None, seed: int) -> LatencyPlan:
    """Return the plan of the pairs of all allowed CPUs, or of some of them."""
    from dataclasses import replace

    from configs.cpulist import format_cpulist, parse_cpulist
    from configs.errors import UserError
    from runners.latency_plan import ALL, REPRESENTATIVE, parse_pairs, plan_pairs

    chosen: Any = which if which in (ALL, REPRESENTATIVE) else parse_pairs(which)
    if cpus is None:
        return plan_pairs(topology, chosen, seed)
    allowed = topology.allowed
    try:
        some = parse_cpulist(cpus)
    except ValueError as error:
        raise UserError(f"--cpus: {error}") from None
    if len(some) < 2 or not set(some) <= set(allowed):
        raise UserError(f"--cpus {cpus}: expected two or more of CPUs {format_cpulist(allowed)}")
    plan = plan_pairs(replace(topology, allowed=some), chosen, seed)
    return replace(plan, of=len(allowed) * (len(allowed) - 1) // 2)


def _plan_lines(node: Node, plan: LatencyPlan, expected_s: float) -> list[str]:
    """Return how many pairs there will be, how long they take, and which plan is shorter."""
    from configs.words import plural
    from runners.forecast import duration
    from runners.latency_plan import ALL, plan_pairs

    lines = [f"{plural(len(plan.pairs), 'pair')} of {plan.of}, about {duration(expected_s)}"]
    if plan.name != ALL:
        lines.append(plan.why)
    elif expected_s > _LONG_S:
        fewer = len(plan_pairs(node.topology, "representative").pairs)
        shorter_s = expected_s * fewer / len(plan.pairs)
        lines.append(
            f"--pairs representative is shorter: {plural(fewer, 'pair')}, about "
            f"{duration(shorter_s)}; it tells no clusters"
        )
    return lines


def _say_plan(node: Node, plan: LatencyPlan, expected_s: float) -> None:
    for line in _plan_lines(node, plan, expected_s):
        click.echo(line, err=True)


def _show_plan(node: Node, plan: LatencyPlan, expected_s: float, as_json: bool) -> None:
    """Show what would be measured on a recorded node."""
    from pinstudy.output import print_json, wrap

    if as_json:
        print_json(
            {
                "plan": plan.name,
                "pairs": [list(pair) for pair in plan.pairs],
                "pairs_of_node": plan.of,
                "why": plan.why,
                "estimate_s": round(expected_s, 1),
            }
        )
        return
    for line in _plan_lines(node, plan, expected_s):
        click.echo(wrap(line, ""))
    click.echo("a recorded node: nothing is measured")


def _show(path: Path, folder: Path, as_json: bool) -> None:
    """Show what a latency file says, and write what belongs beside it."""
    from analysis.latency.outcome import findings_text, write_findings
    from analysis.latency.reading import read_latency
    from analysis.latency.report import findings_json, latency_findings
    from pinstudy.output import print_json, terminal_width

    findings = latency_findings(read_latency(path))
    files = write_findings(findings, folder)
    if as_json:
        print_json(findings_json(findings) | {"files": [str(file) for file in files]})
        return
    click.echo(findings_text(findings, terminal_width()))
    for file in files:
        click.echo(f"written: {file}")


class _PairProgress:
    """A bar of the pairs that are done, on a terminal only."""

    def __init__(self, pairs: int) -> None:
        self._pairs = pairs
        self._bar: Any = None
        self._task: Any = None
        self._shown_s = 0.0

    def __enter__(self) -> _PairProgress:
        import sys

        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            self._bar = Progress(
                MofNCompleteColumn(),
                BarColumn(bar_width=24),
                TextColumn("{task.description}", markup=False),
                console=Console(stderr=True, markup=False, highlight=False),
                transient=True,
                # No thread that wakes up while lines are handed over.
                auto_refresh=False,
            )
            self._task = self._bar.add_task("", total=self._pairs)
            self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._bar:
            self._bar.stop()

    def done(self, pairs: int, _of: int, left_s: float | None) -> None:
        """Show how many pairs are done and how long the others take, twice a second at most."""
        import time

        from runners.forecast import duration

        now_s = time.monotonic()
        if self._bar and (now_s - self._shown_s > 0.5 or pairs == self._pairs):
            self._shown_s = now_s
            text = "pairs" if left_s is None else f"pairs, about {duration(left_s)} left"
            self._bar.update(self._task, completed=pairs, description=text, refresh=True)
