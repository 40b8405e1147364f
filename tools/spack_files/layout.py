"""The folder of recipes: where Spack's package API v2 wants which file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from base.errors import Problem
from base.text import shown
from configs.document import parse_yaml

REPOSITORY = Path("spack_repo/pinstudy")
# Spack 1.0 reads up to this one of version 2 of its package API.
_API = re.compile(r"v2\.0")
_FOLDER = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def check_repository(root: Path) -> Iterator[Problem]:
    """Find what is wrong with repo.yaml, and with the names of folders and files."""
    file = root / REPOSITORY / "repo.yaml"
    if not file.is_file():
        yield Problem(str(file), 1, 1, "is missing: Spack finds no recipes without it")
        return
    document = parse_yaml(file.read_bytes(), str(file))
    yield from document.problems
    top = document.value if isinstance(document.value, dict) else {}
    repo = top.get("repo")
    repo = repo if isinstance(repo, dict) else {}
    if repo.get("namespace") != REPOSITORY.name:
        found = shown(repo.get("namespace"))
        message = f"expected the folder's name {REPOSITORY.name!r} as namespace, not {found}"
        yield document.problem(("repo", "namespace"), message)
    if not _API.fullmatch(str(repo.get("api"))):
        found = shown(repo.get("api"))
        yield document.problem(("repo", "api"), f"expected api v2.0, not {found}")


def recipe_files(root: Path) -> tuple[list[Path], list[Problem]]:
    """Return the recipes of the repository, and the folders that hold none."""
    files, problems = [], []
    folders = root / REPOSITORY / "packages"
    for folder in sorted(folders.iterdir()) if folders.is_dir() else []:
        file = folder / "package.py"
        if folder.name == "__pycache__":
            continue
        if not _FOLDER.fullmatch(folder.name):
            message = "a recipe's folder has a name of small letters, digits and '_'"
            problems.append(Problem(str(folder), 1, 1, message))
        if file.is_file():
            # What is fetched from elsewhere is no part of the project: nothing can disagree.
            if 'git = "https://' not in file.read_text(encoding="utf-8"):
                files.append(file)
        else:
            problems.append(Problem(str(file), 1, 1, "is missing"))
    if not files:
        problems.append(Problem(str(folders), 1, 1, "holds no recipe"))
    return files, problems


def class_name(folder: str) -> str:
    """Return the name that Spack expects of the class in a recipe's folder."""
    return "".join(part.capitalize() for part in folder.split("_"))
