"""A study and a node become cases, and reasons for what the node cannot do."""

from __future__ import annotations

from pathlib import Path

from configs.model import AppChoice
from runners.plan import Plan, make_plan
from runners.topology import Topology
from tests.runners.cases import DEMO, LIBGOMP, SERIAL, SMALL, study
from tests.runners.topologies import i9_14900k_without_smt, two_packages_with_smt

TOOLS = ("taskset", "numactl", "likwid-pin")
PAPER = study(governors=("performance", "powersave"))


def plan(
    of: object = PAPER, node: Topology | None = None, missing: str = "", bad: str = ""
) -> Plan:
    def find(name: str) -> Path | None:
        return None if name == missing else Path("/opt") / name

    def governor_problem(governor: str, _cpus: tuple[int, ...]) -> str | None:
        return f"{governor} is not offered" if governor == bad else None

    return make_plan(of, node or i9_14900k_without_smt(), find, TOOLS, governor_problem)  # type: ignore[arg-type]


def test_the_ten_published_cases_are_numbered_as_published() -> None:
    made = plan()
    assert [(case.number, case.mapping.name, case.governor) for case in made.cases] == [
        (1, "scheduler", "performance"),
        (2, "pcores-set", "performance"),
        (3, "pcores-pin", "performance"),
        (4, "ecores-set", "performance"),
        (5, "ecores-pin", "performance"),
        (6, "scheduler", "powersave"),
        (7, "pcores-set", "powersave"),
        (8, "pcores-pin", "powersave"),
        (9, "ecores-set", "powersave"),
        (10, "ecores-pin", "powersave"),
    ]
    assert not made.left_out


def test_numbers_stay_when_rows_are_left_out() -> None:
    made = plan(node=two_packages_with_smt(), bad="performance")
    assert [case.number for case in made.cases] == [6, 7, 8]
    reasons = {item.number: item.reason for item in made.left_out}
    assert reasons[1] == "performance is not offered"
    assert reasons[9] == "the node has no E-cores"
    assert sorted(reasons) == [1, 2, 3, 4, 5, 9, 10]


def test_a_missing_program_leaves_its_variant_out_only() -> None:
    both = study(apps=(AppChoice(DEMO, (SERIAL, LIBGOMP), (SMALL,), (1,)),))
    made = plan(both, missing="demo-libgomp")
    assert {case.variant.name for case in made.cases} == {"serial"}
    assert all("demo-libgomp was not found" in item.reason for item in made.left_out)
    assert len(made.cases) == len(made.left_out) == 5


def test_a_serial_variant_has_one_thread_and_is_pinned_by_taskset() -> None:
    serial = study(apps=(AppChoice(DEMO, (SERIAL,), (SMALL,), (1, 2)),))
    made = plan(serial)
    assert {case.threads for case in made.cases} == {1}
    assert {c.mechanism for c in made.cases if c.mapping.tightness == "pin"} == {"taskset"}
    assert all("has no threads" in item.reason for item in made.left_out)


def test_every_case_has_its_own_identity_which_does_not_depend_on_its_number() -> None:
    identities = {case.case_id for case in plan().cases}
    assert len(identities) == 10
    only_powersave = plan(study(governors=("powersave",)))
    assert {case.case_id for case in only_powersave.cases} < identities


def test_other_cpus_make_another_case() -> None:
    elsewhere = plan(node=i9_14900k_without_smt(allowed="1-23"))
    assert not {c.case_id for c in elsewhere.cases if c.mapping.name == "pcores-pin"} & {
        case.case_id for case in plan().cases
    }
