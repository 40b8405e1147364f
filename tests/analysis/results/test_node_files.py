"""What is known of a node beside its records: its file, isolated CPUs, tests of instruments."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.analysis.format.table import render
from pinstudy.analysis.results.node_files import NodeSheet, node_sheets
from pinstudy.analysis.results.sources import Results, open_results
from pinstudy.analysis.tables.means import make_tables
from pinstudy.runners.prove.proof import keep
from pinstudy.runners.records.instruments import Finding, Proof, path_beside
from tests.analysis.report.made_results import DIGEST, make_results, node
from tests.analysis.report.pages import page_of
from tests.support.changed import JSON_VALUES


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    return make_results(folder, apps=(("lu", 3.0),), threads=(1,), repetitions=3)


@pytest.fixture(scope="module")
def results(study: Path) -> Results:
    return open_results(str(study))


@pytest.fixture
def folder(study: Path) -> Path:
    """The study as it was made: the node's file of the last test is written again."""
    write_node(study, node())
    path_beside(study, DIGEST).unlink(missing_ok=True)
    return study


def write_node(folder: Path, facts: object) -> None:
    (folder / "nodes" / f"{DIGEST}.json").write_text(json.dumps(facts))


def sheets_of(results: Results, facts: object) -> list[NodeSheet]:
    assert results.folder is not None
    write_node(results.folder, facts)
    return node_sheets(results)


def test_a_node_has_its_cores_and_all_facts_of_its_file(results: Results) -> None:
    isa = {"isa_by_kind": {"P": "avx512f avx512vl", "E": ""}}
    (sheet,) = sheets_of(results, node() | isa | {"platform_profile": "balanced"})

    expected = {
        "instructions that not all cores have": "P-cores: avx512f avx512vl; E-cores: none",
        "platform profile": "balanced",
        "cores": "6 P-cores (CPUs 0-11); 4 E-cores (CPUs 12-15)",
        "L2 caches": "1 x 2 MiB, 1 x 4 MiB",
        "memory": "32 GiB",
        "power limits of package-0 (intel-rapl:0)": "PL1 125.0 W over 56.0 s, PL2 181.0 W",
        "highest performance (CPPC)": "64 (CPUs 0-3,6-11), 67 (CPUs 4-5)",
        "ITMT": "1",
        "boot options": "intel_pstate=no_cas",
    }
    assert expected.items() <= dict(sheet.rows).items()
    assert sheet.absent == (("firmware", "/sys/class/dmi/id/bios_version is missing"),)


@pytest.mark.parametrize(
    ("size", "shown"),
    [(1007 * 2**30, "1007 GiB"), (1000 * 2**20, "1000 MiB"), (int(31.25 * 2**30), "31.2 GiB"),
     (2**30 - 1, "1024 MiB"), (1280 * 2**10, "1.25 MiB"), (48 * 2**10, "48 KiB")],
)  # fmt: skip
def test_sizes_have_three_digits_and_no_exponent(results: Results, size: int, shown: str) -> None:
    (sheet,) = sheets_of(results, node() | {"memory_bytes": size})
    assert dict(sheet.rows)["memory"] == shown


@given(part=st.sampled_from([*node(), "topology.kinds", "topology.caches"]), value=JSON_VALUES)
def test_whatever_a_node_file_says_gives_texts(results: Results, part: str, value: object) -> None:
    facts = node()
    first, _, second = part.partition(".")
    if second:
        facts[first][second] = value
    else:
        facts[first] = value
    for sheet in sheets_of(results, facts):
        assert all(isinstance(text, str) and text for _, text in sheet.rows)


@pytest.mark.parametrize(
    ("isolated", "nohz_full", "expected"),
    [
        ("0-11", "", ["CPUs 0-11 are isolated", "over unpinned, pcores-set here"]),
        # Where nothing moved over them, what the scheduler had instead.
        ("99", "", ["the OS scheduler and sets of CPUs have the others alone"]),
        ("", "3", ["CPU 3 is without the timer's tick"]),
        ("", "", []),
        *(
            (damaged, "", ["is not used: isolated: expected a list of CPUs such as 0-3,8, found"])
            for damaged in ("x", 3, None, "0-99999999")
        ),
    ],
)
def test_isolated_cpus_and_those_without_a_tick_are_told(
    folder: Path, isolated: object, nohz_full: str, expected: list[str]
) -> None:
    topology = node()["topology"] | {"nohz_full": nohz_full}
    write_node(folder, node() | {"topology": topology, "isolated": isolated})
    notes = " ".join(open_results(str(folder)).footnotes)
    assert all(part in notes for part in expected)
    assert expected or not ("isolated" in notes or "tick" in notes)


OFF = Finding(
    "energy",
    "package by powercap",
    "off",
    "grows with load and time",
    "nothing",
    "stands still",
    ("energy_pkg_j", "edp_js"),
)
FINE = Finding("migrations", "", "ok", "200 moves", "200", "", ("migrations",))
WHEN = "2026-11-26T09:12:00Z"
REASON = "energy package by powercap: off on node, by `pinstudy prove`: stands still"


def prove(folder: Path, *findings: Finding) -> Path:
    proof = Proof("node", DIGEST, "boot", WHEN, 60.0, False, findings)
    return keep(proof, path_beside(folder, DIGEST))


def headings(folder: Path) -> list[str]:
    return [column.title for column in make_tables(folder)[0].columns]


def test_the_column_of_an_instrument_that_was_off_is_marked_with_its_reason(folder: Path) -> None:
    before = headings(folder)
    prove(folder, OFF, FINE)
    tables = make_tables(folder)

    ((_, heading),) = {*zip(before, headings(folder), strict=True)} - {
        *zip(before, before, strict=True)
    }
    assert heading.startswith("energy package (")
    marker = heading.removeprefix("energy package (").partition(")")[0]
    assert (marker, REASON) in tables[0].notes
    footnote = f"1 instrument of node off when it was tested ({WHEN}): energy package by powercap"
    assert ("", footnote) in tables[0].notes
    assert all("stands still" in render(tables, style) for style in ("markdown", "latex"))
    rows = csv.DictReader(io.StringIO(render(tables, "csv")))
    assert {row["instruments_off"] for row in rows} == {"energy_pkg_j; edp_js"}


def test_instruments_that_are_ok_mark_nothing(folder: Path) -> None:
    before = make_tables(folder)
    prove(folder, FINE)
    assert make_tables(folder) == before


@pytest.mark.parametrize(
    "spoil",
    [{"schema": 9}, {"findings": "x"}, {"node_digest": "f" * 64}, {"findings": [{"why": 1}]}],
)
def test_a_file_that_is_no_proof_of_this_node_is_not_used(
    folder: Path, spoil: dict[str, Any]
) -> None:
    before = make_tables(folder)
    path = prove(folder, OFF)
    path.write_text(json.dumps(json.loads(path.read_text()) | spoil))
    assert open_results(str(folder)).proofs == {}
    assert make_tables(folder) == before


def test_the_report_has_all_findings_or_says_that_there_are_none(folder: Path) -> None:
    assert "were not tested before these runs: pinstudy prove" in page_of(folder).of("instruments")
    prove(folder, FINE, OFF)
    text = page_of(folder).of("instruments")

    assert f"The instruments of node were tested on {WHEN}; off: energy package by" in text
    assert "node: 1 ok, 1 off, 0 absent" in text
    # What is off comes first.
    assert text.index("stands still") < text.index("200 moves")
