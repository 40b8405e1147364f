"""The commands about the node in front of you: what it is, what it can, and its settings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pinstudy.base import PINSTUDY
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.files import write_atomically
from pinstudy.base.text import as_typed, plural
from pinstudy.base.units import duration
from pinstudy.cli.options import JSON, KINDS, SITE, SYSROOT, node_options
from pinstudy.cli.output import print_columns, print_json, say, wrap

if TYPE_CHECKING:
    from pinstudy.runners.doctor.capability import Capability
    from pinstudy.runners.records.instruments import Finding
    from pinstudy.runners.settings.recovery import Restored
    from pinstudy.runners.settings.tune import Change


@click.command("topology")
@node_options
def topology_command(sysroot: Path, kinds: str | None, as_json: bool) -> None:
    """Show this node's core kinds, cores and caches, and the evidence for them."""
    from pinstudy.runners.node.node import open_node
    from pinstudy.runners.node.topology import topology_json

    topology = open_node(sysroot, kinds).topology
    shown = topology_json(topology)
    if as_json:
        print_json(shown)
        return
    say("Core kinds")
    print_columns(
        (kind["name"], f"CPUs {kind['cpus']}", kind["evidence"]) for kind in shown["kinds"]
    )
    say("Cores (CPUs of one core together)")
    for name in (*(kind.name for kind in topology.kinds), ""):
        if cores := [core["cpus"] for core in shown["cores"] if core["kind"] == name]:
            say(wrap(" ".join(cores), f"  {name or 'of no kind'}: "))
    say("Caches")
    print_columns(cache_rows(shown["caches"]))
    say("NUMA nodes")
    print_columns(
        (str(numa["node"]), f"CPUs {numa['cpus']}" if numa["cpus"] else "no CPUs")
        for numa in shown["numa"]
    )
    if topology.offline:
        say(f"Offline: CPUs {shown['offline']}")
    if topology.allowed != topology.online:
        say(f"This process may use CPUs {shown['allowed']} alone")
    for note in topology.notes:
        say(wrap(note, "Note: "))


def cache_rows(caches: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Return level, size and the groups of CPUs that share such a cache, one row a size."""
    groups: dict[tuple[int, int | None], list[str]] = {}
    for cache in caches:
        groups.setdefault((cache["level"], cache["size_bytes"]), []).append(cache["cpus"])
    # Caches of unknown size come last.
    in_order = sorted(groups.items(), key=lambda item: (item[0][0], item[0][1] or math.inf))
    return [
        (
            f"L{level}",
            "size unknown" if size is None else f"{size // 1024} KiB",
            " ".join(dict.fromkeys(cpus)),
        )
        for (level, size), cpus in in_order
    ]


@click.command("doctor")
@node_options
@SITE
def doctor_command(sysroot: Path, kinds: str | None, as_json: bool, site: str | None) -> None:
    """Tell what can be measured here, what cannot, why, and what grants it.

    One line a capability, worst first; below it the commands that grant it, now and after a reboot.

    Exit status 1 when something is missing or limited that is not optional (docs/doctor.md).
    """
    from pinstudy.configs.library import load_site
    from pinstudy.runners.doctor.capability import worst_first
    from pinstudy.runners.doctor.report import EVERY_NAME, probe
    from pinstudy.runners.node.node import open_node

    node = open_node(sysroot, kinds)
    loaded = load_site(site) if site else None
    capabilities = worst_first(probe(node, node.tree.live, EVERY_NAME, loaded))
    hindered = [capability.name for capability in capabilities if capability.hinders]
    if as_json:
        print_json([capability.fields() for capability in capabilities])
    else:
        _show_capabilities(capabilities)
        everything = "Everything that measuring needs is here."
        worse = wrap(", ".join(hindered), "Measuring is worse for: ")
        say(worse if hindered else everything)
    if hindered:
        raise SystemExit(1)


def _show_capabilities(capabilities: list[Capability]) -> None:
    from pinstudy.runners.doctor.capability import NOT_TRIED

    width = max(len(capability.name) for capability in capabilities)
    untried = [capability.name for capability in capabilities if capability.reason == NOT_TRIED]
    for capability in capabilities:
        if capability.name in untried:
            continue
        start = f"{capability.state:<7}  {capability.name:<{width}}  "
        optional = "optional: " if capability.optional and capability.state != "ok" else ""
        say(wrap(optional + capability.reason, start))
        # Not wrapped: a command is copied and pasted.
        for label, text in (("grant: ", capability.grant), ("to last: ", capability.lasting)):
            if text:
                say(" " * len(start) + label + text)
    if untried:
        say(wrap(", ".join(untried), f"{NOT_TRIED}: "))


@click.command("prove")
@SYSROOT
@KINDS
@SITE
@click.option("--quick", is_flag=True, help="Try fewer settings and shorter loads.")
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(
        ["counters", "moves", "caches", "energy", "placement", "resolution"], case_sensitive=True
    ),
    help="Try these instruments alone (may be repeated); the result is not kept.",
)
@JSON
def prove_command(
    sysroot: Path,
    kinds: str | None,
    site: str | None,
    quick: bool,
    only: tuple[str, ...],
    as_json: bool,
) -> None:
    """Test this node's instruments by work whose truth is known; about two minutes.

    Each instrument is ok, off (by how much) or absent (why, and what grants it). The result is
    kept: tables mark the columns of what was off. Settings are put back. Exit status 1 when
    something is off.
    """
    from pinstudy.configs.library import load_site
    from pinstudy.runners.host.interference import end_orphans
    from pinstudy.runners.host.lock import node_lock
    from pinstudy.runners.node.node import open_node
    from pinstudy.runners.prove.proof import keep_for_node
    from pinstudy.runners.prove.prove import GROUPS, prove

    node = open_node(sysroot, kinds)
    if not node.tree.live:
        raise UserError(f"--sysroot {sysroot}: the instruments of a recorded node cannot be tested")
    loaded = load_site(site) if site else None
    with node_lock(node.root):
        for line in end_orphans():
            say(line, err=True)
        proof = prove(
            node,
            loaded,
            quick,
            lambda what: say(f"trying {what}", err=True),
            lambda finding: None if as_json else _show_finding(finding),
            only or GROUPS,
        )
    kept = "" if only else f"; kept in {keep_for_node(proof, node.root)}"
    if as_json:
        print_json(proof.content())
    else:
        say(f"{proof.summary}; {duration(proof.elapsed_s)}{kept}")
    if proof.off:
        raise StudyError(f"off: {proof.names_off}; tables of studies mark their columns")


def _show_finding(finding: Finding) -> None:
    start = f"{finding.state:<6}  {finding.name:<34}  "
    measured = f": {finding.measured}" if finding.measured else ""
    why = f"; {finding.why}" if finding.why else ""
    say(wrap(f"{finding.truth}{measured}{why}", start))


@click.command("snapshot")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.tar.gz")
@click.option("--with-names", is_flag=True, help="Pack the host's name as well.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@SYSROOT
@JSON
def snapshot_command(
    file: Path, with_names: bool, force: bool, sysroot: Path, as_json: bool
) -> None:
    """Pack what --sysroot reads of this node, to plan elsewhere or to report a mistake.

    It has the kernel's files about CPUs, counters, frequencies, energy and sensors, but no serial
    numbers or identifiers.
    """
    from pinstudy.runners.node.snapshot import FOLDER, SUFFIX, take_snapshot

    stem = file.name.removesuffix(SUFFIX)
    if stem in ("", file.name):
        raise UserError(f"{file} is not a name and {SUFFIX}; give one such as node{SUFFIX}")
    if file.exists() and not force:
        raise UserError(f"{file} is there; give another name, or --force to replace it")
    snapshot = take_snapshot(sysroot, with_names)
    write_atomically(file, snapshot.data)
    if as_json:
        fields = {"files": len(snapshot.files), "bytes": len(snapshot.data)}
        print_json({"snapshot": str(file), **fields, "unavailable": snapshot.unavailable})
        return
    unread = f", {len(snapshot.unavailable)} could not be read" if snapshot.unavailable else ""
    say(wrap(f"{len(snapshot.files)} files, {len(snapshot.data) // 1024} KiB{unread}", f"{file}: "))
    folder = as_typed(stem)
    say("To plan for this node elsewhere:")
    say(f"  mkdir -p {folder} && tar -xzf {as_typed(file)} -C {folder}")
    say(f"  {PINSTUDY} plan quick --sysroot {as_typed(f'{stem}/{FOLDER}')}")


@click.command("tune")
@SYSROOT
@click.option(
    "--governor",
    metavar="NAME",
    help="The governor of all CPUs; without it performance, where offered; `keep` leaves it.",
)
@click.option("--turbo", type=click.Choice(["on", "off"]), help="Switch turbo; else left alone.")
@click.option("--dry-run", is_flag=True, help="Only show what would be changed.")
@JSON
def tune_command(
    sysroot: Path, governor: str | None, turbo: str | None, dry_run: bool, as_json: bool
) -> None:
    """Put this node into a quiet state for measuring; `pinstudy restore` undoes it.

    Sets the governor performance, and switches off the NMI watchdog, automatic NUMA balancing and
    automatic task groups. Daemons that would interfere are named, with the command that stops them.
    A study still sets the governors of its cases.

    Exit status 1 when something could not be put in force.
    """
    from pinstudy.runners.host.interference import find_daemons, stop_commands
    from pinstudy.runners.host.tree import Tree
    from pinstudy.runners.settings.tune import changes_of, tune

    changes = changes_of(Tree(sysroot), governor, turbo)
    if not dry_run:
        changes = tune(sysroot, changes)
    if as_json:
        print_json([change.__dict__ for change in changes])
    else:
        _show_changes(changes, dry_run)
        daemons = find_daemons(Tree(sysroot))
        if isinstance(daemons, list) and daemons:
            say(
                f"{', '.join(daemons)} may change settings or move interrupts meanwhile; stop with "
                f"`{stop_commands(daemons)}`"
            )
    if any(change.problem for change in changes):
        raise StudyError("not everything could be put in force; the lines above say why")


def _show_changes(changes: Sequence[Change], dry_run: bool) -> None:
    if not changes:
        say("nothing to change: the node is as it is recommended for measuring")
        return
    done = "would be" if dry_run else "is now"
    # A governor has a file for each policy; equal changes are printed once.
    same: dict[tuple[str, str], list[str]] = {}
    for change in changes:
        name = change.path.rpartition("/")[2]
        text = change.problem or f"was {change.was}, {done} {change.wanted}: {change.why}"
        same.setdefault((name, text), []).append(change.path)
    print_columns(
        (name if len(paths) == 1 else f"{name} ({len(paths)} policies)", text)
        for (name, text), paths in same.items()
    )
    if not dry_run and any(not change.problem for change in changes):
        say(f"undo it with `{PINSTUDY} restore`")


@click.command("restore")
@SYSROOT
@click.option(
    "--forget", is_flag=True, help="Give up what cannot be put back, such as a gone CPU's governor."
)
@JSON
def restore_command(sysroot: Path, forget: bool, as_json: bool) -> None:
    """Put governors, frequency limits, turbo and kernel settings back.

    First what a killed study has left, then what `pinstudy tune` has changed. Every setting is read
    back; exit status 1 when one could not be verified.
    """
    from pinstudy.runners.host.lock import node_lock
    from pinstudy.runners.settings.journal import STUDY, TUNE, open_journal, state_folder
    from pinstudy.runners.settings.recovery import others_leftovers, restore

    restored = []
    with node_lock(sysroot):
        both = [open_journal(sysroot, purpose) for purpose in (STUDY, TUNE)]
        journals = [journal for journal in both if journal.exists()]
        for journal in journals:
            done = restore(sysroot, journal)
            if done is None:
                continue
            restored.append(done)
            if not as_json:
                _show_restored(done, forget)
            if done.problems and forget:
                journal.remove()
    leftovers = others_leftovers(sysroot)
    if as_json:
        print_json(
            {
                "restored": [_restored_fields(done, forget) for done in restored],
                "leftovers": leftovers,
            }
        )
    elif leftovers:
        say("\n".join(leftovers), err=True)
    elif not journals:
        say(f"nothing to put back (no journal in {state_folder(sysroot)})")
    if leftovers or any(done.problems and not forget for done in restored):
        raise StudyError("not every setting is as it was; the lines above say which")


def _restored_fields(done: Restored, forget: bool) -> dict[str, Any]:
    return {
        "changed_by": done.entry.process,
        "settings": len(done.entry.settings),
        "rebooted": done.rebooted,
        "given_up": forget and bool(done.problems),
        "problems": done.problems,
    }


def _show_restored(done: Restored, forget: bool) -> None:
    if done.rebooted:
        say(done.message)
    elif not done.problems:
        count = plural(len(done.entry.settings), "setting")
        say(f"put back and read back: {count}, changed by {done.entry.process}")
    elif forget:
        for problem in done.problems.values():
            say(f"given up: {problem}")
    else:
        say(done.message, err=True)
