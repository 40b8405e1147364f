"""A recipe, held against pyproject.toml, CMake, and what is known of Spack's own packages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from base.errors import Problem
from base.text import unknown_word
from tools.spack_files.builtin import OF_CMAKE, OF_COMPILERS, PACKAGES
from tools.spack_files.cmake import CMake
from tools.spack_files.layout import class_name
from tools.spack_files.project import Bounds, Project
from tools.spack_files.recipe import Dependency, Recipe
from tools.spack_files.specs import BadSpecError, Spec, number, parse

# The target's -march is Spack's to choose, and a user's compiler may warn of more than ours.
FIXED_OPTIONS = {"PINSTUDY_MARCH": "", "PINSTUDY_WERROR": False}
PYTHON_TYPES = {"build", "run"}
# The recipe that gives it installs the Python tree, and needs what that imports.
PYTHON_OPTION = "PINSTUDY_PYTHON_TREE"


def check_recipe(recipe: Recipe, project: Project, cmake: CMake) -> Iterator[Problem]:
    """Find where a recipe disagrees with the rest of the project."""
    for line, message in chain(
        _identity(recipe, project, cmake),
        _python(recipe, project),
        _cmake(recipe, cmake),
        _options(recipe, cmake),
        _conditions(recipe),
    ):
        yield Problem(str(recipe.file), line, 1, message)
    for dependency in recipe.dependencies:
        for message in check_known(dependency.spec):
            yield Problem(str(recipe.file), dependency.line, 1, message)


def check_known(spec: Spec) -> Iterator[str]:
    """Find what Spack's packages, as far as they are known, lack of a spec."""
    for name in (*filter(None, [spec.name]), *spec.compilers):
        if name not in PACKAGES:
            yield unknown_word("package", name, PACKAGES)
    package = PACKAGES.get(spec.name)
    if package is None:
        return
    for variant in spec.variants:
        if variant not in package.variants:
            yield unknown_word(f"variant of {spec.name}", variant, sorted(package.variants))
    if spec.lowest and package.newest and number(spec.lowest) > number(package.newest):
        yield f"{spec.name} {spec.lowest} is asked for, and Spack's newest is {package.newest}"


def _identity(recipe: Recipe, project: Project, cmake: CMake) -> Iterator[tuple[int, str]]:
    expected = class_name(recipe.file.parent.name)
    if recipe.class_name != expected:
        yield recipe.class_line, f"expected the class {expected}, not {recipe.class_name}"
    if recipe.base_folder and recipe.base is None:
        yield recipe.class_line, f"there is no recipe {recipe.base_folder} to inherit from"
    licences = {one.licence for one in recipe.line() if one.licence}
    if licences != {project.licence}:
        yield recipe.licence_line, f"the licence is {project.licence}, not {recipe.licence!r}"
    if cmake.version != project.version:
        theirs = f"CMakeLists.txt is of {cmake.version}"
        yield 1, f"pyproject.toml is of version {project.version}, and {theirs}"
    for version, line in recipe.versions.items():
        if version[0].isdigit() and number(version) > number(project.version):
            yield line, f"version {version} is newer than the project, which is {project.version}"
    if not any("main" in one.versions for one in recipe.line()):
        yield recipe.class_line, "expected a version 'main', which environments develop"


def _python(recipe: Recipe, project: Project) -> Iterator[tuple[int, str]]:
    wanted = {}
    if _options_given(recipe).get(PYTHON_OPTION) is True:
        wanted = {f"py-{name}": bounds for name, bounds in project.requirements.items()}
        wanted["python"] = project.python
    for name in sorted(wanted.keys() - _depended_on(recipe).keys()):
        yield recipe.class_line, f"pyproject.toml requires {name}: depends_on is missing"
    for dependency in recipe.dependencies:
        name = dependency.spec.name
        if name in wanted:
            yield from _bounds(dependency, wanted[name])
            if not PYTHON_TYPES.issubset(dependency.types):
                yield dependency.line, f"{name} must be of the types build and run"
        elif name.startswith("py-"):
            yield dependency.line, f"pyproject.toml does not require {name} here"


def _bounds(dependency: Dependency, wanted: Bounds) -> Iterator[tuple[int, str]]:
    spec = dependency.spec
    if spec.lowest != wanted.lowest:
        text = f"is taken from {spec.lowest} on, in pyproject.toml from {wanted.lowest}"
        yield dependency.line, f"{spec.name} {text}"
    # Spack's ranges include all of their upper end: below 5 is :4.
    highest = str(int(wanted.below) - 1) if wanted.below else None
    if spec.highest != highest:
        text = f"is taken up to {spec.highest or 'any version'}, in pyproject.toml to"
        yield dependency.line, f"{spec.name} {text} {highest or 'any version'}"


def _cmake(recipe: Recipe, cmake: CMake) -> Iterator[tuple[int, str]]:
    found = _depended_on(recipe)
    for package in sorted(cmake.packages - OF_COMPILERS):
        name = OF_CMAKE.get(package)
        if name is None:
            yield 1, f"CMake looks for {package}: no package of Spack is known for it"
        elif name not in found:
            yield recipe.class_line, f"CMake looks for {package}: depends_on({name!r}) is missing"
    if "cmake" not in found:
        yield recipe.class_line, "depends_on('cmake') is missing"
    for dependency in recipe.dependencies:
        lowest = dependency.spec.lowest
        if dependency.spec.name == "cmake" and lowest != cmake.needs:
            text = f"cmake is taken from {lowest} on, by CMakeLists.txt from {cmake.needs}"
            yield dependency.line, text


def _options(recipe: Recipe, cmake: CMake) -> Iterator[tuple[int, str]]:
    for option, _, line in (*recipe.options, *recipe.from_variants):
        if option not in cmake.options:
            yield line, unknown_word("CMake option", option, sorted(cmake.options))
    given = _options_given(recipe)
    lines = {option: line for option, _, line in recipe.options}
    for option, expected in FIXED_OPTIONS.items():
        if given.get(option) != expected:
            line = lines.get(option, recipe.class_line)
            yield line, f"define({option!r}, {expected!r}) is expected"
    variants = _variants(recipe)
    for option, variant, line in recipe.from_variants:
        if variant not in variants:
            yield line, f"{option}: " + unknown_word("variant", variant, variants)


def _conditions(recipe: Recipe) -> Iterator[tuple[int, str]]:
    variants = _variants(recipe)
    for text, line in recipe.conditions:
        try:
            spec = parse(text)
        except BadSpecError as error:
            yield line, str(error)
            continue
        for variant in spec.variants if not spec.name else ():
            if variant not in variants:
                yield line, unknown_word("variant", variant, variants)
        for message in check_known(spec) if spec.name or spec.compilers else ():
            yield line, message


def _depended_on(recipe: Recipe) -> dict[str, Dependency]:
    return {found.spec.name: found for one in recipe.line() for found in one.dependencies}


def _variants(recipe: Recipe) -> list[str]:
    return [variant for one in recipe.line() for variant in one.variants]


def _options_given(recipe: Recipe) -> dict[str, object]:
    return {option: value for one in recipe.line() for option, value, _ in one.options}
