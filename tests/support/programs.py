"""Programs of the build, as tests start them."""

from __future__ import annotations

from pathlib import Path

from runners.host.software import WITNESS, find_program


def built(name: str) -> Path:
    """Return the path of a program that `make setup` builds."""
    path = find_program(name)
    assert path, f"{name} is not built; run `make setup`"
    return path


def witness() -> Path:
    """Return the path of the parent of programs under study."""
    return built(WITNESS)
