"""`pinstudy latency`: how long CPUs need to hand a cache line to each other, and what follows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinstudy.base import PINSTUDY
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.text import as_typed
from pinstudy.cli.options import OUTPUT, RESULTS, node_options
from pinstudy.cli.output import ALL_LIBRARIES, print_json, say, without_library, wrap

if TYPE_CHECKING:
    from pinstudy.runners.latency.pairs import LatencyPlan
    from pinstudy.runners.records.latency_file import LatencyFile, Method

_NO_PRECISION = "none"


@click.command("latency")
@click.option(
    "--pairs",
    "which",
    metavar="PAIRS",
    help="All (default), representative, or a list such as 0:1,0:2.",
)
@click.option(
    "--cpus", metavar="LIST", help="Only pairs of these CPUs, as 0-3,8; of a matrix, its rows'."
)
@click.option(
    "--method",
    type=click.Choice(["cas", "store"]),
    default="cas",
    show_default=True,
    help="By compare-and-swap, or by stores and loads.",
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
    metavar="N",
    default=30,
    show_default=True,
    help="Samples of each run, at least.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 10**9),
    metavar="N",
    default=1,
    show_default=True,
    help="Draws the order, and representative pairs.",
)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Measure nothing; read an earlier latency.json, or the CSV of core-to-core-latency.",
)
@RESULTS
@OUTPUT
@node_options
def latency_command(
    which: str | None,
    cpus: str | None,
    method: Method,
    precision: str,
    samples: int,
    seed: int,
    source: Path | None,
    results: Path,
    output: Path | None,
    sysroot: Path,
    kinds: str | None,
    as_json: bool,
) -> None:
    """Measure the latency between CPUs: by the kernel's groups, and each CPU's nearest partner.

    Prints ready OMP_PLACES, too. Files go to results/latency/<node>/, or to --output.
    """
    from pinstudy.cli.progress import pair_progress
    from pinstudy.configs.values import share_option
    from pinstudy.runners.host.interference import end_orphans
    from pinstudy.runners.host.lock import node_lock
    from pinstudy.runners.host.privileges import give_up_root
    from pinstudy.runners.latency.measure import LatencySettings, estimate_s, measure, write_latency
    from pinstudy.runners.latency.pairs import plan_lines, plan_pairs
    from pinstudy.runners.node.node import open_node
    from pinstudy.runners.study.machine import LIVE_ROOT

    if source is not None:
        is_matrix = source.suffix.lower() == ".csv"
        if which is not None or (cpus is not None and not is_matrix):
            raise UserError("--from measures nothing; leave out --pairs and --cpus")
        give_up_root()
        if is_matrix:
            content = _imported(source, cpus, sysroot if _is_given("sysroot") else None, kinds)
            output = output or results / "latency" / content.node_id
            source = write_latency(output, content)
            say(f"written: {source}", err=as_json)
        _show(source, output or source.parent, as_json)
        return
    share = None if precision == _NO_PRECISION else share_option("--precision", precision)
    settings = LatencySettings(method, samples, share, seed=seed)
    node = open_node(sysroot, kinds)
    plan = plan_pairs(node.topology, which or "all", cpus, seed)
    expected_s = estimate_s(len(plan.pairs), settings)
    lines = plan_lines(node.topology, plan, expected_s, seed)
    if sysroot != LIVE_ROOT:
        _show_plan(plan, lines, expected_s, as_json)
        return
    folder = output or results / "latency" / node.node_id
    # Thousands of pairs take half an hour.
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        raise StudyError(f"{there}: cannot be written; expected a folder that you may write to")
    for line in (*end_orphans(), *lines):
        say(line, err=True)
    with node_lock(node.root), pair_progress(len(plan.pairs)) as done:
        content = measure(node, plan, settings, done)
    give_up_root()
    path = write_latency(folder, content)
    say(f"written: {path}", err=as_json)
    if content.interrupted:
        raise KeyboardInterrupt
    try:
        _show(path, folder, as_json)
    except ImportError as error:
        command = f"{PINSTUDY} latency --from {as_typed(path)}"
        missing = without_library("heat map", error, ALL_LIBRARIES, command)
        # The findings are what --json is for.
        if as_json:
            raise StudyError(missing) from None
        say(missing, err=True)


def _is_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is not click.core.ParameterSource.DEFAULT


def _imported(path: Path, cpus: str | None, sysroot: Path | None, kinds: str | None) -> LatencyFile:
    """Return a matrix as a latency file, with a node's topology where a tree of it is given."""
    from pinstudy.analysis.imports.latency_matrix import cpus_of_rows, latency_file, read_matrix
    from pinstudy.runners.node.core_kinds.declared import declare
    from pinstudy.runners.node.node import open_node

    matrix = read_matrix(path)
    topology = open_node(sysroot, kinds).topology if sysroot else None
    rows = cpus_of_rows(path, len(matrix), cpus, topology)
    declared = declare(kinds, (), tuple(rows), ())[0] if kinds and not topology else ()
    return latency_file(path, matrix, rows, topology, declared)


def _show_plan(plan: LatencyPlan, lines: list[str], expected_s: float, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "plan": plan.name,
                "pairs": [list(pair) for pair in plan.pairs],
                "pairs_of_node": plan.pairs_of_node,
                "why": plan.why,
                "estimate_s": round(expected_s, 1),
            }
        )
        return
    for line in lines:
        say(wrap(line, ""))
    say("a recorded node: nothing is measured")


def _show(path: Path, folder: Path, as_json: bool) -> None:
    from pinstudy.analysis.latency.findings import findings_data, latency_findings
    from pinstudy.analysis.latency.reading import read_latency
    from pinstudy.analysis.output import latency_text, write_latency

    findings = latency_findings(read_latency(path))
    files = write_latency(findings, folder)
    if as_json:
        print_json(findings_data(findings) | {"files": [str(file) for file in files]})
        return
    say(latency_text(findings))
    for file in files:
        say(f"written: {file}")
