"""Compares the recipe's bounds of Python packages with those of pyproject.toml.

usage: python -m tools.spack_bounds

All else about the recipes and environments only Spack can tell: `make test-spack`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECIPE = ROOT / "spack_repo/pinstudy/packages/pinstudy/package.py"


def in_recipe() -> dict[str, str]:
    """Return the lowest version of Python and of each package that the recipe asks for."""
    needs = re.findall(r'depends_on\("(?:py-)?([a-z0-9-]+)@([0-9.]+):"\)', RECIPE.read_text())
    return dict(needs)


def in_project() -> dict[str, str]:
    """Return those of pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text()
    listed = text.partition("\ndependencies = [")[2].partition("]")[0]
    needs = re.findall(r'"([A-Za-z0-9-]+)>=([0-9.]+)"', listed)
    needs += re.findall(r'\nrequires-(python) = ">=([0-9.]+)"', text)
    return {name.lower(): version for name, version in needs}


def main() -> int:
    """Print the differences; return 1 if there are any."""
    recipe, project = in_recipe(), in_project()
    different = sorted(
        name for name in {*recipe, *project} if recipe.get(name) != project.get(name)
    )
    for name in different:
        print(f"{name}: recipe {recipe.get(name)}, pyproject.toml {project.get(name)}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
