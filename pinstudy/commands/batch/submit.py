"""`pinstudy submit`: give a study, or what is missing of it, to a batch system."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinstudy.options import KINDS, RESULTS, SITE
from pinstudy.output import say

if TYPE_CHECKING:
    from configs.study import Study
    from runners.batch.submit import Preparation

_NAMES = "n1,n2"


@click.command("submit")
@click.argument("study")
@SITE
@KINDS
@RESULTS
@click.option(
    "--spread",
    type=click.Choice(["per-node", "split"]),
    help="The whole study on each node, or its blocks divided over interchangeable nodes.",
)
@click.option("--nodes", metavar=_NAMES, help="per-node: the nodes, by their names.")
@click.option("--features", metavar="hybrid,…", help="per-node: one node with each; split: which.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="split: how many nodes.")
@click.option("--time-limit", metavar="TIME", help="How long each job may take, such as 2 h.")
@click.option(
    "--chain",
    type=int,
    default=1,
    show_default=True,
    metavar="N",
    help="So many jobs in turn, each of which continues where the one before was stopped.",
)
@click.option("--again", is_flag=True, help="Submit even while earlier jobs may be at work.")
@click.option("--dry-run", is_flag=True, help="Only print what would be submitted.")
@click.option(
    "--sysroot",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A node of the site as a recorded file tree, to tell the expected time.",
)
@click.option("--allow-emulation", is_flag=True, help="Engine vm: run guests without KVM too.")
def command(
    study: str,
    site: str | None,
    kinds: str | None,
    results: Path,
    spread: str | None,
    nodes: str | None,
    features: str | None,
    workers: int | None,
    time_limit: str | None,
    chain: int,
    again: bool,
    dry_run: bool,
    sysroot: Path | None,
    allow_emulation: bool,
) -> None:
    """Submit STUDY at a site, or what is missing of it.

    STUDY is the name of a study of configs/studies, or the path of a study file. What is known of
    the jobs is kept in results/<study>/submissions/.
    """
    from base.errors import UserError
    from configs.library import load_study, read_site
    from configs.schema.values import time_option
    from runners.batch.spread import Wanted
    from runners.batch.submit import Asked, Preparation

    asked_study = load_study(study)
    named = site or (asked_study.spread.site if asked_study.spread else None)
    if named is None:
        raise UserError(
            "no site is named: --site SITE says where to submit (a name of configs/sites, or a "
            "file of your own; see docs/batch.md)"
        )
    at, data = read_site(named)
    wanted = Wanted(
        spread,
        _names("--nodes", nodes),
        _names("--features", features),
        workers,
    )
    prepared = Preparation(
        Asked(
            asked_study,
            at,
            data,
            results,
            wanted,
            time_option("--time-limit", time_limit),
            chain,
            again,
            kinds,
            allow_emulation,
            _arguments(
                study,
                results,
                {
                    "--site": named,
                    "--kinds": kinds,
                    "--spread": spread,
                    "--nodes": nodes,
                    "--features": features,
                    "--workers": workers,
                    "--time-limit": time_limit,
                    "--chain": chain if chain > 1 else None,
                    "--allow-emulation": "" if allow_emulation else None,
                },
            ),
        )
    )
    _show(prepared, sysroot)
    if not prepared.workers:
        say(f"nothing is missing of study {asked_study.name}; nothing is submitted")
    elif not dry_run:
        submission = prepared.submit(say)
        say(f"written: {submission.folder}")
        of = shlex.join([asked_study.name, *_results(results)])
        say(f"see `pinstudy status {of}`")


def _names(option: str, text: str | None) -> tuple[str, ...] | None:
    """Return the names that an option lists; raises UserError where a script cannot hold one."""
    from base.errors import UserError
    from configs.site import is_script_word

    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    if not all(map(is_script_word, names)):
        raise UserError(f"{option} {text!r}: expected names, joined by commas, such as n1,n2")
    return names


def _show(prepared: Preparation, sysroot: Path | None) -> None:
    """Print the first script, the other nodes, and the jobs, node-hours and expected time."""
    from base.text import plural
    from base.units import duration
    from configs.study import PER_NODE
    from runners.batch.spread import describe_spread

    study, chain = prepared.asked.study, prepared.asked.chain
    missing = "" if prepared.workers == prepared.all_workers else ", of what is missing"
    if not prepared.workers:
        return
    say(prepared.first_script())
    if prepared.spread.how == PER_NODE and len(prepared.workers) > 1:
        others = ", ".join(worker.target for worker in prepared.workers[1:])
        say(f"and the same for {others}\n")
    say(f"study {study.name}{missing}: {describe_spread(prepared.spread, prepared.workers)}")
    jobs = plural(len(prepared.workers) * chain, "job")
    in_turn = f" ({chain} in turn)" if chain > 1 else ""
    limit = duration(prepared.queue.time_limit_s)
    hours = prepared.most_node_s / 3600
    say(f"{jobs}{in_turn} of at most {limit} each: at most {hours:.3g} node-hours")
    say(_expected(prepared, study, sysroot))


def _expected(prepared: Preparation, study: Study, sysroot: Path | None) -> str:
    """Return the expected time of a worker, and the --chain that it needs if its jobs are short."""
    from base.units import duration
    from configs.study import SPLIT
    from runners.batch.worker import usable_s
    from runners.study.machine import open_machine

    if sysroot is None:
        return (
            "expected time: not known here; a node's is told by `pinstudy status` once a worker is "
            "there, or here by --sysroot with a tree that `pinstudy snapshot` made on it"
        )
    asked = prepared.asked
    summary = open_machine(sysroot, asked.kinds, asked.site).summary(study, asked.results)
    total_s = summary.left_s
    if total_s is None:
        return "expected time: unknown, because an app gives no estimate"
    if prepared.spread.how == SPLIT:
        total_s /= len(prepared.workers)
    each = f"expected time of each worker: about {duration(total_s)}"
    jobs = int(total_s / usable_s(prepared.queue.time_limit_s)) + 1
    if jobs > asked.chain:
        return f"{each}, longer than the time limit; submit {jobs} jobs in turn with --chain {jobs}"
    return each


def _arguments(study: str, results: Path, options: dict[str, object]) -> tuple[str, ...]:
    """Return the arguments that submit the same again from any folder."""
    options["--site"] = _from_anywhere(str(options["--site"]))
    given = {name: str(value) for name, value in options.items() if value is not None}
    return (
        _from_anywhere(study),
        *(part for name, value in given.items() for part in (name, value) if part),
        *_results(results),
    )


def _from_anywhere(name_or_path: str) -> str:
    from configs.library import is_file_name

    return str(Path(name_or_path).absolute()) if is_file_name(name_or_path) else name_or_path


def _results(results: Path) -> tuple[str, ...]:
    return () if results == Path("results") else ("--results", str(results.absolute()))
