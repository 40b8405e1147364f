"""The page on architecture names files and folders that exist, and all packages."""

from __future__ import annotations

import ast
import re

import pytest

from tests.support.tools import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_file_and_folder_that_it_names_exists() -> None:
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:\.(?:py|md|toml))?)`", PAGE))
    floors = {path.name for path in ROOT.iterdir() if path.is_dir()}
    paths = {name for name in named if name.split("/")[0] in floors or "." in name}
    assert len(paths) > 30
    assert [name for name in sorted(paths) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("floor", ["runners", "analysis"])
def test_its_diagram_has_the_packages_in_the_order_that_is_enforced(floor: str) -> None:
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (text,) = re.findall(
        rf'containers = \["pinstudy.{floor}"\]\nlayers = (\[.*?\n\])', settings, re.DOTALL
    )
    layers = ast.literal_eval(text)
    _, drawn = PAGE.split(f"\n{floor}/ ", 1)
    # Under the floor's name its packages are indented; the next floor begins a line.
    lines = re.split(r"\n(?=\S)", drawn)[0].splitlines()
    packages = [set(re.findall(r"\b[a-z_]+(?=/|\s|$)", line)) for line in lines]
    # The first line may have words on the floor instead.
    assert packages[-len(layers) :] == [set(layer.split(" | ")) for layer in layers]


def test_it_explains_each_package_of_the_runners_and_of_analysis() -> None:
    inits = [
        *ROOT.glob("pinstudy/runners/*/__init__.py"),
        *ROOT.glob("pinstudy/analysis/*/__init__.py"),
    ]
    packages = [path.parent.relative_to(ROOT).as_posix() for path in inits]
    assert [name for name in packages if f"`{name}`" not in PAGE] == []
