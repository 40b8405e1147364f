"""`pinstudy plan`: what a study would run here, and what it would leave out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pinstudy.options import RESULTS, SITE, node_options
from pinstudy.output import print_json, say, wrap


@click.command("plan")
@click.argument("study")
@node_options
@RESULTS
@SITE
def command(
    study: str,
    sysroot: Path,
    kinds: str | None,
    as_json: bool,
    results: Path,
    site: str | None,
) -> None:
    """Show what STUDY would run: the exact command line and environment of each case.

    STUDY is the name of a study of configs/studies, or the path of a study file. Nothing is run
    and nothing is written.
    """
    from configs.library import load_site, load_study
    from runners.study.crash_notice import describe_crashes
    from runners.study.machine import open_machine, results_folder

    machine = open_machine(sysroot, kinds, load_site(site) if site else None)
    asked = load_study(study)
    summary = machine.summary(asked, results)
    if machine.live:
        records = results_folder(results, asked, machine.node) / "records"
        for line in describe_crashes(records, machine.node, summary):
            say(f"pinstudy: {line}", err=True)
    if as_json:
        print_json(summary.as_json())
        return
    for table in summary.tables():
        say(f"{table['title']}")
        for row in table["rows"]:
            _print_row(row)
    for line in [*summary.summary(), *machine.outlook(summary.plan)]:
        say(line)


def _print_row(row: dict[str, Any]) -> None:
    from base.units import duration

    start = f"  #{row['number']:<3}{_guest(row)}{row['mapping']} {row['governor']}"
    if row["reason"]:
        say(wrap(f"left out: {row['reason']}", f"{start}  "))
        return
    about = duration(row["estimate_s"])
    say(f"{start}  CPUs {row['cpus']}  about {about} a run")
    say(f"      {row['shell_line']}")


def _guest(row: dict[str, Any]) -> str:
    """Return the CPUs of a row's guest; empty for a row without a guest."""
    if "vcpu_mapping" not in row:
        return ""
    cpus = f" on CPUs {row['vcpu_cpus']}" if row["vcpu_cpus"] else ""
    return f"{row['vm_cpus']} vCPUs {row['vcpu_mapping']}{cpus}; in the guest: "
