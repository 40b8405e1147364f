"""Studies in guests: what they become, and what a user is told of a wrong one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs import library
from configs.study import Vm
from tests.configs.asked import ASKED, PCORES_SET, SCHEDULER, sha256
from tests.configs.shelves import LU, STUDY, mistakes, study_of

# Lines 11, 12 and 13 are the guest's.
IN_A_GUEST = (
    STUDY
    + """\
engine: vm
vm: {cpus: 8, memory: 16 GiB}
vcpu_mapping: [scheduler, pcores-set]
"""
)


def changed(old: str, new: str) -> str:
    assert old in IN_A_GUEST
    return IN_A_GUEST.replace(old, new)


def test_a_guest_has_cpus_memory_and_mappings_of_its_cpus() -> None:
    study = study_of(IN_A_GUEST)
    assert study.engine == "vm"
    assert study.vm
    assert (study.vm.cpus, study.vm.memory_mib) == (8, 16384)
    assert [mapping.name for mapping in study.vcpu_mappings] == ["scheduler", "pcores-set"]
    assert [mapping.name for mapping in study.mappings] == ["scheduler", "pcores-pin"]


def test_a_study_runs_on_this_node_unless_it_asks_for_a_guest() -> None:
    assert (study_of(STUDY).engine, study_of(STUDY).vm) == ("local", None)
    assert study_of(STUDY + "engine: local\n") == study_of(STUDY)


@pytest.mark.parametrize(
    ("written", "mib"),
    [("128 MiB", 128), ("512MiB", 512), ("1 GiB", 1024), ("65536 GiB", 64 * 1024 * 1024)],
)
def test_memory_has_its_unit(written: str, mib: int) -> None:
    vm = study_of(changed("16 GiB", written)).vm
    assert isinstance(vm, Vm)
    assert vm.memory_mib == mib


def test_one_mapping_of_its_cpus_stands_for_a_list_of_one() -> None:
    one = study_of(changed("[scheduler, pcores-set]", "pcores-set"))
    assert one == study_of(changed("[scheduler, pcores-set]", "[pcores-set]"))


def test_a_mapping_of_its_cpus_may_be_written_out() -> None:
    study = study_of(changed("pcores-set]", "{name: mine, selection: mixed, binding: pin}]"))
    assert study.vcpu_mappings[1].selection == "mixed"


NO_MAPPINGS = "mappings: [scheduler, pcores-pin]\n"


def test_in_a_guest_its_scheduler_maps_threads_unless_the_study_says_otherwise() -> None:
    study = study_of(changed(NO_MAPPINGS, ""))
    assert [mapping.name for mapping in study.mappings] == ["scheduler"]
    assert study == study_of(changed("[scheduler, pcores-pin]", "scheduler"))


def test_on_this_node_a_study_must_say_its_mappings() -> None:
    for text in (STUDY, STUDY + "engine: local\n"):
        (problem,) = mistakes(text.replace(NO_MAPPINGS, ""))
        assert problem == "x.yaml:1:1: 'mappings' is missing; expected the names of mappings"


MEMORY = "is not an amount of memory, such as 512 MiB or 16 GiB"
CPUS = "is not how many virtual CPUs the guest has: a whole number from 1 to 255"
RANGE = "is not from 128 MiB to 64 TiB"
BESIDE = "is for guests: write engine: vm beside it"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("16 GiB", "16", f"x.yaml:12:23: '16' {MEMORY}"),
        ("16 GiB", "16 GB", f"x.yaml:12:23: '16 GB' {MEMORY}"),
        ("16 GiB", "1.5 GiB", f"x.yaml:12:23: '1.5 GiB' {MEMORY}"),
        ("16 GiB", "-1 GiB", f"x.yaml:12:23: '-1 GiB' {MEMORY}"),
        ("16 GiB", "999999999 GiB", f"x.yaml:12:23: '999999999 GiB' {MEMORY}"),
        ("16 GiB", "[16 GiB]", f"x.yaml:12:23: a list {MEMORY}"),
        ("16 GiB", "127 MiB", f"x.yaml:12:23: '127 MiB' {RANGE}"),
        ("16 GiB", "0 GiB", f"x.yaml:12:23: '0 GiB' {RANGE}"),
        ("16 GiB", "65537 GiB", f"x.yaml:12:23: '65537 GiB' {RANGE}"),
        ("cpus: 8", "cpus: 0", f"x.yaml:12:12: '0' {CPUS}"),
        ("cpus: 8", "cpus: 256", f"x.yaml:12:12: '256' {CPUS}"),
        ("cpus: 8", "cpus: many", f"x.yaml:12:12: 'many' {CPUS}"),
        (
            "cpus: 8, ",
            "",
            (
                "x.yaml:12:5: 'cpus' is missing; expected how many virtual CPUs the guest has: a "
                "whole number from 1 to 255"
            ),
        ),
        (
            ", memory: 16 GiB",
            "",
            (
                "x.yaml:12:5: 'memory' is missing; expected an amount of memory, such as 512 MiB "
                "or 16 GiB"
            ),
        ),
        (
            "{cpus: 8, ",
            "{cpu: 2, cpus: 8, ",
            "x.yaml:12:6: key 'cpu' is not known here; did you mean 'cpus'? (known: cpus, memory)",
        ),
        (
            "{cpus: 8, memory: 16 GiB}",
            "large",
            "x.yaml:12:5: 'large' is not a guest with the keys cpus and memory",
        ),
        ("vm: {cpus: 8, memory: 16 GiB}\n", "", "x.yaml:11:9: engine vm needs the key 'vm'"),
        (
            "vcpu_mapping: [scheduler, pcores-set]\n",
            "",
            "x.yaml:11:9: engine vm needs the key 'vcpu_mapping'",
        ),
        (
            "pcores-set]",
            "pcores-sett]",
            (
                "x.yaml:13:27: mapping 'pcores-sett' is not known; did you mean 'pcores-set'? "
                "(known: scheduler, pcores-set, pcores-pin)"
            ),
        ),
        (
            "[scheduler, pcores-set]",
            "[]",
            (
                "x.yaml:13:15: the list is empty; expected the name of a mapping, or a mapping "
                "with name, selection, binding"
            ),
        ),
        ("[scheduler, pcores-set]", "[scheduler, scheduler]", (
            "x.yaml:13:27: 'scheduler' is repeated"
        )),
        (
            "pcores-set]",
            "{name: m, selection: pcores, binding: pin, mechanism: likwid-pin}]",
            (
                "x.yaml:13:27: mapping 'm' names the mechanism likwid-pin; pinstudy itself places "
                "virtual CPUs"
            ),
        ),
        (
            "pcores-set]",
            "{name: m, selection: pcores, binding: set, mechanism: taskset}]",
            (
                "x.yaml:13:27: mapping 'm' names the mechanism taskset; pinstudy itself places "
                "virtual CPUs"
            ),
        ),
    ],
)  # fmt: skip
def test_a_mistake_has_its_place_its_value_and_what_is_allowed(
    old: str, new: str, said: str
) -> None:
    assert mistakes(changed(old, new)) == [said]


def test_a_mechanism_is_refused_in_its_own_place_after_a_mapping_that_is_not_known() -> None:
    wrong = "[pcores-sett, {name: m, selection: pcores, binding: set, mechanism: taskset}]"
    lines = mistakes(changed("[scheduler, pcores-set]", wrong))
    assert [line.split(": ")[0] for line in lines] == ["x.yaml:13:16", "x.yaml:13:29"]


def test_an_engine_that_is_not_known_is_told_with_those_that_are() -> None:
    (problem,) = (line for line in mistakes(changed("engine: vm", "engine: kvm")) if ":11:" in line)
    assert problem == (
        "x.yaml:11:9: engine 'kvm' is not known; did you mean 'vm'? (known: local, vm, batch)"
    )


@pytest.mark.parametrize("engine", ["", "engine: local\n"])
def test_a_guest_s_keys_are_refused_where_cases_run_on_this_node(engine: str) -> None:
    lines = mistakes(changed("engine: vm\n", engine))
    first = 12 if engine else 11
    assert lines == [
        f"x.yaml:{first}:5: 'vm' {BESIDE}",
        f"x.yaml:{first + 1}:15: 'vcpu_mapping' {BESIDE}",
    ]


def test_a_guest_without_anything_of_it_is_told_all_that_is_missing() -> None:
    assert set(mistakes(STUDY + "engine: vm\n")) == {
        "x.yaml:11:9: engine vm needs the key 'vm'",
        "x.yaml:11:9: engine vm needs the key 'vcpu_mapping'",
    }


def test_mappings_of_a_guest_s_cpus_make_more_runs() -> None:
    # 100 thread counts x 2 mappings x 10,000 repetitions are twice as many as there may be, and
    # once more for each mapping of the guest's CPUs.
    text = changed("[serial]", "[libgomp]").replace("repetitions: 10", "repetitions: 10000")
    threads = ", ".join(str(count) for count in range(1, 101))
    assert mistakes(text.replace("[1]", f"[{threads}]")) == [
        "x.yaml:1:1: the study asks for 4000400 runs, warm-up runs included; "
        "expected at most 1000000"
    ]


VALUE = st.recursive(
    st.sampled_from(["vm", "local", "8", "0", "16 GiB", "1 MiB", "scheduler", "pcores-set", "~"])
    | st.text("abc,:{}[]&* \n#\"'", max_size=6).map(json.dumps),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(st.sampled_from(["cpus", "memory", "name"]), inner, max_size=3).map(
            lambda items: "{" + ", ".join(f"{key}: {item}" for key, item in items.items()) + "}"
        )
    ),
    max_leaves=5,
)


@given(VALUE, VALUE, VALUE)
def test_whatever_the_guest_s_keys_hold_there_is_a_study_or_a_list_of_mistakes(
    engine: str, vm: str, vcpu_mapping: str
) -> None:
    text = STUDY + f"engine: {engine}\nvm: {vm}\nvcpu_mapping: {vcpu_mapping}\n"
    lines = mistakes(text)
    assert all(line.startswith("x.yaml:") for line in lines)
    assert lines or study_of(text).vm


GUEST = {"vm": {"cpus": 8, "memory_mib": 16384}, "vcpu_mappings": [SCHEDULER, PCORES_SET]}


def test_a_guest_is_part_of_what_its_study_asks_for() -> None:
    assert study_of(IN_A_GUEST).digest == sha256(ASKED | GUEST)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("cpus: 8", "cpus: 4"),
        ("16 GiB", "8 GiB"),
        ("[scheduler, pcores-set]", "[pcores-set, scheduler]"),
        ("[scheduler, pcores-set]", "[scheduler]"),
    ],
)
def test_another_guest_makes_another_study(old: str, new: str) -> None:
    assert study_of(changed(old, new)).digest != study_of(IN_A_GUEST).digest


def test_the_same_guest_in_other_words_is_the_same_study() -> None:
    assert study_of(changed("16 GiB", "16384MiB")).digest == study_of(IN_A_GUEST).digest


SEVEN = [
    *("scheduler", "pcores-set", "pcores-pin", "ecores-set", "ecores-pin"),
    *("mixed-set", "mixed-pin"),
]


@pytest.mark.parametrize(("name", "app"), [("paper-vm", "lulesh-llnl"), ("paper-own-vm", "lulesh")])
def test_the_published_scenario_is_asked_for_as_published(name: str, app: str) -> None:
    study = library.load_study(name)
    assert study.vm
    assert (study.vm.cpus, study.vm.memory_mib) == (8, 16 * 1024)
    assert [mapping.name for mapping in study.vcpu_mappings] == SEVEN
    (choice,) = study.apps
    assert (choice.app.name, choice.threads) == (app, (4,))
    assert [size.arguments for size in choice.sizes] == [("-s", "45")]
    assert [mapping.name for mapping in study.mappings] == ["scheduler"]
    assert (study.repetitions, study.wait_policies) == (10, ("runtime-default",))
    about = (library.CONFIGS / "studies" / f"{name}.yaml").read_text().splitlines()[1]
    assert "Galante and Oyamada (2025)" in about


def test_the_small_scenario_has_the_same_mappings_and_fits_a_small_node() -> None:
    study = library.load_study("vm")
    assert study.vm
    assert study.vm.cpus == 2
    assert study.vm.memory_mib <= 1024
    assert [mapping.name for mapping in study.vcpu_mappings] == SEVEN
    assert max(count for choice in study.apps for count in choice.threads) <= study.vm.cpus


CHECKED = (
    "app 'lu' is checked by a command, which is not run for guests; write engine: local, or a "
    "check without command"
)


def test_a_command_that_would_check_what_a_guest_has_done_is_a_mistake() -> None:
    apps = {"lu": LU + b"check: {pattern: ^done, command: ./verify.sh}\n"}

    assert mistakes(IN_A_GUEST, apps) == [f"x.yaml:3:10: {CHECKED}"]
    assert mistakes(STUDY, apps) == []
    assert mistakes(IN_A_GUEST, {"lu": LU + b"check: {pattern: ^done}\n"}) == []


def test_so_it_is_where_the_app_is_written_out_in_the_study() -> None:
    written_out = """\
app:
      name: lu
      title: LU
      variants: {serial: {program: lu-serial, runtime: none}}
      sizes: {small: {arguments: '100'}}
      check: {command: ./verify.sh}
"""
    assert mistakes(changed("app: lu\n", written_out)) == [f"x.yaml:8:24: {CHECKED}"]
