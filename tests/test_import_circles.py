"""No module needs itself, not even for types: each can be read before what uses it."""

from __future__ import annotations

import grimp


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Return the modules that import each other, directly or by others (Tarjan's components)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        open_.append(module)
        for imported in imports[module]:
            if imported not in number:
                visit(imported)
                lowest[module] = min(lowest[module], lowest[imported])
            elif imported in open_:
                lowest[module] = min(lowest[module], number[imported])
        if lowest[module] == number[module]:
            start = open_.index(module)
            if len(open_) - start > 1:
                found.append(sorted(open_[start:]))
            del open_[start:]

    for module in imports:
        if module not in number:
            visit(module)
    return found


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


def test_modules_import_each_other_in_one_direction() -> None:
    graph = grimp.build_graph("pinstudy", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 300
    assert circles(imports) == []
