"""The commands that plan and make a study, and list what one can name."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pinstudy.base import PINSTUDY
from pinstudy.base.errors import UserError
from pinstudy.base.text import as_typed
from pinstudy.base.units import duration
from pinstudy.cli.options import (
    ALLOW_EMULATION,
    FRESH,
    JSON,
    KINDS,
    RESULTS,
    SITE,
    SYSROOT,
    UNDECIDED,
    complete_study,
    node_options,
    override_options,
)
from pinstudy.cli.output import print_columns, print_json, say, wrap
from pinstudy.configs.overrides import Overrides
from pinstudy.configs.settings import recorded_words

if TYPE_CHECKING:
    from pinstudy.runners.study.machine import MoreRuns
    from pinstudy.runners.study.summary import PlanSummary


@click.command("studies")
@node_options
def studies_command(sysroot: Path, kinds: str | None, as_json: bool) -> None:
    """List the studies, with their cases and expected time here."""
    from pinstudy.configs.library import list_studies
    from pinstudy.runners.study.machine import open_machine

    machine = open_machine(sysroot, kinds)
    # As if nothing of them were measured yet.
    summaries = [machine.summary(study, Path(), fresh=True) for study in list_studies()]
    if as_json:
        print_json(
            [
                {
                    "name": summary.study.name,
                    "title": summary.study.title,
                    "cases": len(summary.plan.cases),
                    "expected_s": summary.left_s if summary.plan.cases else 0.0,
                    "reasons": list(dict.fromkeys(item.reason for item in summary.plan.skipped)),
                }
                for summary in summaries
            ]
        )
        return
    print_columns(
        [("study", "cases", "time here", "what it is")]
        + [
            (
                summary.study.name,
                str(len(summary.plan.cases)),
                duration(summary.left_s) if summary.plan.cases else "-",
                summary.study.title,
            )
            for summary in summaries
        ]
    )
    say(f"0 cases: `{PINSTUDY} plan STUDY` says why, and what helps")


@click.command("plan")
@click.argument("study", shell_complete=complete_study)
@override_options
@node_options
@RESULTS
@UNDECIDED
@SITE
def plan_command(
    study: str,
    sysroot: Path,
    kinds: str | None,
    as_json: bool,
    results: Path,
    undecided: bool,
    site: str | None,
    **overrides: Any,  # noqa: ANN401 - those of override_options
) -> None:
    """Show what STUDY would run: the exact command line and environment of each case.

    STUDY is a name of `pinstudy studies`, or a study file. Nothing is run or written.
    """
    from pinstudy.configs.library import load_site, load_study
    from pinstudy.runners.study.crash_notice import describe_crashes
    from pinstudy.runners.study.machine import open_machine, results_folder
    from pinstudy.runners.study.remedy import LEFT_OUT, with_remedy

    machine = open_machine(sysroot, kinds, load_site(site) if site else None)
    loaded = load_study(study, Overrides(**overrides))
    summary = machine.summary(loaded, results)
    if undecided:
        from pinstudy.cli.undecided import plan_again, why_no_more

        found, again = plan_again(machine, loaded, results)
        if again is None:
            say(why_no_more(found), err=as_json)
            return
        summary = again
    if machine.live:
        records = results_folder(results, loaded, machine.node) / "records"
        for line in describe_crashes(records, machine.node, summary):
            say(f"pinstudy: {line}", err=True)
    if as_json:
        print_json(summary.as_json())
    else:
        _show_plan(summary, machine.outlook(summary.plan))
    if not machine.startable(summary.plan):
        plan = summary.plan
        why = "" if plan.cases or plan.skipped else f": {LEFT_OUT}"
        nothing = with_remedy(f"nothing of study {loaded.name} can run here{why}", machine, loaded)
        if not plan.cases:
            raise nothing
        say(f"pinstudy: {nothing}", err=True)


def _show_plan(summary: PlanSummary, outlook: list[str]) -> None:
    for table in summary.tables():
        say(f"{table['title']}")
        for row in table["rows"]:
            _print_row(row)
    for line in [*summary.summary(), *outlook]:
        say(line)


def _print_row(row: dict[str, Any]) -> None:
    under = f", {words}" if (words := recorded_words(row)) else ""
    case = f"{row['mapping']} {row['governor']}{under}{_co_runner(row)}"
    start = f"  #{row['number']:<3}{_guest(row)}{case}"
    if row["reason"]:
        say(wrap(f"left out: {row['reason']}", f"{start}  "))
        return
    about = duration(row["estimate_s"])
    # Ranks that share all CPUs have one list.
    cpus = " | ".join(dict.fromkeys(row.get("ranks", {}).get("cpus", [row["cpus"]])))
    added = f"  added by `{row['added_by']}`" if "added_by" in row else ""
    say(f"{start}  CPUs {cpus}  about {about} a run{added}")
    say(f"      {row['shell_line']}")
    if "co_runner_shell_line" in row:
        say(f"      beside it: {row['co_runner_shell_line']}")
    for by, names in _names_by(row["set_by"]).items():
        say(f"      {', '.join(names)}: set by {by}")


def _names_by(set_by: dict[str, str]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for name, by in set_by.items():
        names.setdefault(by, []).append(name)
    return names


def _co_runner(row: dict[str, Any]) -> str:
    """Return a row's co-runner with its CPUs; empty for a program that runs alone."""
    if "co_runner" not in row:
        return ""
    cpus = f" on CPUs {row['co_runner_cpus']}" if row["co_runner_cpus"] else ""
    return f", beside {row['co_runner']}{cpus}"


def _guest(row: dict[str, Any]) -> str:
    """Return the CPUs of a row's guest; empty for a row without a guest."""
    if (guest := row.get("guest")) is None:
        return ""
    cpus = f" on CPUs {guest['cpus']}" if guest["cpus"] else ""
    return f"{guest['vcpus']} vCPUs {guest['mapping']}{cpus}; in the guest: "


@click.command("run")
@click.argument("study", shell_complete=complete_study)
@SYSROOT
@KINDS
@RESULTS
@SITE
@override_options
@UNDECIDED
@FRESH
@click.option("--wait", is_flag=True, help="Wait until no other study runs on this node.")
@ALLOW_EMULATION
@click.option(
    "--report/--no-report",
    default=True,
    envvar="PINSTUDY_REPORT",
    help="Write verdict and report, or the tables only (also: $PINSTUDY_REPORT).",
)
@JSON
def run_command(
    study: str,
    sysroot: Path,
    kinds: str | None,
    results: Path,
    site: str | None,
    undecided: bool,
    fresh: bool,
    wait: bool,
    allow_emulation: bool,
    report: bool,
    as_json: bool,
    **overrides: Any,  # noqa: ANN401 - those of override_options
) -> None:
    """Run STUDY, or continue it where it was stopped.

    STUDY is a name of `pinstudy studies`, or a study file. Results go to results/<study>/<node>/.
    """
    from pinstudy.cli.study_run import make_runs, show_outcome
    from pinstudy.configs.library import is_file_name, load_site, load_study
    from pinstudy.runners.host.lock import node_lock
    from pinstudy.runners.study.machine import LIVE_ROOT, WHOLE_STUDY, open_machine
    from pinstudy.runners.study.remedy import with_remedy
    from pinstudy.runners.study.session import NothingRunsError, Session

    # From any folder.
    place = str(Path(site).absolute()) if site and is_file_name(site) else site or None
    loaded = load_study(study, Overrides(**overrides, site=place))
    if loaded.spread:
        it = as_typed(study)
        raise UserError(
            f"study {loaded.name} is for a batch system (engine: batch): `{PINSTUDY} submit {it}` "
            f"submits it, and `{PINSTUDY} status {it}` shows it"
        )
    if undecided and fresh:
        raise UserError("--undecided: continues results, and --fresh would begin others; name one")
    assignment = WHOLE_STUDY
    if wait and sysroot == LIVE_ROOT:
        # What the plan is made from may be another after the wait.
        with node_lock(sysroot, inf, _tell_wait):
            assignment = replace(WHOLE_STUDY, wait_for_node_s=inf, waiting=_tell_wait)
    machine = open_machine(sysroot, kinds, load_site(site) if site else None)

    def open_session(again: MoreRuns | None = None) -> Session:
        mine = replace(assignment, again=again)
        try:
            return Session(machine, loaded, results, fresh, allow_emulation, mine)
        except NothingRunsError as nothing:
            more = ("--fresh",) if nothing.has_results else ()
            raise with_remedy(str(nothing), machine, loaded, more) from None

    if undecided:
        from pinstudy.cli.undecided import repeat

        repeated = repeat(machine, loaded, results, open_session, quiet=as_json)
        if repeated is None:
            return
        session = repeated
    else:
        session = open_session()
        make_runs(session, as_json)
    show_outcome(session, report, as_json)
    session.raise_if_failed()


def _tell_wait(holder: str) -> None:
    say(f"pinstudy: waiting for the node; another pinstudy is at work ({holder})", err=True)


@click.command("apps")
@click.argument("path", required=False)
@JSON
def apps_command(path: str | None, as_json: bool) -> None:
    """List the programs that can be studied: their builds, sizes, and whether they are built.

    PATH is a study's file or folder, whose apps are listed too, or an app's file, to check it.
    """
    from pinstudy.configs.library import apps_at, display_path, list_apps
    from pinstudy.runners.host.software import find_program, not_found

    here = apps_at(path) if path is not None else {}
    alone = path is not None and Path(path) in here
    installed = [] if alone else list_apps()
    here_names = {app.name for app in here.values()}
    apps = [*here.values(), *(app for app in installed if app.name not in here_names)]
    programs = {build.program for app in apps for build in app.builds.values()}
    programs.update(name for app in apps for name in app.check.command[:1])
    paths = {program: find_program(program) for program in programs}

    def lacking(program: str) -> str:
        return f"{program} {not_found(program)}" if here else f"not found: {program}"

    if as_json:
        print_json(
            [
                {
                    "name": app.name,
                    "title": app.title,
                    "builds": {
                        name: {"program": str(paths[v.program] or ""), "runtime": v.runtime}
                        for name, v in app.builds.items()
                    },
                    "sizes": {name: list(size.arguments) for name, size in app.sizes.items()},
                    "metrics": {metric.name: metric.unit for metric in app.metrics},
                }
                for app in apps
            ]
        )
        return
    for app in apps:
        say(f"{app.name}: {app.title}")
        print_columns(
            (f"build {name}", v.runtime, str(paths[v.program] or lacking(v.program)))
            for name, v in app.builds.items()
        )
        print_columns(
            (f"size {name}", " ".join(size.arguments)) for name, size in app.sizes.items()
        )
        print_columns(
            ("check", name, str(paths[name] or lacking(name))) for name in app.check.command[:1]
        )
    for file in here:
        say(f"{display_path(file.absolute())}: no mistakes")
    if not alone:
        say("A program is added by one YAML file; see docs/apps.md.")


@click.command("mappings")
@node_options
def mappings_command(sysroot: Path, kinds: str | None, as_json: bool) -> None:
    """List the mappings, with the CPUs that they select here."""
    from pinstudy.configs.library import list_mappings
    from pinstudy.runners.node.node import open_node
    from pinstudy.runners.plan.selection import describe

    topology = open_node(sysroot, kinds).topology
    rows = [(mapping, *describe(mapping, topology)) for mapping in list_mappings()]
    if as_json:
        print_json(
            [
                {
                    "name": mapping.name,
                    "selection": mapping.selection,
                    "binding": mapping.binding,
                    "mechanism": mapping.mechanism,
                    "cpus": cpus,
                    "reason": reason,
                }
                for mapping, cpus, reason in rows
            ]
        )
        return
    print_columns(
        (mapping.name, mapping.binding, f"CPUs {cpus}" if cpus else "-", reason or mapping.summary)
        for mapping, cpus, reason in rows
    )
