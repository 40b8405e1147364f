"""An environment, held against the recipes and against what must be the same in all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from base.errors import Problem
from base.structure import Path as Place
from base.text import shown, unknown_word
from tools.spack_files.builtin import PACKAGES, TAG
from tools.spack_files.environment import Environment
from tools.spack_files.layout import REPOSITORY
from tools.spack_files.recipe import Recipe
from tools.spack_files.recipe_checks import check_known
from tools.spack_files.specs import BadSpecError, Spec, parse


def check_environment(
    environment: Environment, root: Path, recipes: Mapping[str, Recipe]
) -> Iterator[Problem]:
    """Find where an environment disagrees with the recipes, by name."""
    for place, spec in environment.specs:
        for message in _spec(spec, recipes):
            yield environment.problem(place, message)
    for name in environment.section("packages"):
        if name not in PACKAGES and name not in recipes:
            message = unknown_word("package", name, [*recipes, *PACKAGES])
            yield environment.problem(("spack", "packages", name), message, key=True)
    yield from _repositories(environment, root)
    yield from _developed(environment, root, recipes)
    yield from _sites(environment)


def _spec(spec: Spec, recipes: Mapping[str, Recipe]) -> Iterator[str]:
    recipe = recipes.get(spec.name)
    if recipe is None:
        if spec.name and spec.name not in PACKAGES:
            yield unknown_word("package", spec.name, [*recipes, *PACKAGES])
            return
        yield from check_known(spec)
        return
    variants = [variant for one in recipe.line() for variant in one.variants]
    for variant in spec.variants:
        if variant not in variants:
            yield unknown_word(f"variant of {spec.name}", variant, variants)
    versions = [version for one in recipe.line() for version in one.versions]
    version = spec.version or spec.lowest
    if version and version not in versions:
        yield unknown_word(f"version of {spec.name}", version, versions)
    for compiler in spec.compilers:
        if compiler not in PACKAGES:
            yield unknown_word("compiler", compiler, ["gcc", "llvm"])


def _repositories(environment: Environment, root: Path) -> Iterator[Problem]:
    place: Place = ("spack", "repos")
    repos = environment.section("repos")
    path = repos.get(REPOSITORY.name)
    if not isinstance(path, str) or not _leads_to(environment, path, root / REPOSITORY):
        message = f"expected {REPOSITORY.name}: the path of {REPOSITORY}, not {shown(path)}"
        yield environment.problem((*place, REPOSITORY.name), message)
    builtin = repos.get("builtin")
    tag = builtin.get("tag") if isinstance(builtin, dict) else None
    if tag != TAG:
        message = (
            f"expected {TAG}, which tools/spack_files/builtin.py was read from, not {shown(tag)}"
        )
        yield environment.problem((*place, "builtin", "tag"), message)


def _developed(
    environment: Environment, root: Path, recipes: Mapping[str, Recipe]
) -> Iterator[Problem]:
    developed = environment.section("develop")
    for name, entry in developed.items():
        place: Place = ("spack", "develop", name)
        if name not in recipes:
            yield environment.problem(place, unknown_word("recipe", name, recipes), key=True)
        if not isinstance(entry, dict):
            continue
        path, text = entry.get("path"), entry.get("spec")
        if not isinstance(path, str) or not _leads_to(environment, path, root):
            message = f"expected the path of the checkout, not {shown(path)}"
            yield environment.problem((*place, "path"), message)
        try:
            other = isinstance(text, str) and parse(text).name != name
        except BadSpecError:
            continue
        if other:
            message = f"expected a spec of {name}, not {shown(text)}"
            yield environment.problem((*place, "spec"), message)
    for name in recipes.keys() - developed.keys():
        message = f"{name} has no address to fetch from: it must be developed"
        yield environment.problem(("spack", "develop"), message, key=True)


def _sites(environment: Environment) -> Iterator[Problem]:
    included = environment.sections.get("include")
    for index, entry in enumerate(included if isinstance(included, list) else ()):
        for key, expected in (("path", "./spack-site.yaml"), ("optional", "true")):
            found = entry.get(key) if isinstance(entry, dict) else None
            if found != expected:
                place = ("spack", "include", index, key)
                yield environment.problem(place, f"expected {key}: {expected}, not {shown(found)}")


def _leads_to(environment: Environment, path: str, target: Path) -> bool:
    return (environment.file.parent / path).resolve() == target.resolve()
