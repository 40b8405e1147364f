"""A study: its keys, its digest, how large it may be, its settings and its co-runners."""

from __future__ import annotations

import hashlib
import json
import shlex
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.configs.decoding import InvalidError, decode
from pinstudy.configs.load import study_digest
from pinstudy.configs.mapping import Mapping, listed_places, places_of
from pinstudy.configs.settings import (
    NAMES,
    Scheduler,
    frequency_khz,
    power_w,
    program_of,
    recorded_words,
    settings_in_words,
    settings_of,
)
from pinstudy.configs.study import IdlePower, PowerGate, Spread, TemperatureGate, Vm
from tests.configs.shelves import (
    GUEST,
    LU,
    NODES,
    RATED,
    STUDY,
    app_with,
    mistakes,
    study_of,
    study_with,
)

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


def test_a_bound_is_by_one_thread_or_by_all_cores_of_each_kind() -> None:
    team = ("builds: [libgomp]", "threads: [2]")
    asked = [study_of(study_with(*team, f"bound: {word}")) for word in ("true", "loaded", "no")]

    assert [study.bound for study in asked] == ["single", "loaded", None]
    # Cases are added, which makes another study.
    assert len({study.digest for study in asked}) == 3
    assert asked[-1].digest == study_of(study_with(*team)).digest


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
        ("bound: no", "bound", None),
        ("bound", "bound", None),
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
        ("power_gate: {below: 20W, limit: 90 s}", "power_gate", PowerGate(20.0, 90.0)),
        (
            "power_gate: {below: 7.5 W, limit: 2 min, over: 56 s}",
            "power_gate",
            PowerGate(7.5, 120.0, 56.0),
        ),
        ("order", "order", "balanced"),
        ("order: randomised-blocks", "order", "randomised-blocks"),
        ("engine", "engine", "local"),
        (GUEST, "engine", "vm"),
        (GUEST, "vm", Vm(8, 16384)),
        (GUEST.replace("16 GiB", "128 MiB"), "vm", Vm(8, 128)),
        (GUEST.replace("16 GiB", "65536 GiB"), "vm", Vm(8, 64 * 1024 * 1024)),
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


def sha256(study: dict[str, Any]) -> str:
    text = json.dumps(study, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


# The study of shelves.py with its defaults, written out by hand: no titles,
# summaries, estimates, the file's place, and keys without a value. The app is there by its digest.
APP_LU: dict[str, Any] = {
    "name": "lu",
    "builds": {
        "serial": {"name": "serial", "program": "lu-serial", "runtime": "none"},
        "libgomp": {"name": "libgomp", "program": "lu-libgomp", "runtime": "libgomp"},
    },
    "sizes": {
        "small": {"name": "small", "arguments": ["100"], "quiet": False, "expect": {}},
        "large": {"name": "large", "arguments": ["-q", "2000"], "quiet": True, "expect": {}},
    },
    "arguments": ["{size}"],
    "metrics": [],
    "check": {"stream": "stdout", "command": []},
    "schedules": ["static", "dynamic"],
    "default_schedule": "static,1",
    "limit_s": 600.0,
}
UNPINNED = {"name": "unpinned", "selection": "all", "binding": "none"}
PCORES_SET = {"name": "pcores-set", "selection": "pcores", "binding": "set"}
PCORES_PIN = {"name": "pcores-pin", "selection": "pcores", "binding": "pin"}
CHOICE: dict[str, Any] = {
    "app": sha256(APP_LU),
    "builds": [APP_LU["builds"]["serial"]],
    "sizes": [APP_LU["sizes"]["small"]],
    "threads": [1],
    "schedules": [],
    "oversubscribe": False,
}
ASKED: dict[str, Any] = {
    "name": "x",
    "apps": [CHOICE],
    "mappings": [UNPINNED, PCORES_PIN],
    "vcpu_mappings": [],
    "governors": ["performance"],
    "warmup": 1,
    "order": "balanced",
    "seed": 1,
    "wait_policies": ["passive"],
    "collect": ["perf", "energy"],
    "events": [],
}
ASKED_OF_GUEST = {"vm": {"cpus": 8, "memory_mib": 16384}, "vcpu_mappings": [UNPINNED, PCORES_SET]}
CHECK = APP_LU["check"] | {"pattern": "^done"}


def digest(*lines: str, app: bytes = LU) -> str:
    return study_of(study_with(*lines), {"lu": app}).digest


def test_a_digest_is_the_sha_256_of_the_canonical_json() -> None:
    assert digest() == sha256(ASKED)
    assert digest(GUEST) == sha256(ASKED | ASKED_OF_GUEST)
    choice = CHOICE | {"app": sha256(APP_LU | {"check": CHECK})}
    assert digest(app=app_with("check: {pattern: ^done}")) == sha256(ASKED | {"apps": [choice]})


RULE = "repetitions: {decide: {first: 5, max: 50}}"


@pytest.mark.parametrize(
    ("some", "same"),
    [
        ("title: A study", "title: 'Another title' # a comment"),
        ("governors: [performance]", "governors:   performance"),
        ("governors: current", "governors"),
        ("wait_policy: runtime-default", "wait_policy"),
        ("title: A study", "warmup: 1"),
        ("repetitions: 10", "repetitions: 11"),
        ("engine: local", NODES),
        ("engine: local", "engine: batch\nbatch: {site: here, spread: split, workers: 4}"),
        ("idle_power: 10 s", "idle_power: {duration: 10000 ms}"),
        (GUEST, GUEST.replace("16 GiB", "16384MiB")),
        (RULE, RULE.replace("50", "51")),
        (RULE, "repetitions: 10"),
    ],
)
def test_another_spelling_and_what_changes_no_run_are_the_same_study(some: str, same: str) -> None:
    assert digest(some) == digest(same)


@pytest.mark.parametrize(
    "line", ["small: {arguments: '100', estimate: 30 ms}", "c2c: true", "obtain: make originals"]
)
def test_what_changes_no_run_of_an_app_is_the_same_study(line: str) -> None:
    assert digest(app=app_with(line)) == digest()
    # Nor does it change one what is better of a metric; its unit does.
    asked = RATED.replace(b"unit: Gflop/s", b"unit: Gflop/s, better: higher")
    assert digest(app=asked) == digest(app=RATED)
    assert digest(app=RATED.replace(b"Gflop/s", b"Mflop/s")) != digest(app=RATED)


def test_asking_for_something_else_is_another_study() -> None:
    lines = [
        *("title: A study", "wait_policy: active", "mappings: [pcores-pin, unpinned]", "seed: 2"),
        *("builds: [libgomp]", "mappings: unpinned", "latency: all", "idle_power: 10 s"),
        *("idle_power: 11 s", "idle_power: {duration: 10 s, every: 50}"),
        "temperature_gate: {within: 5 K, limit: 2 min}",
        "temperature_gate: {within: 6 K, limit: 2 min}",
        GUEST,
        GUEST.replace("cpus: 8", "cpus: 4"),
        GUEST.replace("16 GiB", "8 GiB"),
        GUEST.replace("[unpinned, pcores-set]", "[pcores-set, unpinned]"),
        GUEST.replace("[unpinned, pcores-set]", "[unpinned]"),
        "settings: {sched_ext: kernel}",
        f"co_runners: [none, {{{OTHER}}}]",
        f"co_runners: [none, {{{OTHER.replace('threads: 2', 'threads: 1')}}}]",
    ]
    assert len({digest(line, app=RATED) for line in lines}) == len(lines)
    # An entry's own mappings count as well.
    assert study_of(STUDY.replace("mappings:", "    mappings:")).digest != digest()


def test_another_command_or_check_of_an_app_is_another_study() -> None:
    runs = "metrics: {runs: {pattern: 'runs: (\\d+)', unit: '1'}}"
    apps = [
        app_with("small: {arguments: '101'}"),
        app_with("check: {pattern: ^done}"),
        app_with("check: {pattern: ^done, command: [./verify.sh, out.txt]}"),
        app_with("check: {pattern: ^done, command: [./verify.sh, more.txt]}"),
        # A metric may be named as a key that changes no digest.
        app_with("small: {arguments: '100', expect: {runs: 5}}", runs),
        app_with("small: {arguments: '100', expect: {runs: 6}}", runs),
    ]
    assert len({digest(app=app) for app in [LU, *apps]}) == len(apps) + 1


MANY = 1000


@contextmanager
def memory_up_to(limit_bytes: float) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit_bytes
    finally:
        tracemalloc.stop()


def numbered(word: str, count: int) -> list[str]:
    return [word % (number + 1) for number in range(count)]


def app(builds: int = MANY, sizes: int = MANY) -> bytes:
    """Return the file of an app with these numbers of builds and sizes."""
    lines = ["title: wide", "builds:"]
    lines += numbered("  v%d: {program: 'true', runtime: libgomp}", builds)
    lines += ["sizes:", *numbered("  s%d: {arguments: ''}", sizes)]
    return "\n".join([*lines, "schedules: [static, dynamic]", ""]).encode()


def wide(builds: int, sizes: int, threads: int, schedules: int, *lines: str) -> str:
    """Return a study with these numbers of each."""
    kinds = ", ".join(numbered("'dynamic,%d'", schedules))
    return study_with(
        "app: wide",
        f"builds: [{', '.join(numbered('v%d', builds))}]",
        f"sizes: [{', '.join(numbered('s%d', sizes))}]",
        f"threads: [{', '.join(numbered('%d', threads))}]\n    schedules: [{kinds}]",
        *lines,
    )


@pytest.mark.parametrize(
    ("counts", "lines", "amount", "most"),
    [
        # Two mappings of each; warm-up runs, the highest number of repetitions and mappings of a
        # guest's CPUs count.
        ((MANY, MANY, MANY, MANY), (), "2000000000000 cases", 100_000),
        ((1, 10, 10, 10), ("repetitions: 1", "warmup: 1000"), "2002000 runs", 1_000_000),
        ((1, 1, 100, 1), ("repetitions: 10000",), "2000200 runs", 1_000_000),
        (
            (1, 1, 100, 1),
            ("repetitions: {decide: {first: 5, max: 10000}}",),
            "2000200 runs",
            1_000_000,
        ),
        ((1, 1, 100, 1), ("repetitions: 10000", GUEST), "4000400 runs", 1_000_000),
    ],
)
def test_lists_that_multiply_beyond_all_measure_are_refused_in_a_line(
    counts: tuple[int, int, int, int], lines: tuple[str, ...], amount: str, most: int
) -> None:
    with memory_up_to(64e6):
        (problem,) = mistakes(wide(*counts, *lines), {"wide": app()})
    included = ", warm-up runs included" if "runs" in amount else ""
    assert problem == f"1:1: the study asks for {amount}{included}; expected at most {most}"


def test_as_many_cases_as_there_may_be_are_a_study() -> None:
    study = study_of(wide(1, MANY, 50, 1, "repetitions: 1", "warmup: 0"), {"wide": app()})

    assert len(study.apps[0].sizes) * len(study.apps[0].threads) * len(study.mappings) == 100_000


def test_the_digest_of_entries_that_share_a_large_app_copies_it_once() -> None:
    study = study_of(wide(1, 1, 1, 1), {"wide": app(200, 200)})

    with memory_up_to(16e6):
        study_digest(replace(study, apps=study.apps * MANY))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *(("turbo: on", "turbo on"), ("turbo: YES", "turbo on"), ("turbo: False", "turbo off")),
        *(("turbo: 'off'", "turbo off"), ("power_limit: 65.0 W", "PL1 65 W")),
        *(("power_limit: 35W", "PL1 35 W"), ("max_frequency: base", "max base")),
        *((f"max_frequency: {same}", "max 2.4 GHz") for same in ("2.4 GHz", "2400MHz")),
        ("max_frequency: 800000 kHz", "max 0.8 GHz"),
    ],
)
def test_a_setting_has_the_same_words_however_it_is_written(text: str, words: str) -> None:
    assert combinations(f"settings: {{{text}}}") == [words]


def test_words_of_settings_have_their_values_in_one_unit() -> None:
    assert (frequency_khz("2.4 GHz"), frequency_khz("base"), power_w("65 W")) == (
        *(2_400_000, None),
        65.0,
    )
    asked = {"sched_ext": "scx_lavd", "turbo": "off", "max_frequency": "2.4 GHz", "epp": "power"}
    assert recorded_words({"settings": asked}) == "EPP power, max 2.4 GHz, turbo off, scx_lavd"
    assert recorded_words({"governor": "performance"}) == ""
    # One that only another version knows is named.
    unknown = {"uncore_frequency": "2 GHz", "itmt": "on"}
    assert settings_in_words(unknown) == "ITMT on, uncore_frequency 2 GHz"


def combinations(*lines: str) -> list[str]:
    """Return in words the combinations of a study with these lines."""
    return [settings.words for settings in study_of(study_with(*lines)).other_settings]


@given(
    st.text(max_size=60) | st.from_regex(r"scx_[a-z]{1,4}( [-a-z=/.]{1,8}){0,3}", fullmatch=True)
)
def test_what_is_accepted_has_the_same_words_for_a_shell(text: str) -> None:
    try:
        accepted = decode(Scheduler, text)
    except InvalidError:
        return
    assert shlex.split(accepted) == accepted.split(" ")
    assert decode(Scheduler, accepted) == accepted
    program = program_of(accepted)
    assert accepted in ("current", "kernel") or (program and program.startswith("scx_"))


def test_a_study_has_every_combination_the_first_values_first() -> None:
    assert combinations("settings: {sched_ext: [kernel, scx_lavd  --fast], itmt: [off, true]}") == [
        "ITMT off, kernel",
        "ITMT off, scx_lavd --fast",
        "ITMT on, kernel",
        "ITMT on, scx_lavd --fast",
    ]
    assert combinations("settings: {epp: [current, power]}") == ["", "EPP power"]
    assert combinations() == [""]


def test_the_governors_of_either_key_are_those_of_the_study() -> None:
    in_settings = study_of(study_with("governors", "settings: {governor: [powersave], epp: power}"))
    assert in_settings.all_governors == ("powersave",)
    assert [settings.words for settings in in_settings.other_settings] == ["EPP power"]
    beside = study_of(study_with("governors: performance", "settings: {epp: power}"))
    assert beside.all_governors == ("performance",)


def test_every_setting_has_words_of_its_own() -> None:
    words = [settings_of(**{name: "x"}).words for name in NAMES]
    assert len(set(words)) == len(words)
    assert all("x" in text for text in words)


OTHER = "app: lu, build: libgomp, size: small, threads: 2, mapping: pcores-pin"


def with_co_runners(text: str, *lines: str) -> str:
    return study_with(f"co_runners: {text}", *lines)


def test_co_runners_are_a_list_in_which_none_is_a_program_alone() -> None:
    study = study_of(with_co_runners(f"[none, {{{OTHER}}}]"))
    assert study.co_runners
    alone, other = study.co_runners
    assert alone is None
    assert other
    assert (other.app.name, other.build.name, other.size.name) == ("lu", "libgomp", "small")
    assert (other.threads, other.mapping.name) == (2, "pcores-pin")
    assert study.all_co_runners == (other,)
    # A single one needs no list, and may have a mapping of its own.
    (other,) = study_of(with_co_runners(f"{{{OTHER.replace('pcores-pin', MINE)}}}")).all_co_runners
    assert (other.mapping.selection, other.mapping.binding) == ("ecores", "set")
    assert study_of(study_with()).co_runners is None


MINE = "{name: mine, selection: ecores, binding: set}"
INCOMPLETE = "{app: lu, build: libgomp, size: small}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing", "co-runner 'nothing' is not known"),
        (INCOMPLETE, "'threads' is missing"),
        (INCOMPLETE, "'mapping' is missing"),
        (f"{{{OTHER.replace('libgomp', 'libgom')}}}", "build 'libgom' is not known to app 'lu'"),
        (f"{{{OTHER.replace('small', 'tiny')}}}", "size 'tiny' is not known to app 'lu'"),
        (f"{{{OTHER.replace('pcores-pin', 'pcore')}}}", "mapping 'pcore' is not known"),
        (f"{{{OTHER.replace('lu', 'lv', 1)}}}", "'lv'"),
        (f"{{{OTHER.replace('libgomp', 'serial')}}}", "build 'serial' runs one thread"),
        (f"{{{OTHER}, ranks: 2}}", "key 'ranks' is not known here"),
        (f"[{{{OTHER}}}, {{{OTHER}}}]", "is repeated"),
        ("[none, none]", "'none' is repeated"),
        # Mappings that are written out under one name would be one in tables.
        (
            f"[{{{OTHER.replace('pcores-pin', MINE)}}}, "
            f"{{{OTHER.replace('pcores-pin', MINE.replace('set', 'pin'))}}}]",
            "co-runner 'lu libgomp small 2 mine' is repeated",
        ),
        (f"{{{OTHER}}}\n{GUEST}", "co-runners run on the node itself; write engine: local"),
    ],
)
def test_a_mistake_in_co_runners_is_told(text: str, message: str) -> None:
    found = mistakes(with_co_runners(text))
    assert any(message in line for line in found), found


def test_places_are_written_as_openmp_reads_them() -> None:
    # A CPU of two pinned threads occurs twice, in a set once.
    assert places_of("pin", (3, 3, 5, 5)) == "{3},{3},{5},{5}"
    assert places_of("set", (9, 8, 9)) == "{8,9}"
    assert listed_places([]) == ""
