"""A recipe (package.py), read and never run: its directives, with their lines.

Only what our recipes use is known. Anything else is a mistake, so that a directive that was
mistyped, or one that the checks would pass over, cannot go unnoticed.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from base.errors import Problem
from base.text import unknown_word
from tools.spack_files.layout import class_name
from tools.spack_files.specs import BadSpecError, Spec, parse

# The directives, with the keywords of each.
DIRECTIVES = {
    "conflicts": {"msg", "when"},
    "depends_on": {"type", "when"},
    "license": set[str](),
    "requires": {"msg", "policy", "when"},
    "variant": {"default", "description", "sticky", "when"},
    "version": {"branch", "commit", "sha256", "tag"},
}
# What else the Spack package API, and the build systems that are used, offer to a recipe.
OFFERED = DIRECTIVES.keys() | {
    *("CMakePackage", "Executable", "SkipTest", "check_outputs", "ctest", "default_args"),
    *("on_package_attributes", "run_after", "test_part", "when", "working_dir"),
}
MODULES = frozenset({"pathlib"})
FROM_MODULES = {
    "spack.package": "*",
    "spack_repo.builtin.build_systems.cmake": "CMakePackage",
}
# The module of another one of our recipes.
_OURS = re.compile(r"spack_repo\.pinstudy\.packages\.(\w+)\.package")


@dataclass(frozen=True)
class Dependency:
    """One depends_on: what of, for what, and in which line."""

    spec: Spec
    types: tuple[str, ...]
    line: int


@dataclass
class Recipe:
    """What a recipe itself declares; the values of versions and variants are their lines.

    What it inherits from another recipe is in `base`, which `inherit` sets.
    """

    file: Path
    name: str
    class_name: str = ""
    class_line: int = 1
    base_folder: str = ""
    base: Recipe | None = None
    licence: str = ""
    licence_line: int = 1
    versions: dict[str, int] = field(default_factory=dict)
    variants: dict[str, int] = field(default_factory=dict)
    dependencies: list[Dependency] = field(default_factory=list)
    conditions: list[tuple[str, int]] = field(default_factory=list)
    # CMake's options: what is given to define() (True, False, "" or None for any other value), or
    # the variant of define_from_variant().
    options: list[tuple[str, object, int]] = field(default_factory=list)
    from_variants: list[tuple[str, str, int]] = field(default_factory=list)

    def line(self) -> Iterator[Recipe]:
        """Yield the recipes that this one is made of: its base, if it has one, and itself."""
        if self.base is not None:
            yield self.base
        yield self


def inherit(recipes: Mapping[str, Recipe]) -> None:
    """Give each recipe its base, looked up by folder."""
    folders = {recipe.file.parent.name: recipe for recipe in recipes.values()}
    for recipe in recipes.values():
        recipe.base = folders.get(recipe.base_folder)


def read_recipe(file: Path) -> tuple[Recipe, list[Problem]]:
    """Return what a recipe declares, and all that is not understood in it."""
    recipe = Recipe(file, file.parent.name.replace("_", "-"))
    try:
        module = ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 7))
    except SyntaxError as error:
        message = f"no Python that Spack reads: {error.msg}"
        return recipe, [Problem(str(file), error.lineno or 1, 1, message)]
    return recipe, [
        Problem(str(file), line, 1, text) for line, text in _Reader(recipe).read(module)
    ]


class _Reader:
    """Goes through a module's statements; each method yields the line and text of mistakes."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._imported_names: set[str] = set()

    def read(self, module: ast.Module) -> Iterator[tuple[int, str]]:
        classes = []
        for statement in module.body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                yield from self._imported(statement)
            elif isinstance(statement, ast.ClassDef):
                classes.append(statement)
            else:
                yield statement.lineno, "only imports and one class are known here"
        if len(classes) != 1:
            yield 1, f"expected one class, found {len(classes)}"
        for found in classes[:1]:
            self._recipe.class_name, self._recipe.class_line = found.name, found.lineno
            bases = [ast.unparse(base) for base in found.bases]
            if len(bases) != 1 or bases[0] not in self._imported_names:
                yield found.lineno, f"expected one imported class as base, not {', '.join(bases)}"
            for statement in found.body:
                yield from self._statement(statement, ())
            yield from _unknown_names(found)
            self._cmake_options(found)

    def _statement(self, statement: ast.stmt, types: tuple[str, ...]) -> Iterator[tuple[int, str]]:
        if isinstance(statement, ast.With):
            for item in statement.items:
                call = item.context_expr
                name, arguments, keywords = _call(call)
                if name == "when" and len(arguments) == 1:
                    self._recipe.conditions.append((str(arguments[0]), call.lineno))
                elif name == "default_args" and set(keywords) == {"type"}:
                    types = _words(keywords["type"])
                else:
                    yield call.lineno, "only when() and default_args(type=) are known after 'with'"
            for inner in statement.body:
                yield from self._statement(inner, types)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            yield from self._directive(statement.value, types)
        elif not isinstance(statement, ast.FunctionDef | ast.Assign | ast.Expr):
            yield statement.lineno, f"{type(statement).__name__} is not known in a recipe's class"

    def _directive(self, call: ast.Call, types: tuple[str, ...]) -> Iterator[tuple[int, str]]:
        name, arguments, keywords = _call(call)
        line = call.lineno
        if name not in DIRECTIVES:
            yield line, f"'{name}' is not a directive that is known here"
            return
        for keyword in keywords.keys() - DIRECTIVES[name]:
            yield line, unknown_word(f"keyword of {name}()", keyword, sorted(DIRECTIVES[name]))
        if not arguments or not all(isinstance(argument, str) for argument in arguments):
            yield line, f"{name}() needs plain text"
            return
        if isinstance(condition := keywords.get("when"), str):
            self._recipe.conditions.append((condition, line))
        first = str(arguments[0])
        if name == "license":
            self._recipe.licence, self._recipe.licence_line = first, line
        elif name == "version":
            self._recipe.versions[first] = line
        elif name == "variant":
            self._recipe.variants[first] = line
        elif name == "depends_on":
            types = _words(keywords.get("type", types or ("build", "link")))
            try:
                self._recipe.dependencies.append(Dependency(parse(first), types, line))
            except BadSpecError as error:
                yield line, str(error)
        else:
            self._recipe.conditions += [(str(argument), line) for argument in arguments]

    def _imported(self, statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[int, str]]:
        for alias in statement.names:
            self._imported_names.add(alias.name)
            if isinstance(statement, ast.Import):
                module, known = alias.name, alias.name in MODULES
            else:
                module = statement.module or "."
                known = FROM_MODULES.get(module) == alias.name
                if ours := _OURS.fullmatch(module):
                    known = alias.name == class_name(ours[1])
                    self._recipe.base_folder = ours[1]
            if not known or alias.asname:
                message = f"the import of {alias.name} from {module} is not known here"
                yield statement.lineno, message

    def _cmake_options(self, found: ast.ClassDef) -> None:
        for node in ast.walk(found):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            values = [getattr(argument, "value", None) for argument in node.args]
            if node.func.attr == "define" and len(values) == 2:
                value = values[1] if isinstance(node.args[1], ast.Constant) else None
                self._recipe.options.append((str(values[0]), value, node.lineno))
            elif node.func.attr == "define_from_variant" and len(values) == 2:
                option = (str(values[0]), str(values[1]), node.lineno)
                self._recipe.from_variants.append(option)


def _call(node: ast.expr) -> tuple[str, list[object], dict[str, object]]:
    """Return the name, the arguments and the keywords of a call; None stands for no plain value."""
    if not isinstance(node, ast.Call):
        return "", [], {}
    name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
    keywords = {str(word.arg): _plain(word.value) for word in node.keywords}
    return name, [_plain(argument) for argument in node.args], keywords


def _plain(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _words(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, tuple | list) else (str(value),)


def _unknown_names(found: ast.ClassDef) -> Iterator[tuple[int, str]]:
    """Find the names in methods and values that nothing defines: mistyped ones, above all."""
    parts = [part for part in found.body if isinstance(part, ast.FunctionDef | ast.Assign)]
    nodes = [node for part in parts for node in ast.walk(part)]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    known = OFFERED | MODULES | set(dir(builtins)) | {"__file__"}
    known |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
    known |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    for node in names:
        if node.id not in known:
            yield node.lineno, f"nothing that is known here defines '{node.id}'"
