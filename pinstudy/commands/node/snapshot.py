"""`pinstudy snapshot`: this node as one file, for `--sysroot` elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from base.errors import UserError
from base.text import as_typed
from pinstudy.options import SYSROOT
from pinstudy.output import say, wrap


@click.command("snapshot")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.tar.gz")
@click.option("--with-names", is_flag=True, help="Pack the host's name as well.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@SYSROOT
def command(file: Path, with_names: bool, force: bool, sysroot: Path) -> None:
    """Pack what --sysroot reads of this node, to plan elsewhere or to report a mistake.

    The file has the kernel's files about CPUs, counters, frequencies, energy and sensors. It has
    no serial numbers and no identifiers of the machine, and no host's name unless asked for. What
    could not be read is in its snapshot.json, with the reason.
    """
    from base.files import write_atomically
    from runners.node.snapshot import FOLDER, SUFFIX, take_snapshot

    stem = file.name.removesuffix(SUFFIX)
    if stem in ("", file.name):
        raise UserError(f"{file} does not end in {SUFFIX}; give a name such as node{SUFFIX}")
    if file.exists() and not force:
        raise UserError(f"{file} is there; give another name, or --force to replace it")
    taken = take_snapshot(sysroot, with_names)
    write_atomically(file, taken.data)
    unread = f", {len(taken.unavailable)} could not be read" if taken.unavailable else ""
    say(wrap(f"{taken.files} files, {len(taken.data) // 1024} KiB{unread}", f"{file}: "))
    folder = as_typed(stem)
    say("To plan for this node elsewhere:")
    say(f"  mkdir -p {folder} && tar -xzf {as_typed(file)} -C {folder}")
    say(f"  pinstudy plan quick --sysroot {as_typed(f'{stem}/{FOLDER}')}")
