"""What pyproject.toml says that recipes must agree with."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*(.*)")
_BOUND = re.compile(r"(>=|<)\s*([0-9.]+)")


@dataclass(frozen=True)
class Bounds:
    """Which versions are taken: from the lowest on, and those before `below` (None: all)."""

    lowest: str | None
    below: str | None


@dataclass(frozen=True)
class Project:
    """Version, licence, and bounds of Python and of each requirement by its normal name."""

    file: Path
    version: str
    licence: str
    python: Bounds
    requirements: dict[str, Bounds]


def read_project(root: Path) -> Project:
    """Return what the project's metadata says."""
    file = root / "pyproject.toml"
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    requirements = {}
    for text in project["dependencies"]:
        name, bounds = _REQUIREMENT.fullmatch(text).groups()  # type: ignore[union-attr]
        requirements[re.sub(r"[-_.]+", "-", name).lower()] = _bounds(bounds)
    return Project(
        file,
        project["version"],
        project["license"],
        _bounds(project["requires-python"]),
        requirements,
    )


def _bounds(text: str) -> Bounds:
    found = dict(_BOUND.findall(text))
    return Bounds(found.get(">="), found.get("<"))
