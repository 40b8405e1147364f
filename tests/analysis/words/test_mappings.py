"""What a mapping does, as an instruction."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.words.mappings import instruction
from configs.mapping import SELECTIONS
from tests.support.results import TABLE, summary


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"selection": "pcores", "binding": "pin"}, "pin each thread on the P-cores"),
        ({"selection": "lpecpus", "binding": "set"},
         "confine the threads to all CPUs of the LP-E-cores"),
        ({"selection": "all", "binding": "none"}, "leave the threads to the OS scheduler"),
        ({"selection": "pcores", "binding": "none"},
         "leave the threads to the OS scheduler on the P-cores"),
        ({"selection": "all", "binding": "none", "threads": 1},
         "leave the thread to the OS scheduler"),
        ({"selection": "pcores", "binding": "pin", "threads": 1},
         "pin the thread to a CPU of the P-cores"),
        ({"selection": "lpecores", "binding": "set", "threads": 1},
         "confine the thread to the LP-E-cores"),
        ({"selection": "mine", "binding": "pin", "mapping": "my\x1b[1mmapping"},
         "use my\ufffd[1mmapping"),
        ({"selection": None, "binding": None, "mapping": "unknown"}, "use unknown"),
        ({"vcpu_mapping": "v", "vcpu_selection": "pcores", "vcpu_binding": "pin",
          "selection": "all", "binding": "none"},
         "pin each virtual CPU on the P-cores"),
        ({"vcpu_mapping": "v", "vcpu_selection": "all", "vcpu_binding": "none", "vm_cpus": 1,
          "selection": "pcpus", "binding": "set"},
         "leave the virtual CPU to the OS scheduler and, in the guest, confine the threads to all "
         "CPUs of the P-cores"),
    ],
)  # fmt: skip
def test_what_a_mapping_does(facts: dict[str, Any], expected: str) -> None:
    threads = facts.pop("threads", 8)
    table = TABLE._replace(threads=threads, vm_cpus=facts.pop("vm_cpus", None))

    assert instruction(summary(**{"table": table, "mapping": "m"} | facts)) == expected


@pytest.mark.parametrize("selection", sorted(SELECTIONS))
def test_every_selection_has_its_words(selection: str) -> None:
    pinned = summary(selection=selection, binding="pin", table=TABLE._replace(threads=4))

    assert instruction(pinned).startswith("pin each thread on ")


@pytest.mark.parametrize(
    ("ranks", "threads", "facts", "expected"),
    [
        (1, 1, {"selection": "all", "binding": "none"}, "leave the rank to the OS scheduler"),
        (1, 4, {"selection": "all", "binding": "none"},
         "leave the threads of the rank to the OS scheduler"),
        (2, 1, {"selection": "all", "binding": "none", "ranks_by": "order"},
         "leave each rank to the OS scheduler"),
        (2, 4, {"selection": "all", "binding": "none"},
         "leave the threads of each rank to the OS scheduler"),
        (1, 4, {"selection": "pcores", "binding": "set", "ranks_by": "kind"},
         "confine the threads of the rank to the P-cores"),
        (2, 4, {"selection": "mixed", "binding": "set", "ranks_by": "kind"},
         "confine the threads of each rank to its part of P- and E-cores together, divided among "
         "the ranks by core kind"),
        (2, 4, {"selection": "ecores", "binding": "pin", "ranks_by": "cluster"},
         "pin each thread of each rank on the E-cores, divided among the ranks by cluster"),
        (2, 1, {"selection": "pcores", "binding": "pin", "ranks_by": "spread"},
         "pin each rank to a CPU of the P-cores, divided among the ranks spread out"),
        (2, 1, {"selection": "pcores", "binding": "pin"}, "pin each rank to a CPU of the P-cores"),
        (2, 1, {"selection": "pcores", "binding": "pin", "ranks_by": "my\x1bway"},
         "pin each rank to a CPU of the P-cores, divided among the ranks by my\ufffdway"),
        (2, 1, {"selection": "mine", "binding": "pin", "ranks_by": "order"}, "use m, divided among "
         "the ranks in order"),
    ],
)  # fmt: skip
def test_what_a_mapping_does_to_ranks(
    ranks: int, threads: int, facts: dict[str, Any], expected: str
) -> None:
    table = TABLE._replace(ranks=ranks, threads=threads)
    assert instruction(summary(**{"table": table, "mapping": "m"} | facts)) == expected
