"""Nodes' files as they may be found beside records: damaged, or somebody's invention."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.results.node_files import NodeSheet, node_sheets
from analysis.results.sources import Results, open_results
from tests.analysis.report.made_results import DIGEST, make_results, node

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("study")
    make_results(folder, apps=(("lu", 3.0),), threads=(1,), repetitions=1)
    return open_results(str(folder))


def sheets_of(results: Results, facts: object) -> list[NodeSheet]:
    assert results.folder is not None
    (results.folder / "nodes" / f"{DIGEST}.json").write_text(json.dumps(facts))
    return node_sheets(results)


def test_a_node_has_its_cores_and_all_facts_of_its_file(results: Results) -> None:
    isa = {"isa_by_kind": {"P": "avx512f avx512vl", "E": ""}}
    (sheet,) = sheets_of(results, node() | isa | {"platform_profile": "balanced"})

    rows = dict(sheet.rows)
    assert rows["instructions that not all cores have"] == (
        "P-cores: avx512f avx512vl; E-cores: none"
    )
    assert rows["platform profile"] == "balanced"
    assert rows["cores"] == "6 P-cores (CPUs 0-11); 4 E-cores (CPUs 12-15)"
    assert rows["L2 caches"] == "1 x 2 MiB, 1 x 4 MiB"
    assert rows["memory"] == "32 GiB"
    limits = rows["power limits of package-0 (intel-rapl:0)"]
    assert limits == "PL1 125.0 W over 56.0 s, PL2 181.0 W"
    assert rows["highest performance (CPPC)"] == "64 (CPUs 0-3,6-11), 67 (CPUs 4-5)"
    assert rows["ITMT"] == "1"
    assert rows["boot options"] == "intel_pstate=no_cas"
    assert sheet.absent == (("firmware", "/sys/class/dmi/id/bios_version is missing"),)


@pytest.mark.parametrize(
    ("size", "shown"),
    [(1007 * 2**30, "1007 GiB"), (1000 * 2**20, "1000 MiB"), (int(31.25 * 2**30), "31.2 GiB"),
     (2**30 - 1, "1024 MiB"), (1280 * 2**10, "1.25 MiB"), (48 * 2**10, "48 KiB")],
)  # fmt: skip
def test_sizes_have_three_digits_and_no_exponent(results: Results, size: int, shown: str) -> None:
    (sheet,) = sheets_of(results, node() | {"memory_bytes": size})

    assert dict(sheet.rows)["memory"] == shown


@given(part=st.sampled_from([*node(), "topology.kinds", "topology.caches"]), value=JSON)
def test_whatever_a_node_file_says_gives_texts(results: Results, part: str, value: object) -> None:
    facts = node()
    first, _, second = part.partition(".")
    if second:
        facts[first][second] = value
    else:
        facts[first] = value

    for sheet in sheets_of(results, facts):
        assert all(isinstance(text, str) and text for _, text in sheet.rows)
