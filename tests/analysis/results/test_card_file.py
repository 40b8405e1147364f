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


def with_case(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda card: card["cases"][1].update(values)


def with_comparison(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda card: card["cases"][1]["comparisons"]["time"].update(values)


def with_measure(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda card: card["cases"][1]["measures"]["elapsed_s"].update(values)


def without(key: str) -> Callable[[dict[str, Any]], None]:
    return lambda card: card["cases"][1].pop(key)


def with_value(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda card: card.update(values)


def with_node(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda card: card["node"].update(values)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (with_value(schema=2), "schema: expected 1, found '2'"),
        (with_value(schema=True), "schema: expected 1, found 'True'"),
        (with_value(kind="latency"), "kind: expected card, found 'latency'"),
        (with_value(evil=1), "key 'evil' is not known"),
        (with_value(source="made up"), "source: expected one of measured, imported, published"),
        (with_value(cases=[]), "cases: expected a list of 1 to 1000, found a list"),
        (with_value(cases=GOOD["cases"][:1] * (MAX_CASES + 1)), "cases: expected a list of 1 to"),
        (with_value(margin=2), "margin: expected a number from 1e-09 to 1, found '2'"),
        (with_value(margin=float("nan")), "it is no JSON: "),
        (with_value(look=0), "look: expected a whole number from 1 to 1000, found '0'"),
        (
            with_value(days=["2026-13-01", "2026-13-01"]),
            "days[0]: expected a day such as 2026-11-22, found '2026-13-01'",
        ),
        (with_value(notes=["two\nlines"]), "notes[0]: expected one printable line of at most"),
        (with_value(notes=["one\n"]), "notes[0]: expected one printable line of at most"),
        (with_value(notes=["\x1b[31mred"]), "notes[0]: expected one printable line of at most"),
        (with_value(notes=["\u202ered"]), "notes[0]: expected one printable line of at most"),
        (
            with_value(versions={"pinstudy": ["1"], "perf": ["6.8.12-zeus17"]}),
            "versions.perf[0]: expected the number of a version, of a compiler or runtime with its "
            "name, found '6.8.12-zeus17'",
        ),
        (with_value(versions={"zeus17": ["1"]}), "versions: expected as a key one of pinstudy, "),
        (with_value(study="x" * 401), "study: expected a name on one printable line"),
        (with_value(study="/home/x"), "study: expected a name on one printable line"),
        (with_node(host="zeus17"), "node: key 'host' is not known"),
        (with_node(cpu_model=7), "node.cpu_model: expected one printable line of at most 100"),
        (with_node(kernel="6.8.0-zeus17"), "node.kernel: expected the number of a kernel's"),
        (with_node(kinds=[{"name": "Q", "cpus": "0", "cores": 1}]), "kinds[0].name: expected one"),
        (
            with_node(kinds=[{"name": "P", "cpus": "0-", "cores": 1}]),
            "node.kinds[0].cpus: expected a list of CPUs such as 0-3,8, found '0-'",
        ),
        (with_measure(mean="fast"), "measures.elapsed_s.mean: expected a number from -1e+30 to"),
        (with_measure(mean=1e31), "measures.elapsed_s.mean: expected a number from -1e+30 to"),
        (with_measure(mean=[1]), "cases[1].measures.elapsed_s.mean: expected a number from"),
        (with_measure(mean=-1), "cases[1]: measures.elapsed_s.mean: expected 0 or more, found -1"),
        (with_measure(sd=-1), "cases[1].measures.elapsed_s.sd: expected a number from 0 to"),
        (with_case(n=1.5), "cases[1].n: expected a whole number from 0 to"),
        (with_case(threads=True), "cases[1].threads: expected a whole number from 1 to"),
        (with_case(app="a\x1b[2J"), "cases[1].app: expected a name on one printable line"),
        (with_case(path="/home/x"), "cases[1]: key 'path' is not known"),
        (with_case(measures={"evil": {"mean": 1}}), "cases[1]: measure 'evil' is not known"),
        (with_case(placed={"proved": -1}), "cases[1].placed.proved: expected a whole number"),
        (with_case(disturbed={"evil": 3}), "cases[1].disturbed: expected as a key one of thro"),
        (with_case(reasons={"elapsed_s": ["of alice"]}), "reasons.elapsed_s[0]: expected one of"),
        (without("app"), "cases[1]: app is missing"),
        (
            with_comparison(against=77),
            "cases[1].comparisons.time.against: expected the place of another case, found '77'",
        ),
        (with_comparison(against=2), "against: expected the place of another case, found '2'"),
        (with_comparison(ratio=0.5), "cases[1].comparisons.time: ratio is 0.5, and 1.00257 by"),
        (with_comparison(low=0.1), "cases[1].comparisons.time: low is 0.1, and 1.00182 by its"),
        (with_comparison(outcome="splendid"), "comparisons.time.outcome: expected one of better"),
        (with_comparison(log_ratio=-1e3), "comparisons.time.log_ratio: expected a number from"),
        (with_comparison(standard_error=-1), "comparisons.time.standard_error: expected a number"),
        (with_comparison(df=0), "comparisons.time.df: expected a number"),
        (with_comparison(n=1), "comparisons.time.n: expected a whole number from 2 to"),
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
        (b"", "it is no JSON"),
        (b"[]", "expected a table of keys, found a list"),
        (b"{}", "schema is missing"),
        (b"\xff\xfe", "it is no JSON"),
        (b"[" * 100_000, "expected a table of keys"),
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


def test_a_comparison_of_what_has_no_mean_is_none(tmp_path: Path) -> None:
    card = copy.deepcopy(GOOD)
    assert set(card["cases"][1]["comparisons"]) == {"time"}
    del card["cases"][1]["measures"]["elapsed_s"]
    path = tmp_path / "card.json"
    path.write_text(json.dumps(card))
    (case,) = (case for case in analyze(open_results(str(path))).cases if case.number == 2)
    assert case.comparisons == {}


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
