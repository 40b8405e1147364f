"""The keys of a study."""

from __future__ import annotations

import pytest

from configs.mapping import Mapping
from configs.study import IdlePower, Spread, TemperatureGate, Vm
from tests.configs.shelves import GUEST, NODES, STUDY, study_of, study_with

# An app that is written out where a study uses it.
INLINE = """\
  - app:
      name: stream
      title: Stream
      builds: {gcc: {program: ./stream.sh, runtime: libgomp}}
      sizes: {only: {arguments: [], estimate: 2 s}}
      arguments: [--verbose, '{size}']
      metrics: {triad: {pattern: 'Triad: *([0-9.]+)', unit: MB/s}}
      check: {pattern: Solution Validates}
      timeout: 1 min
    builds: gcc
    sizes: only
    threads: 1
"""


def test_a_study_holds_the_apps_and_mappings_it_names() -> None:
    study = study_of(study_with("builds: [libgomp]", "threads: [1, 2, 8]"))

    (choice,) = study.apps
    assert study.name == "x"
    assert (choice.app.name, choice.builds[0].runtime) == ("lu", "libgomp")
    assert choice.sizes[0].arguments == ("100",)
    assert choice.threads == (1, 2, 8)
    assert [mapping.name for mapping in study.mappings] == ["unpinned", "pcores-pin"]


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("governors", "governors", ("current",)),
        ("wait_policy", "wait_policies", ("runtime-default",)),
        ("repetitions: 10", "repetitions", 10),
        ("repetitions: {decide: {first: 3, max: 999}}", "repetitions", 999),
        ("collect: [perf, c2c]", "collect", ("perf", "c2c")),
        ("collect", "collect", ("perf", "energy")),
        ("latency: representative", "latency", "representative"),
        ("latency", "latency", None),
        ("idle_power: 10 s", "idle_power", IdlePower(10.0)),
        ("idle_power: {duration: 10 s}", "idle_power", IdlePower(10.0)),
        ("idle_power: {duration: 1.5 min, every: 50}", "idle_power", IdlePower(90.0, 50)),
        ("idle_power: 100 ms", "idle_power", IdlePower(0.1)),
        ("idle_power: 10 min", "idle_power", IdlePower(600.0)),
        ("idle_power", "idle_power", None),
        (
            "temperature_gate: {within: 2.5K, limit: 90 s}",
            "temperature_gate",
            TemperatureGate(2.5, 90.0),
        ),
        (
            "temperature_gate: {within: 80 °C, limit: 1 h}",
            "temperature_gate",
            TemperatureGate(80.0, 3600.0),
        ),
        ("temperature_gate", "temperature_gate", None),
        ("engine", "engine", "local"),
        (GUEST, "engine", "vm"),
        (GUEST, "vm", Vm(8, 16384)),
        ("vm", "vm", None),
        (NODES, "engine", "batch"),
    ],
)
def test_a_key_has_its_value_in_one_unit_or_its_default(line: str, key: str, value: object) -> None:
    assert getattr(study_of(study_with(line)), key) == value


@pytest.mark.parametrize(
    ("section", "spread"),
    [
        ("{site: there}", Spread("there", "per-node")),
        ("{site: there, nodes: [n1, n2]}", Spread("there", nodes=("n1", "n2"))),
        ("{site: there, features: [hybrid, homog]}", Spread("there", features=("hybrid", "homog"))),
        ("{site: there, spread: split}", Spread("there", "split")),
        (
            "{site: ./there.yaml, spread: split, features: hybrid, workers: 4}",
            Spread("./there.yaml", "split", features=("hybrid",), workers=4),
        ),
    ],
)
def test_a_study_may_be_spread_over_nodes(section: str, spread: Spread) -> None:
    assert study_of(study_with(f"engine: batch\nbatch: {section}")).spread == spread


@pytest.mark.parametrize(
    ("written", "mib"),
    [("128 MiB", 128), ("512MiB", 512), ("1 GiB", 1024), ("65536 GiB", 64 * 1024 * 1024)],
)
def test_memory_of_a_guest_has_its_unit(written: str, mib: int) -> None:
    assert study_of(study_with(GUEST.replace("16 GiB", written))).vm == Vm(8, mib)


@pytest.mark.parametrize(
    ("some", "same"),
    [
        (("threads: 1", "sizes: small"), ()),
        ((GUEST.replace("[unpinned, pcores-set]", "[pcores-set]"),),
         (GUEST.replace("[unpinned, pcores-set]", "pcores-set"),)),
        # Without other mappings, the scheduler of the guest maps threads.
        ((GUEST, "mappings"), (GUEST, "mappings: unpinned")),
    ],
)  # fmt: skip
def test_a_single_value_stands_for_a_list_of_one(some: list[str], same: list[str]) -> None:
    assert study_of(study_with(*some)) == study_of(study_with(*same))


def test_a_study_may_define_mappings_where_it_uses_them() -> None:
    mine = "{name: mine, selection: mixed, binding: pin, mechanism: likwid-pin}"
    theirs = "{name: theirs, selection: mixed, binding: pin}"

    study = study_of(
        study_with(f"mappings: [{mine}, pcores-pin]", GUEST.replace("pcores-set", theirs))
    )

    assert study.mappings[0] == Mapping("mine", "mixed", "pin", "likwid-pin")
    assert study.vcpu_mappings[1] == Mapping("theirs", "mixed", "pin")


def test_a_study_may_define_an_app_where_it_uses_it() -> None:
    app = study_of(STUDY.replace("mappings:", INLINE + "mappings:")).apps[1].app

    assert (app.name, app.limit_s, app.arguments) == ("stream", 60.0, ("--verbose", "{size}"))
    assert app.metrics[0].pattern == "Triad: *([0-9.]+)"
    assert app.check.pattern == "Solution Validates"


def test_an_entry_may_have_mappings_of_its_own_and_more_threads_than_cpus() -> None:
    entry = "threads: [1]\n    mappings: unpinned\n    oversubscribe: yes\n"
    another = "  - {app: lu, builds: libgomp, sizes: small, threads: 2}"
    study = study_of(study_with(entry + another))

    first, second = study.apps
    assert [mapping.name for mapping in first.mappings or ()] == ["unpinned"]
    assert second.mappings is None
    assert (first.oversubscribe, second.oversubscribe) == (True, False)
