"""A card comes from anybody: each wrong value is one line that says where it is."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.answer import analyze
from analysis.results.card_file import MAX_BYTES, MAX_CASES, read_card
from analysis.results.sources import open_results
from base import PINSTUDY
from base.errors import UserError
from tests.support.tools import ROOT

GOOD: dict[str, Any] = json.loads((ROOT / "cards" / "galante-2025.json").read_text())
# Two cases with a comparison are enough for the rest.
GOOD["cases"] = GOOD["cases"][:2]
SVG = '<svg xmlns="http://www.w3.org/2000/svg">{}</svg>'
ENTITY = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]>'


def with_case(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda card: card["cases"][1].update(values)


def with_comparison(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda card: card["cases"][1]["comparisons"][0].update(values)


def with_value(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda card: card.update(values)


def with_node(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda card: card["node"].update(values)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (with_value(schema=2), "schema: expected 1"),
        (with_value(schema=True), "schema: expected 1"),
        (with_value(kind="latency"), "kind: expected 'card'"),
        (with_value(evil=1), "unknown key 'evil'"),
        (with_value(source="made up"), "source: expected one of"),
        (with_value(cases=[]), "cases: expected one case or more"),
        (
            with_value(cases=GOOD["cases"][:1] * (MAX_CASES + 1)),
            "cases: expected a list of at most",
        ),
        (with_value(cases=GOOD["cases"][:1] * 2), "cases[1]: the same case as in row 1"),
        (with_value(margin=float("nan")), "margin: expected a number from"),
        (with_value(look={"number": 0, "planned": 1}), "look.number: expected a whole number"),
        (with_value(days=["2026-11-22", "2026-11-21"]), "days: expected the first and the last"),
        (with_value(days=["2026-13-01", "2026-13-01"]), "days: expected the first and the last"),
        (with_value(footnotes=["two\nlines"]), "footnotes[0]: expected one printable line"),
        (with_value(footnotes=["\x1b[31mred"]), "footnotes[0]: expected one printable line"),
        (with_value(versions={"perf": "\u202e6.8"}), "versions.perf: expected one printable line"),
        (with_value(versions={str(n): "1" for n in range(99)}), "versions: expected at most"),
        (with_value(study={"name": "x" * 501, "title": None, "digest": None}), "study.name:"),
        (with_node(cpu_model="another"), "node.digest: expected"),
        (with_node(host="zeus17"), "node: unknown key 'host'"),
        (with_node(kinds=[{"name": "Q", "cpus": "0", "cores": 1, "declared": False}]), "kinds[0]"),
        (with_node(kinds=[{"name": "P", "cpus": "0-", "cores": 1, "declared": False}]), ".cpus"),
        (with_case(elapsed_mean_s=float("nan")), "cases[1].elapsed_mean_s: expected a number"),
        (with_case(elapsed_mean_s=float("inf")), "cases[1].elapsed_mean_s: expected a number"),
        (with_case(elapsed_mean_s=-1.0), "cases[1]: elapsed_mean_s '-1.0' is below 0"),
        (with_case(elapsed_mean_s="fast"), "cases[1]: elapsed_mean_s 'fast' is not a number"),
        (with_case(elapsed_mean_s=[1]), "cases[1].elapsed_mean_s: expected a number"),
        (with_case(n=1.5), "cases[1]: n '1.5' is not a whole number"),
        (with_case(threads=True), "cases[1].threads: expected a number, or a text"),
        (with_case(app="a\x1b[2J"), "cases[1].app: expected a number, or a text of one line"),
        (with_case(path="/home/x"), "cases[1]: column 'path' is not known"),
        (with_case(case_id="1"), "cases[1]: the same case_id as in row 1"),
        (with_case(placed={"proved": -1}), "cases[1].placed.proved: expected"),
        (with_case(runs_of={"evil": 3}), "cases[1].runs_of: expected names of measures"),
        (with_case(disturbed={"evil": 3}), "cases[1].disturbed: unknown key 'evil'"),
        (with_comparison(against="77"), "comparisons[0].against: expected the case_id of another"),
        (with_comparison(against="2"), "comparisons[0].against: expected the case_id of another"),
        (with_comparison(ratio=0.5), "comparisons[0].ratio: expected"),
        (with_comparison(low=0.1), "comparisons[0].low: expected"),
        (with_comparison(word="splendid"), "comparisons[0].word: expected one of"),
        (with_comparison(log_ratio=float("-inf")), "comparisons[0].log_ratio: expected a number"),
        (with_comparison(standard_error=-1), "comparisons[0].standard_error: expected a number"),
        (with_comparison(df=0), "comparisons[0].df: expected a number"),
        (with_comparison(n=1), "comparisons[0].n: expected a whole number"),
        (with_value(picture="no picture"), "picture: is no SVG"),
        (with_value(picture=ENTITY + SVG.format("&a;")), "picture: has declarations"),
        (with_value(picture=SVG.format("<script>alert(1)</script>")), "picture: has an element"),
        (with_value(picture=SVG.format('<g onload="x()"/>')), "picture: has an attribute"),
        (
            with_value(picture=SVG.format('<use href="http://e.example/x"/>')),
            "picture: has an attribute that is not allowed: 'href'",
        ),
        (
            with_value(picture=SVG.format('<g style="fill: url(http://e.example/x)"/>')),
            "picture: has an attribute that is not allowed: 'style'",
        ),
        (
            with_value(picture=SVG.format("<style>@import 'http://e.example'</style>")),
            "picture: has a style",
        ),
    ],
)
def test_each_wrong_value_is_one_line_with_its_place(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], where: str
) -> None:
    card = copy.deepcopy(GOOD)
    change(card)
    path = tmp_path / "card.json"
    path.write_text(json.dumps(card))
    with pytest.raises(UserError) as error:
        read_card(path)
    text = str(error.value)
    assert text.startswith(f"{path}: ")
    assert where in text
    assert "\n" not in text and text.isprintable()
    assert text.endswith(f"expected a card that `{PINSTUDY} card` has written")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "cannot be read"),
        (b"[]", "cannot be read (it is no table of fields)"),
        (b"{}", "kind: expected 'card'"),
        (b"\xff\xfe", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b" " * (MAX_BYTES + 1), "cannot be read"),
    ],
)
def test_a_file_that_is_no_card(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "card.json"
    path.write_bytes(data)
    with pytest.raises(UserError, match="expected a card") as error:
        read_card(path)
    assert why in str(error.value)


def places(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Return the paths to all values in a JSON value."""
    items: list[tuple[object, object]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [path, *(at for key, of in items for at in places(of, (*path, key)))]


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20),
    st.just([]), st.just({}), st.just([[]]), st.just(10**400), st.just("9" * 400),
)  # fmt: skip


@settings(max_examples=150)
@given(at=st.sampled_from(places(GOOD)[1:]), value=SCALARS)
def test_any_value_in_any_place_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, at: tuple[Any, ...], value: object
) -> None:
    card: Any = copy.deepcopy(GOOD)
    *parents, last = at
    inner = card
    for key in parents:
        inner = inner[key]
    inner[last] = value
    path = tmp_path_factory.mktemp("card") / "card.json"
    path.write_text(json.dumps(card))
    try:
        results = open_results(str(path))
    except UserError as error:
        assert str(error).startswith(f"{path}: ")
        assert str(error).isprintable()
        return
    analyze(results)
