"""Write the man pages, the completion of bash, zsh and fish, and the schema of studies.

usage: python share/pages.py FOLDER

FOLDER gets what belongs below PREFIX/share: man/man1/*.1, bash-completion/completions/pinstudy,
zsh/site-functions/_pinstudy and fish/vendor_completions.d/pinstudy.fish. Beside it, schema.json is
for pinstudy/configs: by it editors complete a study's keys.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
from click.shell_completion import get_completion_class
from click_man.core import write_man_pages

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from pinstudy.base import VERSION
from pinstudy.cli.main import COMMANDS, group
from share.schemas import study_schema, write_schema

COMPLETIONS = {
    "bash": "bash-completion/completions/pinstudy",
    "zsh": "zsh/site-functions/_pinstudy",
    "fish": "fish/vendor_completions.d/pinstudy.fish",
}
# The releases differ by more than the day on which their pages were made.
NO_DATE = " "


def man_pages(folder: Path) -> None:
    """Write a page for pinstudy and for each of its commands."""
    folder.mkdir(parents=True, exist_ok=True)
    # The group imports a command when it is used; click-man looks at those that are there.
    for name in COMMANDS:
        group.commands[name] = group.get_command(click.Context(group), name)
    write_man_pages("pinstudy", group, version=VERSION, target_dir=str(folder), date=NO_DATE)


def completions(folder: Path) -> None:
    """Write the scripts by which shells ask pinstudy what may follow."""
    for shell, name in COMPLETIONS.items():
        completion = get_completion_class(shell)
        assert completion is not None
        script = completion(group, {}, "pinstudy", "_PINSTUDY_COMPLETE").source()
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script, encoding="utf-8")


if __name__ == "__main__":
    man_pages(Path(sys.argv[1]) / "man" / "man1")
    completions(Path(sys.argv[1]))
    write_schema(study_schema(), Path(sys.argv[1]).parent / "schema.json")
