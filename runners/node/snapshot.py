"""A node as one archive: what `--sysroot` reads of it, to plan elsewhere or to report a mistake.

Equal nodes give equal bytes: members are sorted and have no times and no owners.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from dataclasses import dataclass
from pathlib import Path

from runners.host.tree import Tree
from runners.node.discovery import check_root
from runners.node.snapshot_files import NodeFiles, read_node_files

FORMAT = 1
FOLDER = "node"
SUFFIX = ".tar.gz"


@dataclass(frozen=True)
class Snapshot:
    """The archive, and what is in it: how many files, and the reason of each that is not."""

    data: bytes
    files: int
    unavailable: dict[str, str]


def take_snapshot(root: Path, with_names: bool = False) -> Snapshot:
    """Pack the node whose files are below `root`.

    The archive has the files below `node/` at the node's own paths, as regular files, and
    `snapshot.json`, which says what could not be read and what was taken out. Raises UserError
    when `root` holds no node.
    """
    tree = Tree(root)
    check_root(tree)
    found = read_node_files(tree, with_names)
    contents = {f"{FOLDER}{path}": content for path, content in found.files.items()}
    contents["snapshot.json"] = _description(found, with_names)
    directories = {f"{FOLDER}{path}" for path in found.directories}
    for path in [*contents, *directories]:
        directories.update(str(parent) for parent in Path(path).parents if parent != Path())
    return Snapshot(_archive(contents, directories), len(found.files), found.unavailable)


def _description(found: NodeFiles, with_names: bool) -> bytes:
    described = {
        "format": FORMAT,
        "with_names": with_names,
        "removed": found.removed,
        "unavailable": found.unavailable,
    }
    return (json.dumps(described, indent=2, sort_keys=True) + "\n").encode()


def _archive(contents: dict[str, bytes], directories: set[str]) -> bytes:
    packed = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for path in sorted({*contents, *directories}):
            member = tarfile.TarInfo(path)
            if path in contents:
                member.size = len(contents[path])
                archive.addfile(member, io.BytesIO(contents[path]))
            else:
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(member)
    return packed.getvalue()
