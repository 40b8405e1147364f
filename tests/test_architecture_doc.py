"""The page on architecture names files and folders that exist, and all packages."""

from __future__ import annotations

import re

from tests.support.tools import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_file_and_folder_that_it_names_exists() -> None:
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:\.(?:py|md|toml))?)`", PAGE))
    floors = {path.name for path in ROOT.iterdir() if path.is_dir()}
    paths = {name for name in named if name.split("/")[0] in floors or "." in name}
    assert len(paths) > 30
    assert [name for name in sorted(paths) if not (ROOT / name).exists()] == []


def test_it_explains_each_package_of_the_runners_and_of_analysis() -> None:
    inits = [*ROOT.glob("runners/*/__init__.py"), *ROOT.glob("analysis/*/__init__.py")]
    packages = [path.parent.relative_to(ROOT).as_posix() for path in inits]
    assert [name for name in packages if f"`{name}`" not in PAGE] == []
