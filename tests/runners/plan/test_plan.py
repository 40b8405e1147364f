"""A study and a node become cases, and reasons for what the node cannot do."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace
from itertools import groupby, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinstudy.base.cpulist import format_cpulist, parse_cpulist
from pinstudy.configs.app import App, Check
from pinstudy.configs.library import load_study
from pinstudy.configs.mapping import Mapping
from pinstudy.configs.repetitions import Race
from pinstudy.configs.settings import SettingFactors, Settings
from pinstudy.configs.study import AppChoice, CoRunner, Exclusion, Study, Vm
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.plan.case import Case, case_fields
from pinstudy.runners.plan.engines.guest import Vcpus
from pinstudy.runners.plan.plan import Plan, make_plan
from pinstudy.runners.study.agenda import compared_with
from tests.runners.cases import (
    DEMO,
    ECORES_PIN,
    LIBGOMP,
    PCORES_PIN,
    PCORES_SET,
    PUBLISHED,
    SERIAL,
    SMALL,
    UNPINNED,
    study,
)
from tests.runners.topologies import i9_14900k_without_smt, two_packages_with_smt

TOOLS = ("taskset", "numactl", "likwid-pin")
GOVERNORS = ("performance", "powersave")
PAPER = study(governors=GOVERNORS)
I9, SERVER = i9_14900k_without_smt(), two_packages_with_smt()
# The published scenario of guests: 8 virtual CPUs, on a node with 8 P-cores and 16 E-cores.
PAPER_VM = load_study("paper-vm")


def plan(
    asked: Study = PAPER,
    node: Topology = I9,
    missing: str = "",
    bad: str = "",
    emulated: bool = False,
) -> Plan:
    def find(name: str) -> Path | None:
        return None if name == missing else Path("/opt") / name

    def settings_problem(governor: str, _: Settings, _cpus: tuple[int, ...]) -> str | None:
        return f"{governor} is not offered" if governor == bad else None

    return make_plan(asked, node, find, TOOLS, settings_problem, emulated)


def demo(app: App = DEMO, *builds: object, threads: int = 2, **changes: object) -> Study:
    """Return a study of builds of an app, by default of libgomp's."""
    choice = AppChoice(app, builds or (LIBGOMP,), (SMALL,), (threads,))  # type: ignore[arg-type]
    return study(apps=(choice,), **changes)


def in_guests(cpus: int = 8, **changes: object) -> Study:
    """Return a study of the demo app in a guest of these CPUs, mapped in the published ways."""
    assert PAPER_VM.vm
    mappings = {"mappings": (UNPINNED,), "vcpu_mappings": PAPER_VM.vcpu_mappings}
    return study(**mappings | {"vm": Vm(cpus, 1024)} | changes)


def boot(case: Case) -> str:
    """Return how the case's guest is mapped, or its threads where it has none."""
    return case.engine.boot if isinstance(case.engine, Vcpus) else case.mapping.name


def rows(made: Plan) -> list[tuple[int, str, str]]:
    return [(case.number, boot(case), case.governor) for case in made.cases]


def ids(made: Plan) -> set[str]:
    return {case.case_id for case in made.cases}


def test_the_ten_published_cases_are_numbered_as_published() -> None:
    made = plan()
    mappings = ("unpinned", "pcores-set", "pcores-pin", "ecores-set", "ecores-pin")
    published = [(mapping, governor) for governor in GOVERNORS for mapping in mappings]
    assert rows(made) == [(number, *row) for number, row in enumerate(published, 1)]
    assert not made.skipped


def test_numbers_stay_when_rows_are_left_out_or_excluded() -> None:
    made = plan(node=SERVER, bad="performance")
    assert [case.number for case in made.cases] == [6, 7, 8]
    reasons = {item.case.number: item.reason for item in made.skipped}
    assert sorted(reasons) == [1, 2, 3, 4, 5, 9, 10]
    assert (reasons[1], reasons[9]) == ("performance is not offered", "the node has no E-cores")
    out = (
        Exclusion(mappings=("ecores-set", "ecores-pin"), governors=("powersave",)),
        Exclusion(threads=(2,), mappings=("unpinned",)),
        Exclusion(threads=(7,)),
    )
    excluded = plan(replace(PAPER, exclude=out))
    assert [number for number, *_ in rows(excluded)] == [2, 3, 4, 5, 7, 8]
    assert not excluded.skipped


CHECKED = replace(DEMO, check=Check(command=("./verify.sh", "out")))
COUNTS = replace(DEMO, threads_by=("affinity",))
STARTS = "the program starts a thread for each CPU that it may use, {} here and not 8"
GUEST = "the guest's CPUs cannot be mapped: "


@pytest.mark.parametrize(
    ("asked", "node", "missing", "left", "reasons"),
    [
        # A missing program leaves its build out only; only our own are built by `make setup`.
        (demo(DEMO, SERIAL, LIBGOMP, threads=1), I9, "demo-libgomp", 5, {
            "the program demo-libgomp was not found: it is neither in "
        }),
        (in_guests(), I9, "demo-libgomp", 0, {"the program demo-libgomp was not found"}),
        (demo(DEMO, replace(LIBGOMP, program="lu-libgomp")), I9, "lu-libgomp", 0, {
            "the program lu-libgomp was not found; build it with `make setup`"
        }),
        (demo(CHECKED), I9, "./verify.sh", 0, {
            "the check command './verify.sh' was not found: there is no executable file of this "
            "path below the working directory"
        }),
        # Guests run no such command.
        (in_guests(apps=demo(CHECKED).apps), I9, "./verify.sh", 7, set()),
        # A program that counts its CPUs is not told another number.
        (demo(COUNTS, threads=8), I9, "", 3, {STARTS.format(24), STARTS.format(16)}),
        (in_guests(cpus=9), I9, "", 5, {GUEST + "9 vCPUs need 9 CPUs; pcores has 8 here (0-7)"}),
        (in_guests(cpus=25), I9, "", 0, {GUEST + "25 vCPUs need 25 CPUs; "}),
        (in_guests(cpus=1), I9, "", 0, {"in the guest: 2 threads need 2 CPUs"}),
        (in_guests(vcpu_mappings=(Mapping("shared", "same-cpu", "pin"),)), I9, "", 0, {
            GUEST + "same-cpu puts two vCPUs on one CPU"
        }),
        (in_guests(cpus=4), SERVER, "", 3, {
            GUEST + "the node has no E-cores",
            GUEST + "the node has one core kind (P)",
        }),
    ],
)  # fmt: skip
def test_what_a_node_lacks_leaves_cases_out_with_the_reason(
    asked: Study, node: Topology, missing: str, left: int, reasons: set[str]
) -> None:
    made = plan(asked, node, missing)
    assert len(made.cases) == left
    for item in made.skipped:
        assert item.reason.startswith(tuple(reasons))
    for start in reasons:
        assert any(item.reason.startswith(start) for item in made.skipped)


def test_a_serial_build_has_one_thread_and_is_pinned_by_taskset() -> None:
    serial = study(apps=(AppChoice(DEMO, (SERIAL,), (SMALL,), (1, 2)),))
    made = plan(serial)
    assert {case.threads for case in made.cases} == {1}
    assert {c.mechanism for c in made.cases if c.mapping.binding == "pin"} == {"taskset"}
    assert all("has no threads" in item.reason for item in made.skipped)


def test_every_case_has_its_own_identity_which_does_not_depend_on_its_number() -> None:
    assert len(ids(plan())) == 10
    assert ids(plan(study(governors=("powersave",)))) < ids(plan())
    # What says the same is the same.
    variables = (("A", "1"),)
    by_app = demo(replace(DEMO, variables=variables))
    assert ids(plan(by_app)) == ids(plan(study(variables=variables)))
    assert ids(plan(demo(replace(DEMO, threads_by=("OMP_NUM_THREADS",))))) == ids(plan(study()))
    current = SettingFactors(epp=("current",))
    assert ids(plan(study(settings=current))) == ids(plan(study()))


def test_variables_counts_and_where_a_guest_is_make_other_cases() -> None:
    made = [
        plan(study()),
        plan(demo(replace(DEMO, threads_by=("X_THREADS",)))),
        *(plan(study(variables=(variable,))) for variable in (("A", "1"), ("A", "2"), ("B", "1"))),
        plan(study(settings=SettingFactors(epp=("power",)))),
        plan(in_guests()),
        plan(in_guests(), emulated=True),
        plan(in_guests(cpus=7)),
    ]
    assert [len(some.cases) for some in made] == [5] * 6 + [7] * 3
    assert len(set().union(*map(ids, made))) == 6 * 5 + 3 * 7


def test_other_cpus_make_another_case() -> None:
    pinned = study(mappings=(PCORES_PIN,))
    here, there = ids(plan(pinned)), ids(plan(pinned, i9_14900k_without_smt("1-23")))
    assert len(here) == len(there) == 1 and here != there


def test_a_mapping_s_variables_count_before_the_study_s_the_build_s_and_the_app_s() -> None:
    last = {"a": "app demo", "b": "build libgomp", "s": "study demo", "m": "mapping pcores-pin"}
    # Each source sets the variables whose names have its letter, to the letter.
    names = ("a", "ab", "as", "am", "absm", "bs", "bm", "sm", "s")
    sets = {by: tuple((name, by) for name in names if by in name) for by in last}
    build = replace(LIBGOMP, variables=sets["b"])
    app = replace(DEMO, builds={"libgomp": build}, variables=sets["a"])
    mappings = (UNPINNED, replace(PCORES_PIN, variables=sets["m"]))
    made = plan(demo(app, build, mappings=mappings, variables=sets["s"]))
    for case, left_out in zip(made.cases, ("m", ""), strict=True):
        told = {name: name.replace(left_out, "")[-1:] for name in names}
        assert {set_.name: (set_.value, set_.by) for set_ in case.variables} == {
            name: (by, last[by]) for name, by in told.items() if by
        }


def apart(isolated: str, allowed: str | None = None) -> Topology:
    """Return a node of P-cores 0-7 and E-cores 8-23, some of which are isolated."""
    return replace(i9_14900k_without_smt(allowed), isolated=parse_cpulist(isolated))


SEVERAL = Mapping("several", "all", "pin", "omp-places-named", "sockets")


@pytest.mark.parametrize(
    ("asked", "node", "left_out"),
    [
        # All P-cores, or some of them: pinning works, and moving does not.
        (study(), apart("0-7"), ["unpinned", "pcores-set"]),
        (study(), apart("0-1"), ["unpinned", "pcores-set"]),
        (study(), apart("8-23"), ["unpinned", "ecores-set"]),
        (study(), apart("0-23"), ["unpinned", "pcores-set", "ecores-set"]),
        # As a login shell has it: the scheduler has all that it may use.
        (study(), apart("0-7", "8-23"), ["pcores-set", "pcores-pin"]),
        (study(), apart("0-1", "2-23"), []),
        # Places of several CPUs, and a guest's.
        (
            study(mappings=(replace(SEVERAL, name="threads", places="threads"), SEVERAL)),
            replace(SERVER, isolated=(0, 4)),
            ["several"],
        ),
        (in_guests(4, vcpu_mappings=(PCORES_SET, PCORES_PIN)), apart("0-1"), ["pcores-set"]),
    ],
)
def test_cases_whose_threads_would_move_over_isolated_cpus_are_left_out(
    asked: Study, node: Topology, left_out: list[str]
) -> None:
    made = plan(asked, node)
    assert [boot(item.case) for item in made.skipped] == left_out
    assert all("isolated" in item.reason for item in made.skipped)


def test_an_unpinned_case_without_isolated_cpus_is_told_how_to_get_it() -> None:
    (first, *_) = plan(study(), apart("0-7")).skipped
    assert "the OS scheduler has 8-23 alone" in first.reason
    assert "`taskset -c 8-23`" in first.reason


def test_the_published_guests_are_put_on_the_published_cpus() -> None:
    queries: list[tuple[int, ...]] = []

    def settings_problem(_governor: str, _: Settings, cpus: tuple[int, ...]) -> None:
        queries.append(cpus)

    made = make_plan(PAPER_VM, I9, lambda name: Path("/opt") / name, TOOLS, settings_problem)
    assert not made.skipped
    on_host = [(boot(case), case.host_cpus) for case in made.cases]
    assert on_host == [
        ("unpinned", tuple(range(24))),
        ("pcores-set", tuple(range(8))),
        ("pcores-pin", tuple(range(8))),
        ("ecores-set", tuple(range(8, 24))),
        ("ecores-pin", tuple(range(8, 16))),
        # Four on each kind, and under a set every core of both.
        ("mixed-set", (0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, *range(12, 24))),
        ("mixed-pin", (0, 1, 2, 3, 8, 9, 10, 11)),
    ]
    masks = [tuple(sorted(cpus)) for _, cpus in on_host]
    assert [case.host_mask for case in made.cases] == masks
    # The governor is that of the host's CPUs.
    assert [tuple(sorted(cpus)) for cpus in queries] == masks
    for case in made.cases:
        assert (case.cpus, case.mask, case.mechanism) == (tuple(range(8)), tuple(range(8)), None)
        assert (case.threads, case.mapping.name) == (4, "unpinned")
        assert isinstance(case.engine, Vcpus)
        assert (case.engine.count, case.engine.memory_mib) == (8, 16384)


def test_a_guest_that_cannot_be_mapped_has_no_cpus_in_its_facts() -> None:
    made = plan(in_guests(cpus=4), SERVER)
    assert [case.number for case in made.cases] == [1, 2, 3]
    skipped = [item.case.engine.facts(item.case) for item in made.skipped]
    mapped = ["ecores-set", "ecores-pin", "mixed-set", "mixed-pin"]
    assert [(fields["mapping"], fields["cpus"]) for fields in skipped] == [
        (name, "") for name in mapped
    ]


def test_a_guest_s_rows_are_numbered_by_governor_then_its_cpus_then_its_threads() -> None:
    made = plan(in_guests(mappings=(UNPINNED, PCORES_PIN), governors=GOVERNORS))
    boots = ("unpinned", "pcores-set", "pcores-pin", "ecores-set", "ecores-pin", "mixed-set")
    order = product(GOVERNORS, (*boots, "mixed-pin"), ("unpinned", "pcores-pin"))
    assert [(case.number, case.governor, boot(case), case.mapping.name) for case in made.cases] == [
        (number, *row) for number, row in enumerate(order, 1)
    ]
    # Pinned threads in a guest take its CPUs, and not the host's.
    pinned = {(case.cpus, case.mechanism) for case in made.cases if case.mapping == PCORES_PIN}
    assert pinned == {((0, 1), "omp-places")}


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


def test_identities_are_digests_of_the_documented_fields() -> None:
    local = {case.number: case.case_id for case in plan().cases}
    assert local[3] == digest(LOCAL)
    guests = plan(in_guests(governors=("performance",)))
    in_guest = {"mapping": "unpinned", "selection": "all", "binding": "none"}
    assert guests.cases[4].case_id == digest(
        LOCAL | in_guest | {"mechanism": None, "cpus": "0-7", "guest": IN_A_GUEST}
    )


def test_guests_take_turns_and_all_runs_of_a_boot_follow_each_other() -> None:
    made = plan(in_guests(governors=GOVERNORS))
    boot_of = {case.case_id: boot(case) for case in made.cases}
    boots = [name for name, _ in groupby(boot_of[run.case_id] for run in made.runs)]
    # Two boots: one for two repetitions, another for the third.
    assert len(boots) == made.boots == 2 * 7
    # Both governors x (three repetitions, and a warm-up run in each boot).
    assert len(made.runs) == 7 * 2 * 5
    assert [run.order for run in made.runs] == list(range(70))


def test_two_names_for_one_execution_do_not_race_twice() -> None:
    node = i9_14900k_without_smt(allowed="0-7")
    mappings = (
        UNPINNED,
        Mapping("p", "pcores", "set"),
        Mapping("p-numactl", "pcores", "set", "numactl"),
        Mapping("p-places", "pcores", "set", "omp-places"),
        Mapping("compact", "compact", "pin"),
        PCORES_PIN,
        Mapping("one", "compact", "set"),
    )
    raced = plan(study(mappings=mappings, race=Race(), repetitions=10), node)
    # The P-cores are all the CPUs that there are, and the first two of them the closest two.
    assert [boot(case) for case in raced.cases] == ["unpinned", "p-places", "compact", "one"]
    reasons = {boot(item.case): item.reason for item in raced.skipped}
    assert set(reasons) == {"p", "p-numactl", "pcores-pin"}
    assert reasons["p"].startswith("the same execution as ")
    assert reasons["p"].endswith(", which races")
    # Where no best one is sought, only what is identical in everything is left out.
    listed = plan(study(mappings=mappings), node)
    (same,) = listed.skipped
    assert (boot(same.case), same.reason) == ("pcores-pin", "the same execution as #5 compact")
    assert [case.number for case in listed.cases] == [1, 2, 3, 4, 5, 7]
    # Each governor has its own.
    twice = plan(study(mappings=(PCORES_PIN, replace(PCORES_PIN, name="again")), governors="ab"))
    assert rows(twice) == [(1, "pcores-pin", "a"), (3, "pcores-pin", "b")]
    assert [item.reason for item in twice.skipped] == [
        f"the same execution as #{number} pcores-pin" for number in (1, 3)
    ]


FREE = Mapping("other", "all", "none", variables=(("A", "1"),))
OPENMP = AppChoice(DEMO, (SERIAL,), (SMALL,), (1,), schedules=("static", "dynamic"))
RACE = {"race": Race(), "repetitions": 10}


@pytest.mark.parametrize(
    ("asked", "cases"),
    [
        *(
            (study(mappings=(PCORES_PIN, other)), ["pcores-pin", "other"])
            for other in (
                Mapping("other", "pcores", "pin", variables=(("A", "1"),)),
                Mapping("other", "pcores", "pin", "likwid-pin"),
                Mapping("other", "pcores", "set"),
                Mapping("other", "ecores", "pin"),
            )
        ),
        (study(mappings=(UNPINNED, FREE), **RACE), ["unpinned", "other"]),
        (
            study(mappings=(UNPINNED,), settings=SettingFactors(turbo=("on", "off")), race=Race()),
            ["unpinned", "unpinned"],
        ),
        # What OpenMP is told makes no other case of a program without it.
        (
            study(apps=(OPENMP,), mappings=(UNPINNED, PCORES_SET), **RACE),
            ["unpinned", "pcores-set"],
        ),
    ],
)
def test_what_differs_in_anything_is_run_under_both_names(asked: Study, cases: list[str]) -> None:
    assert [boot(case) for case in plan(asked).cases] == cases


def test_each_governor_has_all_mappings_under_the_first_settings_and_then_the_next() -> None:
    factors = SettingFactors(sched_ext=("kernel", "scx_lavd"), epp=("power", "performance"))
    made = plan(study(mappings=(UNPINNED, PCORES_PIN), governors="ab", settings=factors))
    settings = (
        *("EPP power, kernel", "EPP power, scx_lavd"),
        *("EPP performance, kernel", "EPP performance, scx_lavd"),
    )
    order = product("ab", settings, ("unpinned", "pcores-pin"))
    assert [
        (case.number, case.governor, case.settings.words, boot(case)) for case in made.cases
    ] == [(number, *row) for number, row in enumerate(order, 1)]
    assert made.cases[0].label.endswith("unpinned a, EPP power, kernel")
    # In blocks, the first row of each governor is what its others are compared with.
    by_id = {case.case_id: case.number for case in made.cases}
    groups = compared_with(made.cases).items()
    assert {by_id[first]: len(others) for first, others in groups} == {1: 7, 9: 7}
    out = (Exclusion(settings=SettingFactors(governor=("a",), epp=("power",))),)
    fewer = plan(replace(made.study, exclude=out))
    assert [case.number for case in fewer.cases] == list(range(5, 17))


def test_a_case_has_its_settings_in_its_record_only_where_a_study_asks() -> None:
    (usual,) = plan(study(mappings=(UNPINNED,))).cases
    factors = SettingFactors(epp=("current", "power"), itmt=("off",))
    asked = plan(study(mappings=(UNPINNED,), settings=factors))
    assert "settings" not in case_fields(usual)
    assert [case_fields(case)["settings"] for case in asked.cases] == [
        {"itmt": "off"},
        {"epp": "power", "itmt": "off"},
    ]


def test_a_governor_among_the_settings_is_that_of_the_governors_key() -> None:
    assert rows(plan(study(settings=SettingFactors(governor=GOVERNORS)))) == rows(plan())
    assert ids(plan(study(settings=SettingFactors(governor=GOVERNORS)))) == ids(plan())


# Co-runners are a factor like governors, and each of them is a case of its own as well.
OTHER = replace(DEMO, name="other", arguments=("-o", "{size}"))
co_runners = st.builds(
    CoRunner,
    st.sampled_from([DEMO, OTHER]),
    st.just(LIBGOMP),
    st.just(SMALL),
    st.sampled_from([1, 2, 4]),
    st.sampled_from(PUBLISHED),
)
# As the loader leaves them: none twice.
besides = st.lists(
    st.none() | co_runners,
    min_size=1,
    max_size=4,
    unique_by=lambda runner: runner and (runner.app.name, runner.threads, runner.mapping.name),
).map(tuple)


def pinned(threads: int = 1, mapping: Mapping = ECORES_PIN) -> CoRunner:
    return CoRunner(OTHER, LIBGOMP, SMALL, threads, mapping)


def beside(*runners: CoRunner | None, node: Topology = I9, **changes: object) -> Plan:
    return plan(study(co_runners=runners, **changes), node)


@settings(max_examples=40)
@given(besides, st.sampled_from([GOVERNORS, GOVERNORS[:1]]))
def test_every_mapping_stands_beside_every_co_runner_and_each_of_these_alone_once(
    runners: tuple[CoRunner | None, ...], governors: tuple[str, ...]
) -> None:
    made = beside(*runners, governors=governors)
    own = [case for case in made.cases if case.table == 1]
    # The node has CPUs for all of them.
    assert [case.number for case in own] == list(range(1, len(own) + 1))
    assert len(own) == len(governors) * len(runners) * len(PUBLISHED)
    assert not made.skipped
    alone = set()
    for case in own:
        fields = case_fields(case)
        if case.co_runner:
            alone.add(case.co_runner.case_id)
            assert case.co_runner.governor == case.governor
            assert fields["co_runner_alone"] == case.co_runner.case_id
        else:
            assert not {"co_runner", "co_runner_cpus", "co_runner_alone"} & set(fields)
    # Each once, and nothing else was added.
    counts = Counter(case.case_id for case in made.cases)
    assert counts == dict.fromkeys(alone | {case.case_id for case in own}, 1)
    for block in range(1, made.study.repetitions + 1):
        assert Counter(run.case_id for run in made.runs if run.block == block) == counts


def test_a_co_runner_that_the_study_has_as_a_case_is_no_case_twice() -> None:
    choice = AppChoice(OTHER, (LIBGOMP,), (SMALL,), (1,))
    made = beside(None, pinned(), apps=(choice,))
    assert {case.table for case in made.cases} == {1}
    (alone,) = {case.co_runner.case_id for case in made.cases if case.co_runner}
    (same,) = (case for case in made.cases if case.case_id == alone)
    assert (same.mapping.name, same.co_runner) == ("ecores-pin", None)


def test_co_runners_of_one_build_and_team_share_a_table() -> None:
    made = beside(None, pinned(), pinned(mapping=UNPINNED), pinned(threads=2))
    added = [(c.table, c.number, c.mapping.name) for c in made.cases if c.table > 1]
    assert added == [(2, 1, "ecores-pin"), (2, 2, "unpinned"), (3, 1, "ecores-pin")]
    # Cases with nothing beside them keep their ids.
    assert ids(plan(study())) < ids(made)


def test_cpus_that_both_use_are_known_and_allowed() -> None:
    made = beside(pinned(mapping=PCORES_PIN))
    by_mapping = {case.mapping.name: case for case in made.cases if case.co_runner}
    assert by_mapping["pcores-pin"].shared_cpus == (0,)
    apart = by_mapping["ecores-pin"]
    assert (apart.shared_cpus, apart.all_cpus) == ((), (*apart.cpus, 0))


def test_a_case_whose_co_runner_cannot_run_is_left_out_with_the_reason() -> None:
    made = beside(None, pinned(), node=SERVER)
    reasons = Counter(item.reason for item in made.skipped if item.case.co_runner)
    assert reasons["its co-runner: the node has no E-cores"] == 3
    (alone,) = (item for item in made.skipped if item.case.app.name == "other")
    assert alone.reason == "the node has no E-cores"
    assert all(case.co_runner is None for case in made.cases)


def test_a_co_runner_runs_alone_only_where_it_stands_beside_a_case() -> None:
    out = (Exclusion(governors=("powersave",)),)
    made = beside(None, pinned(), governors=GOVERNORS, exclude=out)
    assert {case.governor for case in made.cases} == {"performance"}
    assert [case.app.name for case in made.cases if case.table == 2] == ["other"]
    nothing = beside(pinned(), exclude=(Exclusion(apps=("demo",)),))
    assert not nothing.cases and not nothing.skipped


MIXED_PIN = Mapping("mixed-pin", "mixed", "pin")


def added(made: Plan) -> list[tuple[int, int, str, int, str]]:
    """Return table, row, mapping, threads and CPUs of each case that `bound` adds."""
    return [
        (case.table, case.number, case.mapping.name, case.threads, format_cpulist(case.cpus))
        for case in made.cases
        if case.case_id in made.added
    ]


@pytest.mark.parametrize(
    ("bound", "threads", "mappings", "expected"),
    [
        (None, 8, (MIXED_PIN,), []),
        ("single", 8, (MIXED_PIN,), [(2, 1, "pcores-pin", 1, "0"), (2, 2, "ecores-pin", 1, "8")]),
        # Unpinned threads may use every kind, those on P-cores theirs alone.
        ("single", 8, (UNPINNED,), [(2, 1, "pcores-pin", 1, "0"), (2, 2, "ecores-pin", 1, "8")]),
        ("single", 8, (PCORES_SET,), [(2, 1, "pcores-pin", 1, "0")]),
        # One thread has no bound.
        ("single", 1, (UNPINNED,), []),
        # A team on all P-cores is there already.
        ("loaded", 8, (PCORES_PIN, MIXED_PIN), [(2, 1, "ecores-pin", 16, "8-23")]),
    ],
)
def test_cases_that_tell_speeds_are_added_for_each_kind_that_teams_may_use(
    bound: str | None, threads: int, mappings: tuple[Mapping, ...], expected: list[object]
) -> None:
    assert added(plan(demo(threads=threads, mappings=mappings, bound=bound))) == expected


def test_added_rows_follow_those_of_their_table_and_settings() -> None:
    both = AppChoice(DEMO, (LIBGOMP,), (SMALL,), (1, 8), mappings=(UNPINNED, PCORES_PIN))
    made = plan(study(apps=(both,), governors=GOVERNORS, bound="single"))
    # Rows #1 to #4 of one thread tell the speed of P-cores under both governors.
    assert added(made) == [(1, 5, "ecores-pin", 1, "8"), (1, 6, "ecores-pin", 1, "8")]
    assert [case.governor for case in made.cases[-2:]] == list(GOVERNORS)


def test_a_study_s_own_way_to_pin_tells_speeds_and_exclusions_hold() -> None:
    own = Mapping("by-likwid", "pcores", "pin", "likwid-pin")
    asked = demo(threads=8, mappings=(own, MIXED_PIN), bound="single")
    assert [row[2] for row in added(plan(asked))] == ["by-likwid", "ecores-pin"]
    without = replace(asked, exclude=(Exclusion(threads=(1,), mappings=("ecores-pin",)),))
    assert [row[2] for row in added(plan(without))] == ["by-likwid"]


def test_no_speeds_are_told_of_what_runs_beside_others_or_of_ranks() -> None:
    assert not beside(pinned(), bound="single").added
    rank = replace(LIBGOMP, mpi="openmpi")
    ranks = AppChoice(DEMO, (rank,), (SMALL,), (2,), ranks=(2,))
    assert not plan(study(apps=(ranks,), bound="single")).added
