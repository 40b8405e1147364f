"""Matrices of core-to-core-latency: the same answer as of our own latencies, and what is refused.

The matrices are made up, in the form that its `--csv` writes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pinstudy.analysis.imports.latency_matrix import cpus_of_rows, latency_file, read_matrix
from pinstudy.analysis.latency.findings import LatencyFindings, latency_findings
from pinstudy.analysis.latency.nearness import groups_shown
from pinstudy.analysis.latency.reading import read_latency
from pinstudy.base.errors import UserError
from pinstudy.runners.latency.measure import write_latency
from pinstudy.runners.node.topology import Topology
from tests.analysis.latency.made_latency import PLANTED, Array, content_of, write_latency_file
from tests.support.cli import pinstudy

# Two pairs that are near to each other, another pair, and all far from that.
SIX = """\
,,,,,
5.25,,,,,
20,20,,,,
20,19.5,5,,,
50,50,50,50,,
50,50,50,50,30,
"""


def csv_of(ns: Array) -> str:
    """Return the lower triangle of a matrix as the tool writes it."""
    rows = [[str(ns[a, b]) if b < a else "" for b in range(len(ns))] for a in range(len(ns))]
    return "".join(",".join(row) + "\n" for row in rows)


def found(folder: Path, text: str, topology: Topology | None = None) -> LatencyFindings:
    file = folder / "i9 made.csv"
    file.write_bytes(text.encode())
    matrix = read_matrix(file)
    cpus = cpus_of_rows(file, len(matrix), None, topology)
    content = latency_file(file, matrix, cpus, topology, ())
    return latency_findings(read_latency(write_latency(folder / "out", content)))


@pytest.mark.parametrize("text", [SIX, SIX.replace("\n", "\r\n"), "\ufeff" + SIX, SIX + "\n"])
def test_a_bare_matrix_shows_its_own_groups_and_teams_with_a_cpu_of_each_pair(
    tmp_path: Path, text: str
) -> None:
    findings = found(tmp_path, text)

    assert [(group.kernel.names, group.kernel.cpus) for group in findings.groups] == [
        (("all measured",), (0, 1, 2, 3, 4, 5)),
        (("group of 4",), (0, 1, 2, 3)),
        (("group of 2",), (0, 1)),
        (("group of 2",), (2, 3)),
        (("group of 2",), (4, 5)),
    ]
    four = findings.groups[1].range
    assert four is not None
    assert (four.measured, four.median_ns, four.least_ns, four.most_ns) == (4, 20, 19.5, 20)
    assert [(team.cpus, team.range.median_ns) for team in findings.teams] == [
        ((1, 3), 19.5),
        ((0, 2), 20),
        ((0, 2, 4), 50),
    ]
    first = findings.partners[0]
    assert (first.siblings[0].cpu, first.siblings[0].ns, first.as_near) == (1, 5.25, None)
    assert findings.latency.matrix[0, 1] == findings.latency.matrix[1, 0] == 5.25
    assert (findings.latency.node_id, findings.latency.method) == ("i9-made", None)


@pytest.mark.parametrize("name", ["hybrid", "packages", "complexes"])
def test_with_a_topology_the_answer_is_that_of_our_own_latencies(tmp_path: Path, name: str) -> None:
    own_file = write_latency_file(
        tmp_path, content_of(PLANTED[name], samples=1, addresses=1, spread=0)
    )
    own = latency_findings(read_latency(own_file))

    findings = found(tmp_path, csv_of(PLANTED[name].ns()), own.latency.topology)

    assert findings.groups == own.groups
    assert findings.teams == own.teams
    assert findings.partners == [replace(row, as_near=None) for row in own.partners]
    np.testing.assert_array_equal(findings.latency.matrix, own.latency.matrix)


@pytest.mark.parametrize(("scatter", "most"), [(0.08, 0), (0.15, 30)])
def test_cpus_that_are_alike_seldom_show_a_group_in_noise(scatter: float, most: int) -> None:
    rng = np.random.default_rng(61)
    wrong = 0
    for _ in range(200):
        noise = np.triu(40 * np.exp(rng.normal(0, scatter, (16, 16))), 1)
        ns = noise + noise.T
        np.fill_diagonal(ns, np.nan)
        wrong += bool(groups_shown(range(16), ns))
    assert wrong <= most


def test_cells_that_are_empty_are_left_out_and_both_directions_are_kept(tmp_path: Path) -> None:
    findings = found(tmp_path, "0,11,\n10,0,\n,nan,NaN\n")
    assert findings.latency.matrix[:2, :2][[0, 1], [1, 0]].tolist() == [11, 10]
    assert [pair.cpus for pair in findings.latency.left_out] == [(0, 2), (1, 2)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (",,\n10,\n20,20,\n", ":2: has 2 cells, and line 1 3; expected the CSV of `core-to-core"),
        (",,\n10,,\n", ": has 2 rows of 3 cells; expected"),
        (",\n1,\n,\n2,\n", "4 rows of 2 cells (several matrices, by --bench? split it)"),
        ("0,1\n,\n9,\n", ": has 3 rows of 2 cells; expected"),
        (",\nfast,\n", ":2: cell 1, 'fast', is no time in ns; expected"),
        (",\n-3,\n", ":2: cell 1, '-3', is no time in ns"),
        (",\n0,\n", ":2: cell 1, '0', is no time in ns"),
        (",\n1e300,\n", ":2: cell 1, '1e300', is no time in ns"),
        (",\n9,4\n", ":2: cell 2, '4', is a time of a CPU to itself"),
        (";\n45;\n", ":1: has ';'; expected"),
        ("Num cores: 2\n", ":1: has 'Num cores: 2'; expected"),
        ("\n".join(["," * 1024] * 1025), ":1: has 1025 cells; expected"),
        (",\n,\n", ": has no number; expected"),
        ("", ":1: has ''; expected"),
    ],
)
def test_what_is_no_matrix_is_refused_with_its_line(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(UserError) as refused:
        found(tmp_path, text)
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--cpus", "0-4"), "has 6 rows, and --cpus names 0-4; name the CPU of each row by --cpus"),
        (("--cpus", "x"), "--cpus: 'x' is not a CPU number"),
        (("--pairs", "0:1"), "--from measures nothing; leave out --pairs"),
        (("--kinds", "P=0-6"), "are not there"),
    ],
)
def test_options_that_do_not_fit_a_matrix_are_refused(
    tmp_path: Path, options: Sequence[str], problem: str
) -> None:
    (tmp_path / "m.csv").write_text(SIX)
    done = pinstudy(tmp_path, "latency", "--from", "m.csv", *options, status=2)
    assert problem in done.stderr


def test_the_command_keeps_a_matrix_as_a_latency_result_with_declared_kinds(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(SIX)
    options = ("--cpus", "8-13", "--kinds", "P=8-11,E=12-13")
    done = pinstudy(tmp_path, "latency", "--from", "m.csv", *options, status=0)

    assert "15 of 15 pairs of another tool's m.csv, a mean each" in done.stdout
    assert '  OMP_PLACES="{9},{11}" OMP_PROC_BIND=close OMP_NUM_THREADS=2' in done.stdout
    again = ("--from", "results/latency/m/latency.json", "--json")
    data = json.loads(pinstudy(tmp_path, "latency", *again, status=0).stdout)
    assert [(group["cpus"], group["kinds"]) for group in data["groups"][:2]] == [
        ("8-13", ["P", "E"]),
        ("8-11", ["P"]),
    ]
    assert data["groups"][1]["names"] == ["group of 4", "P-cores"]
    assert (data["imported"], data["method"], data["switched"]) == ("m.csv", None, None)
    assert (tmp_path / "results/latency/m/latency.svg").exists()
