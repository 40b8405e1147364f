"""Systemd's own quoting: what a line of a unit means is not what it means to a shell.

Sources: systemd.syntax(7), "Quoting"; systemd.unit(5), "Specifiers"; systemd.exec(5),
Environment=; systemd.service(5), "Command lines".
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_PLAIN = re.compile(r"[A-Za-z0-9_=,.:/+@{}%-]*")


def unit_environment(variables: Mapping[str, str]) -> str:
    """Return a unit's line that sets these variables: `Environment=A=1 "B=two words"`."""
    return "Environment=" + " ".join(_item(f"{n}={value}") for n, value in variables.items())


def _item(text: str) -> str:
    """Return one item of a list in a unit: specifiers doubled, quoted where it has to be."""
    text = text.replace("%", "%%")
    if _PLAIN.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def transient_word(word: str) -> str:
    """Return a word of a command as systemd-run is given it, which expands variables in it."""
    return word.replace("$", "$$")
