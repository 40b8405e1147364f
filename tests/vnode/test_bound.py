"""How much is left of what cores could do, where the speed of each kind is known exactly."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.tools import need_tool
from tests.vnode.conftest import Guests
from vnode.commands import RESULTS, packed_results, pinstudy, read_on_host, study, without_pandas
from vnode.node import KEPT
from vnode.shape import Shape

pytestmark = pytest.mark.vnode

SOURCE = Path(__file__).parents[2] / "vnode" / "guest" / "paced.c"
TWO_OF_EACH = Shape(p=2, e=2, smt=False)
MOST_ATTEMPTS = 6
# The study's loop on a core of each kind, in seconds.
P_S, E_S = 4000 * 0.0025, 4000 * 0.005


def test_bounds_are_those_of_the_speeds_that_the_node_has(guests: Guests, tmp_path: Path) -> None:
    node = guests.get(TWO_OF_EACH)
    # The guest sees the checkout. Dynamic linking takes an emulated CPU longer than a thread may
    # work before it is bound.
    program = TWO_OF_EACH.image / "paced"
    flags = ("-O2", "-march=x86-64", "-fopenmp", "-static")
    subprocess.run([need_tool("gcc"), *flags, str(SOURCE), "-o", str(program)], check=True)
    node.shell(f"cp {program} {KEPT}")

    # Now and then the host stalls a thread before it is bound, whose run then proves nothing.
    bounds: dict[str, dict[str, Any]] = {}
    for attempt in range(MOST_ATTEMPTS):
        node.shell(f"rm -rf {RESULTS}/bound")
        with without_pandas(node):
            ended = pinstudy(node, *study("bound"))
        assert ended.status == 0, ended
        found = _bounds(packed_results(node, "bound"), tmp_path / str(attempt))
        bounds = found | {name: bound for name, bound in bounds.items() if "missing" not in bound}
        if not any("missing" in bound for bound in bounds.values()):
            break
    # Two cores of each kind: 1 / (2 / 10 s + 2 / 20 s); a quarter of the work takes an E-core 5 s.
    perfect_s = 1 / (2 / P_S + 2 / E_S)
    cap = perfect_s / (E_S / 4)
    for schedule, reached in (("static", cap), ("dynamic", 1.0)):
        bound = bounds[schedule]
        assert bound.get("threads_by_kind") == {"P": 2, "E": 2}, bound
        assert bound["perfect_s"] == pytest.approx(perfect_s, rel=0.03)
        assert bound["equal_shares"] == pytest.approx(cap, rel=0.03)
        assert bound["reached"] == pytest.approx(reached, rel=0.03)


def _bounds(packed: bytes, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the bounds of a verdict by schedule."""
    folder.mkdir()
    (verdict,) = json.loads(read_on_host(packed, folder, "verdict", "--json"))
    return {
        table["title"].split("schedule ")[1].split(",")[0]: row
        for table in verdict["tables"]
        for row in table["bounds"]
    }
