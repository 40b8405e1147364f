"""docs/validity*.md answer each attack once and name only what exists: files, functions, tests."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.support.tools import ROOT

PAGE = ROOT / "docs" / "validity.md"
PAGES = sorted((ROOT / "docs").glob("validity-*.md"))
ATTACKS = range(1, 34)
PARTS = ("Attack", "Answer", "Code", "Proof", "Remains")
STATUSES = {"prevented", "detected", "recorded", "remains"}

_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
_CODE = re.compile(r"\[([\w/.]+)\]\(\.\./([\w/.]+)\)((?:[\s,]*`\w+`)*)")


@cache
def sections() -> dict[int, tuple[str, str, str]]:
    """Return the numbered sections of all pages: page, title and text."""
    found = [
        (int(number), (page.name, title, text))
        for page in PAGES
        for number, title, text in re.findall(
            r"^## (\d+)\. (.+)\n((?:(?!^## ).*\n)*)", page.read_text(encoding="utf-8"), re.MULTILINE
        )
    ]
    assert sorted(number for number, _ in found) == list(ATTACKS)
    return dict(found)


def part(number: int, name: str) -> str:
    """Return a section's paragraph of this name."""
    _, _, text = sections()[number]
    assert re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE) == list(PARTS)
    return text.split(f"**{name}.**")[1].split("\n\n")[0].strip()


@cache
def names_in(path: str) -> frozenset[str]:
    """Return what a Python file defines: functions, methods, classes and its own constants."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    defined = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    }
    targets = [
        target
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    return frozenset(defined | {target.id for target in targets if isinstance(target, ast.Name)})


@cache
def collected_in(path: str) -> frozenset[str]:
    """Return the tests that pytest would collect from a file's own level."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


@pytest.mark.parametrize("number", ATTACKS)
def test_an_attack_has_all_its_parts_and_none_is_empty(number: int) -> None:
    assert all(len(part(number, name)) > 20 for name in PARTS)


@pytest.mark.parametrize("number", ATTACKS)
def test_the_code_that_is_named_is_there(number: int) -> None:
    text = part(number, "Code")
    named = _CODE.findall(text)
    assert named and re.sub(r"[\s,.]", "", _CODE.sub("", text)) == ""
    for shown, path, functions in named:
        assert shown == path and (ROOT / path).is_file(), path
        for name in re.findall(r"`(\w+)`", functions):
            assert name in names_in(path), f"{path} does not define {name}"


@pytest.mark.parametrize("number", ATTACKS)
def test_the_tests_that_are_named_are_there(number: int) -> None:
    text = part(number, "Proof")
    named = _TEST.findall(text)
    assert named and re.sub(r"[\s,.]", "", _TEST.sub("", text)) == ""
    for path, name in named:
        assert name in collected_in(path), f"{path} has no test {name}"


def test_the_table_lists_every_attack_with_a_short_answer_and_a_status() -> None:
    rows = re.findall(
        r"^\| (\d+) \| \[(.+)\]\(([\w.-]+)#([\w-]+)\) \| (.+) \| (\w+) \|$",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    places = {number: (title, page) for number, (page, title, _) in sections().items()}
    assert {int(number): (title, page) for number, title, page, *_ in rows} == places
    for number, title, _, anchor, answer, status in rows:
        kept = re.sub(r"[^\w\- ]", "", f"{number}. {title}".lower())
        assert anchor == kept.replace(" ", "-")
        assert len(answer.split()) <= 5, answer
        assert status in STATUSES


@pytest.mark.parametrize("page", [PAGE, *PAGES], ids=lambda page: page.stem)
def test_all_files_that_a_page_leads_to_are_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8"))
    assert links
    for link in links:
        assert (PAGE.parent / link).exists(), link
