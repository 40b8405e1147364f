"""Checks, without Spack, that its environments and recipes agree with the project.

usage: python -m tools.check_spack [CHECKOUT]

What it holds against each other: spack.yaml and configs/spack/*.yaml, the recipes in spack_repo/,
pyproject.toml, CMake's files, and a list of Spack's own packages that is kept by hand. It runs
nothing of what it reads. That an environment concretizes, and that anything builds, only Spack can
show: `make test-spack`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from base.errors import Problem
from tools.spack_files.cmake import read_cmake
from tools.spack_files.environment import read_environment
from tools.spack_files.environment_checks import check_environment
from tools.spack_files.layout import check_repository, recipe_files
from tools.spack_files.project import read_project
from tools.spack_files.recipe import inherit, read_recipe
from tools.spack_files.recipe_checks import check_recipe


def mistakes(root: Path) -> list[Problem]:
    """Return all mistakes in the Spack files of a checkout, in the order of their places."""
    problems = list(check_repository(root))
    project, cmake = read_project(root), read_cmake(root)
    files, missing = recipe_files(root)
    problems += missing
    read = [read_recipe(file) for file in files]
    recipes = {recipe.name: recipe for recipe, _ in read}
    inherit(recipes)
    for recipe, misread in read:
        # What a recipe that was not understood lacks would be said twice.
        problems += misread or check_recipe(recipe, project, cmake)
    for file in (root / "spack.yaml", *sorted(root.glob("configs/spack/*.yaml"))):
        environment, misread = read_environment(file)
        problems += [*misread, *check_environment(environment, root, recipes)]
    return sorted(set(problems))


def main() -> int:
    """Print the mistakes, one a line; return how the check ends, 1 with mistakes."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = mistakes(root)
    for problem in found:
        print(str(problem).removeprefix(f"{root}/"))
    print(f"Spack files: {len(found) or 'no'} mistake{'' if len(found) == 1 else 's'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
