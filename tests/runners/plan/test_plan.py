"""A study and a node become cases, and reasons for what the node cannot do."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from itertools import groupby, product
from pathlib import Path

import pytest

from base.cpulist import parse_cpulist
from configs.app import App, Check
from configs.library import load_study
from configs.mapping import Mapping
from configs.repetitions import Race
from configs.settings import SettingFactors, Settings
from configs.study import AppChoice, Exclusion, Study, Vm
from runners.node.topology import Topology
from runners.plan.case import Case, case_fields
from runners.plan.engines.guest import Vcpus
from runners.plan.plan import Plan, make_plan
from runners.study.agenda import compared_with
from tests.runners.cases import (
    DEMO,
    LIBGOMP,
    PCORES_PIN,
    PCORES_SET,
    SERIAL,
    SMALL,
    UNPINNED,
    study,
)
from tests.runners.topologies import i9_14900k_without_smt, two_packages_with_smt

TOOLS = ("taskset", "numactl", "likwid-pin")
PAPER = study(governors=("performance", "powersave"))


def plan(
    of: object = PAPER, node: Topology | None = None, missing: str = "", bad: str = ""
) -> Plan:
    def find(name: str) -> Path | None:
        return None if name == missing else Path("/opt") / name

    def settings_problem(governor: str, _: Settings, _cpus: tuple[int, ...]) -> str | None:
        return f"{governor} is not offered" if governor == bad else None

    return make_plan(of, node or i9_14900k_without_smt(), find, TOOLS, settings_problem)  # type: ignore[arg-type]


def test_an_excluded_combination_is_no_case_and_its_number_stays_free() -> None:
    out = (
        Exclusion(mappings=("ecores-set", "ecores-pin"), governors=("powersave",)),
        Exclusion(threads=(2,), mappings=("unpinned",)),
        Exclusion(threads=(7,)),
    )
    rows = plan(replace(PAPER, exclude=out))
    numbers = [(case.number, case.mapping.name, case.governor) for case in rows.cases]

    assert {case.threads for case in rows.cases} == {2}
    assert numbers == [
        (2, "pcores-set", "performance"),
        (3, "pcores-pin", "performance"),
        (4, "ecores-set", "performance"),
        (5, "ecores-pin", "performance"),
        (7, "pcores-set", "powersave"),
        (8, "pcores-pin", "powersave"),
    ]
    assert not rows.skipped


def test_a_setting_is_excluded_where_it_meets_another() -> None:
    factors = SettingFactors(governor=("performance", "powersave"), epp=("performance", "power"))
    out = SettingFactors(governor=("performance",), epp=("power",))
    made = plan(replace(PAPER, settings=factors, exclude=(Exclusion(settings=out),)))

    assert {(case.governor, case.settings["epp"]) for case in made.cases} == {
        ("performance", "performance"),
        ("powersave", "performance"),
        ("powersave", "power"),
    }


def test_the_ten_published_cases_are_numbered_as_published() -> None:
    made = plan()
    mappings = ("unpinned", "pcores-set", "pcores-pin", "ecores-set", "ecores-pin")
    rows = [(mapping, governor) for governor in PAPER.governors for mapping in mappings]
    assert [case.number for case in made.cases] == list(range(1, 11))
    assert [(case.mapping.name, case.governor) for case in made.cases] == rows
    assert not made.skipped


def test_only_a_program_of_our_own_is_said_to_be_built_by_set_up() -> None:
    (own, *_) = plan(missing="demo-libgomp").skipped
    assert own.reason.startswith("the program demo-libgomp was not found: it is neither in ")
    assert "make setup" not in own.reason
    choice = replace(PAPER.apps[0], builds=(replace(LIBGOMP, program="lu-libgomp"),))
    (lacking, *_) = plan(replace(PAPER, apps=(choice,)), missing="lu-libgomp").skipped
    assert lacking.reason == "the program lu-libgomp was not found; build it with `make setup`"


def test_an_app_whose_check_command_is_missing_is_left_out() -> None:
    checked = replace(DEMO, check=Check(command=("./verify.sh", "out")))
    apps = (AppChoice(checked, (LIBGOMP,), (SMALL,), (1,)),)
    made = plan(study(apps=apps), missing="./verify.sh")
    reasons = {item.reason for item in made.skipped}
    assert not made.cases
    assert reasons == {
        "the check command './verify.sh' was not found: there is no executable file of this path "
        "below the working directory"
    }
    # Guests run no such command.
    in_guest = plan(replace(in_guests(), apps=apps), missing="./verify.sh")
    assert in_guest.cases


def test_numbers_stay_when_rows_are_left_out() -> None:
    made = plan(node=two_packages_with_smt(), bad="performance")
    assert [case.number for case in made.cases] == [6, 7, 8]
    reasons = {item.case.number: item.reason for item in made.skipped}
    assert reasons[1] == "performance is not offered"
    assert reasons[9] == "the node has no E-cores"
    assert sorted(reasons) == [1, 2, 3, 4, 5, 9, 10]


def test_a_missing_program_leaves_its_build_out_only() -> None:
    both = study(apps=(AppChoice(DEMO, (SERIAL, LIBGOMP), (SMALL,), (1,)),))
    made = plan(both, missing="demo-libgomp")
    in_guest = plan(in_guests(), missing="demo-libgomp")
    assert {case.build.name for case in made.cases} == {"serial"}
    for item in (*made.skipped, *in_guest.skipped):
        assert "demo-libgomp was not found" in item.reason
    assert len(in_guest.skipped) == 7
    assert len(made.cases) == len(made.skipped) == 5


def test_a_serial_build_has_one_thread_and_is_pinned_by_taskset() -> None:
    serial = study(apps=(AppChoice(DEMO, (SERIAL,), (SMALL,), (1, 2)),))
    made = plan(serial)
    assert {case.threads for case in made.cases} == {1}
    assert {c.mechanism for c in made.cases if c.mapping.binding == "pin"} == {"taskset"}
    assert all("has no threads" in item.reason for item in made.skipped)


def test_every_case_has_its_own_identity_which_does_not_depend_on_its_number() -> None:
    identities = {case.case_id for case in plan().cases}
    assert len(identities) == 10
    only_powersave = plan(study(governors=("powersave",)))
    assert {case.case_id for case in only_powersave.cases} < identities


def test_other_cpus_make_another_case() -> None:
    elsewhere = plan(node=i9_14900k_without_smt(allowed="1-23"))
    here, there = (
        {case.case_id for case in made.cases if case.mapping.name == "pcores-pin"}
        for made in (plan(), elsewhere)
    )
    assert here and there and not here & there


def test_a_mapping_s_variables_count_before_the_study_s_the_build_s_and_the_app_s() -> None:
    of = {"app": "a", "build": "v", "study": "s", "mapping": "m"}
    # Each source sets the variables whose names have its letter.
    names = ("a", "av", "as", "am", "avsm", "vs", "vm", "sm", "s")
    sets = {
        source: tuple((name, source) for name in names if letter in name)
        for source, letter in of.items()
    }
    build = replace(LIBGOMP, variables=sets["build"])
    app = replace(DEMO, builds={"libgomp": build}, variables=sets["app"])
    with_own = replace(PCORES_PIN, variables=sets["mapping"])
    made = plan(
        study(
            apps=(AppChoice(app, (build,), (SMALL,), (2,)),),
            mappings=(UNPINNED, with_own),
            variables=sets["study"],
        )
    )
    unpinned, pinned = (
        {set_.name: (set_.value, set_.by) for set_ in case.variables} for case in made.cases
    )
    last = {"a": "app demo", "v": "build libgomp", "s": "study demo", "m": "mapping pcores-pin"}
    value = {letter: source for source, letter in of.items()}
    for name in names:
        without = name.replace("m", "")
        assert pinned[name] == (value[name[-1]], last[name[-1]])
        if without:
            assert unpinned[name] == (value[without[-1]], last[without[-1]])


def test_a_program_that_counts_its_cpus_is_not_told_another_number() -> None:
    counts = replace(DEMO, threads_by=("affinity",))
    made = plan(study(apps=(AppChoice(counts, (LIBGOMP,), (SMALL,), (8,)),)))
    assert [case.mapping.name for case in made.cases] == ["pcores-set", "pcores-pin", "ecores-pin"]
    assert {item.reason for item in made.skipped} == {
        "the program starts a thread for each CPU that it may use, 24 here and not 8",
        "the program starts a thread for each CPU that it may use, 16 here and not 8",
    }


def test_variables_and_the_way_to_tell_the_thread_count_make_other_cases() -> None:
    def identities(app: App = DEMO, **changes: object) -> set[str]:
        choice = AppChoice(app, (LIBGOMP,), (SMALL,), (2,))
        return {case.case_id for case in plan(study(apps=(choice,), **changes)).cases}

    told = replace(DEMO, threads_by=("X_THREADS",))
    some = [
        identities(),
        identities(told),
        identities(variables=(("A", "1"),)),
        identities(variables=(("A", "2"),)),
        identities(variables=(("B", "1"),)),
    ]
    assert len(set().union(*some)) == 5 * 5
    # What says the same is the same.
    assert identities(replace(DEMO, variables=(("A", "1"),))) == some[2]
    assert identities(replace(DEMO, threads_by=("OMP_NUM_THREADS",))) == some[0]


# The published scenario of guests: 8 virtual CPUs, on a node with 8 P-cores and 16 E-cores.
PAPER_VM = load_study("paper-vm")


def apart(isolated: str, allowed: str | None = None) -> Topology:
    """Return a node of P-cores 0-7 and E-cores 8-23, some of which are isolated."""
    return replace(i9_14900k_without_smt(allowed), isolated=parse_cpulist(isolated))


@pytest.mark.parametrize(
    ("node", "left_out"),
    [
        # All P-cores, or some of them: pinning works, and moving does not.
        (apart("0-7"), ["unpinned", "pcores-set"]),
        (apart("0-1"), ["unpinned", "pcores-set"]),
        (apart("8-23"), ["unpinned", "ecores-set"]),
        (apart("0-23"), ["unpinned", "pcores-set", "ecores-set"]),
        # As a login shell has it: the scheduler has all that it may use.
        (apart("0-7", "8-23"), ["pcores-set", "pcores-pin"]),
        (apart("0-1", "2-23"), []),
    ],
)
def test_cases_whose_threads_would_move_over_isolated_cpus_are_left_out(
    node: Topology, left_out: list[str]
) -> None:
    made = plan(study(), node)
    assert [item.case.mapping.name for item in made.skipped] == left_out
    assert all("isolated" in item.reason for item in made.skipped)


def test_an_unpinned_case_without_isolated_cpus_is_told_how_to_get_it() -> None:
    (first, *_) = plan(study(), apart("0-7")).skipped
    assert "the OS scheduler has 8-23 alone" in first.reason
    assert "`taskset -c 8-23`" in first.reason


def test_places_of_several_isolated_cpus_are_left_out_and_guests_on_such_cpus() -> None:
    node = replace(two_packages_with_smt(), isolated=(0, 4))
    one, several = (
        Mapping(name, "all", "pin", "omp-places-named", name) for name in ("threads", "sockets")
    )
    assert [item.case.mapping for item in plan(study(mappings=(one, several)), node).skipped] == [
        several
    ]
    guests = replace(in_guests(4), vcpu_mappings=(PCORES_SET, PCORES_PIN))
    skipped = plan(guests, apart("0-1")).skipped
    assert {vcpus_of(item.case).mapping for item in skipped} == {PCORES_SET}
    assert all("isolated" in item.reason for item in skipped)


def vcpus_of(case: Case) -> Vcpus:
    assert isinstance(case.engine, Vcpus)
    return case.engine


def in_guests(cpus: int = 8, **changes: object) -> Study:
    """Return a study of the demo app in a guest of these CPUs, mapped in the published ways."""
    assert PAPER_VM.vm
    return study(
        mappings=(UNPINNED,), vm=Vm(cpus, 1024), vcpu_mappings=PAPER_VM.vcpu_mappings, **changes
    )


def test_the_published_guests_are_put_on_the_published_cpus() -> None:
    made = plan(PAPER_VM)
    assert not made.skipped
    on_host = [(case.engine.boot, case.host_cpus) for case in made.cases]
    assert on_host == [
        ("unpinned", tuple(range(24))),
        ("pcores-set", (0, 1, 2, 3, 4, 5, 6, 7)),
        ("pcores-pin", (0, 1, 2, 3, 4, 5, 6, 7)),
        ("ecores-set", tuple(range(8, 24))),
        ("ecores-pin", (8, 9, 10, 11, 12, 13, 14, 15)),
        # Four on each kind, and under a set every core of both.
        ("mixed-set", (0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, *range(12, 24))),
        ("mixed-pin", (0, 1, 2, 3, 8, 9, 10, 11)),
    ]
    assert [case.host_mask for case in made.cases] == [tuple(sorted(cpus)) for _, cpus in on_host]


def test_a_guest_that_the_node_has_no_cpus_for_is_left_out_with_the_reason() -> None:
    made = plan(in_guests(cpus=9))
    assert {item.case.engine.boot: item.reason for item in made.skipped}[
        "pcores-pin"
    ] == "the guest's CPUs cannot be mapped: 9 vCPUs need 9 CPUs; pcores has 8 here (0-7)"
    assert "ecores-pin" in {case.engine.boot for case in made.cases}


def test_a_guest_whose_cpus_would_share_one_of_the_node_is_left_out_with_the_reason() -> None:
    shared = Mapping("shared", "same-cpu", "pin")
    made = plan(replace(in_guests(), vcpu_mappings=(shared,)))
    assert not made.cases
    assert [item.reason for item in made.skipped] == [
        "the guest's CPUs cannot be mapped: same-cpu puts two vCPUs on one CPU"
    ]


def test_in_the_guest_threads_have_all_of_its_cpus() -> None:
    for case in plan(PAPER_VM).cases:
        assert (case.cpus, case.mask, case.mechanism) == (tuple(range(8)), tuple(range(8)), None)
        assert (case.threads, case.mapping.name) == (4, "unpinned")
        vcpus = vcpus_of(case)
        assert (vcpus.count, vcpus.memory_mib) == (8, 16384)


def test_a_guest_s_rows_are_numbered_by_governor_then_its_cpus_then_its_threads() -> None:
    of = replace(
        in_guests(), mappings=(UNPINNED, PCORES_PIN), governors=("performance", "powersave")
    )
    made = plan(of)
    assert of.vm
    rows = [(case.governor, case.engine.boot, case.mapping.name) for case in made.cases]
    assert [case.number for case in made.cases] == list(range(1, 2 * 7 * 2 + 1))
    assert rows[:4] == [
        ("performance", "unpinned", "unpinned"),
        ("performance", "unpinned", "pcores-pin"),
        ("performance", "pcores-set", "unpinned"),
        ("performance", "pcores-set", "pcores-pin"),
    ]
    assert rows[14:] == [("powersave", *rest) for _, *rest in rows[:14]]
    assert len(set(rows)) == len(rows)


def test_pinned_threads_in_a_guest_take_its_cpus_and_not_the_host_s() -> None:
    made = plan(replace(in_guests(), mappings=(PCORES_PIN,)))
    assert {(case.cpus, case.mechanism) for case in made.cases} == {((0, 1), "omp-places")}


def test_a_guest_that_a_homogeneous_node_cannot_map_is_left_out_with_the_reason() -> None:
    made = plan(in_guests(cpus=4), node=two_packages_with_smt())
    assert [case.number for case in made.cases] == [1, 2, 3]
    cannot = "the guest's CPUs cannot be mapped: "
    assert {item.case.number: item.reason for item in made.skipped} == {
        4: cannot + "the node has no E-cores",
        5: cannot + "the node has no E-cores",
        6: cannot + "the node has one core kind (P)",
        7: cannot + "the node has one core kind (P)",
    }
    skipped = [item.case.engine.facts(item.case) for item in made.skipped]
    mapped = ["ecores-set", "ecores-pin", "mixed-set", "mixed-pin"]
    assert [(fields["mapping"], fields["cpus"]) for fields in skipped] == [
        (name, "") for name in mapped
    ]


@pytest.mark.parametrize(
    ("cpus", "reason"),
    [
        (25, "the guest's CPUs cannot be mapped: 25 vCPUs need 25 CPUs; all has 24 here (0-23)"),
        (1, "in the guest: 2 threads need 2 CPUs"),
    ],
    ids=["more CPUs than the node", "fewer CPUs than threads"],
)
def test_a_guest_that_does_not_fit_is_left_out_everywhere(cpus: int, reason: str) -> None:
    made = plan(in_guests(cpus=cpus))
    assert not made.cases
    assert made.skipped[0].reason.startswith(reason)
    assert len(made.skipped) == 7


def test_a_guest_s_governor_is_that_of_the_host_s_cpus() -> None:
    queries: list[tuple[str, tuple[int, ...]]] = []

    def settings_problem(governor: str, _: Settings, cpus: tuple[int, ...]) -> str | None:
        queries.append((governor, cpus))
        return "not offered there" if 8 in cpus else None

    node = i9_14900k_without_smt()
    made = make_plan(PAPER_VM, node, lambda name: Path("/opt") / name, TOOLS, settings_problem)
    p_cores, e_cores, all_cpus = set(range(8)), set(range(8, 24)), set(range(24))
    mixed = {0, 1, 2, 3, 8, 9, 10, 11}
    assert [governor for governor, _ in queries] == ["performance"] * 7
    on_host = [all_cpus, p_cores, p_cores, e_cores, set(range(8, 16)), all_cpus, mixed]
    assert [set(cpus) for _, cpus in queries] == on_host
    assert [case.number for case in made.cases] == [2, 3]
    assert {item.reason for item in made.skipped} == {"not offered there"}


def digest(fields: dict[str, object]) -> str:
    """Return the documented identity of a case: of a SHA-256 over canonical JSON the beginning."""
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


LOCAL = {
    "app": "demo",
    "build": "libgomp",
    "size": "small",
    "arguments": ["-s", "10"],
    "threads": 2,
    "mapping": "pcores-pin",
    "selection": "pcores",
    "binding": "pin",
    "mechanism": "omp-places",
    "cpus": "0-1",
    "governor": "performance",
    "schedule": "static",
    "wait_policy": "active",
}
IN_A_GUEST = {
    "vcpus": 8,
    "memory_mib": 1024,
    "accelerator": "kvm",
    "mapping": "ecores-pin",
    "selection": "ecores",
    "binding": "pin",
    "cpus": "8-15",
}


def test_guests_leave_the_identities_of_other_cases_what_they_were() -> None:
    (case,) = (case for case in plan().cases if case.number == 3)
    assert case.case_id == digest(LOCAL)


def test_where_a_guest_s_cpus_are_is_part_of_its_cases_identities() -> None:
    made = plan(in_guests(governors=("performance",)))
    (case,) = (case for case in made.cases if case.number == 5)
    in_guest = {"mapping": "unpinned", "selection": "all", "binding": "none"}
    assert case.case_id == digest(
        LOCAL | in_guest | {"mechanism": None, "cpus": "0-7", "guest": IN_A_GUEST}
    )
    assert len({case.case_id for case in made.cases}) == 7
    larger = plan(in_guests(cpus=9, governors=("performance",)))
    assert not {case.case_id for case in larger.cases} & {case.case_id for case in made.cases}


def test_emulated_guests_are_cases_of_their_own() -> None:
    study, node = in_guests(), i9_14900k_without_smt()
    by = {
        emulated: make_plan(study, node, Path, TOOLS, lambda *_: None, emulated)
        for emulated in (True, False)
    }
    assert len(by[True].cases) == len(by[False].cases) == 7
    assert not {c.case_id for c in by[True].cases} & {c.case_id for c in by[False].cases}


def test_guests_take_turns_and_all_runs_of_a_boot_follow_each_other() -> None:
    made = plan(in_guests(governors=("performance", "powersave")))
    mapping_of = {case.case_id: case.engine.boot for case in made.cases}
    runs = made.runs
    boots = [name for name, _ in groupby(mapping_of[run.case_id] for run in runs)]
    # Two boots: one for two repetitions, another for the third.
    assert len(boots) == made.boots == 2 * 7
    # Both governors x (three repetitions, and a warm-up run in each boot).
    assert len(runs) == 7 * 2 * 5
    assert [run.order for run in runs] == list(range(70))


def test_two_names_for_one_execution_do_not_race_twice() -> None:
    node = i9_14900k_without_smt(allowed="0-7")
    names = {
        "p": Mapping("p", "pcores", "set"),
        "p-numactl": Mapping("p-numactl", "pcores", "set", "numactl"),
        "p-places": Mapping("p-places", "pcores", "set", "omp-places"),
        "compact": Mapping("compact", "compact", "pin"),
        "pcores-pin": PCORES_PIN,
        "one": Mapping("one", "compact", "set"),
    }
    of = study(mappings=(UNPINNED, *names.values()), race=Race(), repetitions=10)
    raced = plan(of, node)
    # The P-cores are all the CPUs that there are, and the first two of them the closest two.
    assert [case.mapping.name for case in raced.cases] == [
        *("unpinned", "p-places", "compact", "one"),
    ]
    reasons = {item.case.mapping.name: item.reason for item in raced.skipped}
    assert set(reasons) == {"p", "p-numactl", "pcores-pin"}
    assert reasons["p"].startswith("the same execution as ")
    assert reasons["p"].endswith(", which races")
    # Where no best one is sought, only what is identical in everything is left out.
    listed = plan(study(mappings=of.mappings), node)
    (same,) = listed.skipped
    assert same.case.mapping.name == "pcores-pin"
    assert same.reason == "the same execution as #5 compact"
    assert len(listed.cases) == 6
    assert [case.number for case in listed.cases] == [1, 2, 3, 4, 5, 7]


@pytest.mark.parametrize(
    "other",
    [
        Mapping("other", "pcores", "pin", variables=(("A", "1"),)),
        Mapping("other", "pcores", "pin", "likwid-pin"),
        Mapping("other", "pcores", "set"),
        Mapping("other", "ecores", "pin"),
    ],
)
def test_what_differs_in_anything_is_run_under_both_names(other: Mapping) -> None:
    made = plan(study(mappings=(PCORES_PIN, other)))
    assert [case.mapping.name for case in made.cases] == ["pcores-pin", "other"]
    again = replace(PCORES_PIN, name="again")
    governors = ("performance", "powersave")
    twice = plan(study(mappings=(PCORES_PIN, again), governors=governors))
    assert [(case.number, case.governor) for case in twice.cases] == [
        (1, "performance"),
        (3, "powersave"),
    ]
    assert [item.reason for item in twice.skipped] == [
        "the same execution as #1 pcores-pin",
        "the same execution as #3 pcores-pin",
    ]


def test_two_mappings_that_differ_by_a_variable_race() -> None:
    faster = Mapping("faster", "all", "none", variables=(("A", "1"),))
    made = plan(study(mappings=(UNPINNED, faster), race=Race(), repetitions=10))
    assert [case.mapping.name for case in made.cases] == ["unpinned", "faster"]


def test_what_openmp_is_told_makes_no_other_case_of_a_program_without_it() -> None:
    choice = AppChoice(DEMO, (SERIAL,), (SMALL,), (1,), schedules=("static", "dynamic"))
    of = study(apps=(choice,), mappings=(UNPINNED, PCORES_SET), race=Race(), repetitions=10)
    made = plan(of)
    assert [(case.schedule, case.mapping.name) for case in made.cases] == [
        ("static", "unpinned"),
        ("static", "pcores-set"),
    ]


def test_each_governor_has_all_mappings_under_the_first_settings_and_then_the_next() -> None:
    factors = SettingFactors(sched_ext=("kernel", "scx_lavd"), epp=("power", "performance"))
    made = plan(study(mappings=(UNPINNED, PCORES_PIN), governors=("a", "b"), settings=factors))
    rows = [
        (case.number, case.governor, case.settings.words, case.mapping.name) for case in made.cases
    ]
    settings = (
        *("EPP power, kernel", "EPP power, scx_lavd"),
        *("EPP performance, kernel", "EPP performance, scx_lavd"),
    )
    assert rows == [
        (number, *factor)
        for number, factor in enumerate(product("ab", settings, ("unpinned", "pcores-pin")), 1)
    ]
    assert made.cases[0].label.endswith("unpinned a, EPP power, kernel")
    # In blocks, the first row of each governor is what its others are compared with.
    by_id = {case.case_id: case.number for case in made.cases}
    compared = {by_id[of]: len(others) for of, others in compared_with(made.cases).items()}
    assert compared == {1: 7, 9: 7}


def test_a_case_has_its_settings_in_its_record_and_identity_only_where_a_study_asks() -> None:
    (usual,) = plan(study(mappings=(UNPINNED,))).cases
    factors = SettingFactors(epp=("current", "power"), itmt=("off",))
    asked = plan(study(mappings=(UNPINNED,), settings=factors))
    assert "settings" not in case_fields(usual)
    assert [case_fields(case)["settings"] for case in asked.cases] == [
        {"itmt": "off"},
        {"epp": "power", "itmt": "off"},
    ]
    assert len({case.case_id for case in (usual, *asked.cases)}) == 3
    current = study(mappings=(UNPINNED,), settings=SettingFactors(epp=("current",)))
    assert plan(current).cases[0].case_id == usual.case_id


def test_a_governor_among_the_settings_is_that_of_the_governors_key() -> None:
    of_settings = SettingFactors(governor=("performance", "powersave"))
    by_settings = plan(study(mappings=(UNPINNED,), settings=of_settings)).cases
    by_key = plan(study(mappings=(UNPINNED,), governors=("performance", "powersave"))).cases
    assert [case.case_id for case in by_settings] == [case.case_id for case in by_key]
    assert [case.governor for case in by_settings] == ["performance", "powersave"]


def test_cases_that_race_differ_by_their_settings() -> None:
    factors = SettingFactors(turbo=("on", "off"))
    made = plan(study(mappings=(UNPINNED,), settings=factors, race=Race()))
    assert [case.settings["turbo"] for case in made.cases] == ["on", "off"]
