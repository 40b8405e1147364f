"""Specs as Spack writes them (`py-pandas@2.1:~performance`), as far as our files use them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = r"[a-z0-9][a-z0-9-]*"
_VERSION = r"[0-9]+(?:\.[0-9]+)*"
_BOUNDS = re.compile(rf"@(?:=?({_VERSION})?(:)?({_VERSION})?|=?(main))")
_SPEC = re.compile(
    rf"(?P<name>{_NAME})?(?P<version>@[^+~%\s]+)?(?P<variants>(?:[+~][a-z0-9_]+)*)"
    rf"(?P<compilers>(?:\s*%(?:[a-z]+=)?{_NAME})*)"
)


class BadSpecError(ValueError):
    """A spec that is not of a form which our files use."""


@dataclass(frozen=True)
class Spec:
    """One spec: name ("" for none), bounds of its version, its variants and its compilers.

    `lowest` and `highest` are None where that side is open. `version` is a branch (`main`), or "".
    """

    name: str
    lowest: str | None
    highest: str | None
    version: str
    variants: tuple[str, ...]
    compilers: tuple[str, ...]


def parse(text: str) -> Spec:
    """Return the parts of a spec.

    Raises:
        BadSpecError: it is none, or of a form that our files do not use.
    """
    found = _SPEC.fullmatch(text.strip())
    if found is None or not text.strip():
        raise BadSpecError(f"'{text}' is not a spec of a form that is used here")
    lowest = highest = None
    version = ""
    if found["version"]:
        bounds = _BOUNDS.fullmatch(found["version"])
        if bounds is None or found["version"] in ("@", "@="):
            raise BadSpecError(
                f"'{text}': '{found['version']}' is not a version or a range of them"
            )
        lowest, colon, highest, branch = bounds.groups()
        highest = highest if colon else lowest
        version = branch or ""
    return Spec(
        found["name"] or "",
        lowest,
        highest,
        version,
        tuple(re.findall(r"[+~]([a-z0-9_]+)", found["variants"])),
        tuple(re.findall(rf"%(?:[a-z]+=)?({_NAME})", found["compilers"])),
    )


def number(version: str) -> tuple[int, ...]:
    """Return a version to be compared with others: 3.10 is after 3.9."""
    return tuple(int(part) for part in version.split("."))
