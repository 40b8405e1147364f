"""Studies: what they become, and what a user is told about every mistake."""

from __future__ import annotations

import pytest

from configs.mapping import Mapping
from tests.configs.shelves import STUDY, mistakes, study_of


def changed(old: str, new: str) -> str:
    assert old in STUDY
    return STUDY.replace(old, new)


def test_a_study_holds_the_apps_and_mappings_it_names() -> None:
    study = study_of(changed("[serial]", "[libgomp]").replace("[1]", "[1, 2, 8]"))

    (choice,) = study.apps
    assert study.name == "x"
    assert (choice.app.name, choice.variants[0].runtime) == ("lu", "libgomp")
    assert choice.sizes[0].arguments == ("100",)
    assert choice.threads == (1, 2, 8)
    assert [mapping.name for mapping in study.mappings] == ["scheduler", "pcores-pin"]
    assert (study.governors, study.repetitions) == (("performance",), 10)
    assert study.wait_policies == ("passive",)


def test_a_single_value_stands_for_a_list_of_one() -> None:
    assert study_of(changed("[1]", "1").replace("[small]", "small")) == study_of(STUDY)


def test_a_study_may_define_a_mapping_where_it_uses_it() -> None:
    text = changed(
        "[scheduler,", "[{name: mine, selection: mixed, binding: pin, mechanism: likwid-pin},"
    )

    assert study_of(text).mappings[0] == Mapping("mine", "mixed", "pin", "likwid-pin")


INLINE = """\
  - app:
      name: stream
      title: Stream
      variants: {gcc: {program: ./stream.sh, runtime: libgomp}}
      sizes: {only: {arguments: [], estimate: 2 s}}
      arguments: [--verbose, '{size}']
      metrics: {triad: {pattern: 'Triad: *([0-9.]+)', unit: MB/s}}
      check: {pattern: Solution Validates}
      limit: 1 min
    variants: gcc
    sizes: only
    threads: 1
"""


def test_a_study_may_define_an_app_where_it_uses_it() -> None:
    app = study_of(changed("mappings:", INLINE + "mappings:")).apps[1].app

    assert (app.name, app.limit_s, app.arguments) == ("stream", 60.0, ("--verbose", "{size}"))
    assert app.metrics[0].pattern == "Triad: *([0-9.]+)"
    assert app.check.pattern == "Solution Validates"


EVENT_EXPECTED = "expected a name of 'perf list', such as branch-misses or cpu_core/cycles/"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "pcores-pin]",
            "pcores-pni]",
            (
                "x.yaml:7:23: mapping 'pcores-pni' is not known; did you mean 'pcores-pin'? "
                "(known: scheduler, pcores-set, pcores-pin)"
            ),
        ),
        ("app: lu", "app: ul2", "x.yaml:3:10: app 'ul2' is not known (known: lu)"),
        (
            "[serial]",
            "[seriel]",
            (
                "x.yaml:4:16: variant 'seriel' is not known to app 'lu'; did you mean 'serial'? "
                "(known: serial, libgomp)"
            ),
        ),
        (
            "[small]",
            "[smal]",
            (
                "x.yaml:5:13: size 'smal' is not known to app 'lu'; did you mean 'small'? "
                "(known: small, large)"
            ),
        ),
        ("[1]", "[0]", ("x.yaml:6:15: '0' is not a thread count: a whole number from 1 to 4096")),
        (
            "[1]",
            "[1, 4097]",
            ("x.yaml:6:18: '4097' is not a thread count: a whole number from 1 to 4096"),
        ),
        ("[1]", "[1, 1]", "x.yaml:6:18: '1' is repeated"),
        (
            "[1]",
            "[]",
            (
                "x.yaml:6:14: the list is empty; expected a thread count: a whole number "
                "from 1 to 4096"
            ),
        ),
        (
            "[1]",
            "[2]",
            (
                "x.yaml:6:14: variant 'serial' runs one thread; ask for it in an entry of its own, "
                "with threads 1"
            ),
        ),
        (
            "    threads: [1]\n",
            "    treads: [1]\n    threads: [1]\n",
            (
                "x.yaml:6:5: key 'treads' is not known here; did you mean 'threads'? "
                "(known: app, variants, sizes, threads, schedules, mappings, oversubscribe)"
            ),
        ),
        (
            "governors: [performance]",
            "governors: perfomance",
            (
                "x.yaml:8:12: governor 'perfomance' is not known; did you mean 'performance'? "
                "(known: current, performance, powersave, schedutil, ondemand, conservative)"
            ),
        ),
        (
            "passive",
            "off",
            (
                "x.yaml:10:14: wait policy 'off' is not known "
                "(known: active, passive, runtime-default)"
            ),
        ),
        (
            "repetitions: 10",
            "repetitions: 1_0",
            ("x.yaml:9:14: '1_0' is not how often a case is run: a whole number from 1 to 10000"),
        ),
        (
            "repetitions: 10\n",
            "repetitions:\n",
            (
                "x.yaml:9:13: 'repetitions' is empty; "
                "expected how often a case is run: a whole number from 1 to 10000, "
                "or a table with the keys min, max and until"
            ),
        ),
        (
            "repetitions: 10\n",
            "",
            (
                "x.yaml:1:1: 'repetitions' is missing; "
                "expected how often a case is run: a whole number from 1 to 10000, "
                "or a table with the keys min, max and until"
            ),
        ),
        (
            "title: A study",
            "title: A study\nname: other",
            ("x.yaml:2:7: study 'other' stands in a file named 'x'; name both alike"),
        ),
        ("[scheduler, ", "[scheduler, scheduler, ", "x.yaml:7:23: 'scheduler' is repeated"),
        (
            "[1]",
            "1\n    schedules: guided",
            ("x.yaml:7:16: schedule 'guided' is not known to app 'lu' (known: static, dynamic)"),
        ),
        (
            "[1]",
            "1\n    schedules: [static,1]",
            ("x.yaml:7:24: '1' is not a schedule; put one with a chunk in quotes: 'static,1'"),
        ),
        (
            "wait_policy:",
            "events: ['cycles,instructions']\nwait_policy:",
            ("x.yaml:10:10: 'cycles,instructions' is not an event; " + EVENT_EXPECTED),
        ),
        (
            "wait_policy:",
            "events: [cpu_core/cycles/, -a]\nwait_policy:",
            ("x.yaml:10:28: '-a' is not an event; " + EVENT_EXPECTED),
        ),
    ],
)
def test_a_mistake_has_its_place_its_value_and_what_is_allowed(
    old: str, new: str, said: str
) -> None:
    assert mistakes(changed(old, new)) == [said]


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ("{name: m, selection: pcores, binding: none}", "use selection 'all', or binding"),
        ("{name: m, selection: all, binding: none, mechanism: taskset}", "leave 'taskset' out"),
        (
            "{name: m, selection: all, binding: set, mechanism: likwid-pin}",
            "'likwid-pin' cannot express 'set'; use one of: taskset, numactl, omp-places",
        ),
        ("{name: m, selection: pcors, binding: set}", "did you mean 'pcores'?"),
        ("{selection: pcores, binding: set}", "'name' is missing; expected a mapping's name"),
        ("{name: ../m, selection: pcores, binding: set}", "'../m' is not a mapping's name"),
        ("{name: scheduler, selection: pcores, binding: set}", "'scheduler' is repeated"),
    ],
)
def test_a_mapping_that_contradicts_itself_is_refused(mapping: str, said: str) -> None:
    (problem,) = mistakes(changed("pcores-pin]", f"{mapping}]"))

    assert problem.startswith("x.yaml:7:")
    assert said in problem


@pytest.mark.parametrize("mechanism", ["taskset", "numactl"])
def test_one_mask_can_pin_one_thread_only(mechanism: str) -> None:
    text = changed(
        "pcores-pin]", f"{{name: m, selection: pcores, binding: pin, mechanism: {mechanism}}}]"
    )
    with_two = text.replace("[serial]", "[libgomp]").replace("[1]", "[2]")

    assert mistakes(text) == []
    (problem,) = mistakes(with_two)
    assert problem.startswith(f"x.yaml:7:23: {mechanism} sets one mask for all threads")


def test_asking_twice_for_the_same_case_is_a_mistake() -> None:
    again = "  - {app: lu, variants: [libgomp, serial], sizes: small, threads: 1}\n"

    assert mistakes(changed("mappings:", again + "mappings:")) == [
        "x.yaml:7:5: asks again for what an entry before it asks for: lu serial small 1"
    ]


def test_two_apps_of_one_name_are_a_mistake() -> None:
    text = changed("mappings:", INLINE.replace("name: stream", "name: lu") + "mappings:")

    assert mistakes(text) == ["x.yaml:8:7: another app is already named 'lu'"]


def test_an_app_without_a_name_is_a_mistake() -> None:
    (problem,) = mistakes(
        changed("mappings:", INLINE.replace("      name: stream\n", "") + "mappings:")
    )

    assert problem == "x.yaml:8:7: 'name' is missing; expected the app's name"


def test_a_study_beyond_all_measure_is_refused() -> None:
    text = changed("[serial]", "[libgomp]").replace("repetitions: 10", "repetitions: 10000")
    threads = ", ".join(str(count) for count in range(1, 101))

    assert mistakes(text.replace("[1]", f"[{threads}]")) == [
        "x.yaml:1:1: the study asks for 2000200 runs, warm-up runs included; "
        "expected at most 1000000"
    ]


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    text = """\
titel: A study
apps:
  - app: lu
    variants: [seriel]
    sizes: [small, [large]]
    threads: [1, two]
  - app: ul2
    variants: serial
    sizes: small
    threads: 1
mappings: [pcores-pni]
governors: [performance]
governors: [powersave]
repetitions: 0
wait_policy: *policy
"""

    places = [line.split(": ")[0] for line in mistakes(text)]

    assert places == [
        "x.yaml:1:1", "x.yaml:1:1", "x.yaml:4:16", "x.yaml:5:20", "x.yaml:6:18", "x.yaml:7:10",
        "x.yaml:11:12", "x.yaml:13:1", "x.yaml:14:14", "x.yaml:15:14",
    ]  # fmt: skip


def test_mistakes_in_an_app_s_file_are_told_with_those_of_the_study() -> None:
    broken = b"title: B\nvariants: {a: {program: b, runtime: gomp}}\nsizes: {s: {arguments: ''}}\n"
    entry = "  - {app: broken, variants: a, sizes: s, threads: 1}\n"
    entries = entry + entry.replace("threads: 1", "threads: 2")
    text = changed("mappings:", entries + "mappings:").replace("[serial]", "[seriel]")

    lines = mistakes(text, {"broken": broken})

    assert [line.split(": ")[0] for line in lines] == ["apps/broken.yaml:2:37", "x.yaml:4:16"]
    assert "OpenMP runtime 'gomp' is not known; did you mean 'libgomp'?" in lines[0]


@pytest.mark.parametrize("text", ["- a\n- b\n", "just words\n", "42\n"])
def test_a_file_that_is_no_table_of_keys_is_told_which_keys_there_are(text: str) -> None:
    (problem,) = mistakes(text)

    assert problem.startswith("x.yaml:1:1: expected keys and values; known keys: name, title, ")


def test_an_entry_may_have_mappings_of_its_own() -> None:
    another = "  - {app: lu, variants: libgomp, sizes: small, threads: 2}\n"
    study = study_of(changed("[1]\n", f"[1]\n    mappings: scheduler\n{another}"))

    first, second = study.apps
    assert [mapping.name for mapping in first.mappings or ()] == ["scheduler"]
    assert second.mappings is None
    assert [mapping.name for mapping in study.mappings] == ["scheduler", "pcores-pin"]


def test_mappings_are_needed_once_and_not_twice() -> None:
    own = changed("    threads: [1]\n", "    threads: [1]\n    mappings: scheduler\n")

    assert mistakes(own) == ["x.yaml:8:11: every entry of 'apps' has mappings of its own"]
    assert not mistakes(own.replace("mappings: [scheduler, pcores-pin]\n", ""))
    wrong = own.replace("mappings: scheduler", "mappings: shceduler")
    assert mistakes(wrong.replace("mappings: [scheduler, pcores-pin]\n", "")) == [
        (
            "x.yaml:7:15: mapping 'shceduler' is not known; did you mean 'scheduler'? "
            "(known: scheduler, pcores-set, pcores-pin)"
        )
    ]


def test_latency_is_measured_of_pairs_of_the_node_s_cpus() -> None:
    assert study_of(STUDY + "latency: representative\n").latency == "representative"
    assert study_of(STUDY).latency is None
    assert "pairs of CPUs 'some' is not known" in mistakes(STUDY + "latency: some\n")[0]


def test_contended_cache_lines_are_looked_for_only_when_they_are_asked_for() -> None:
    assert study_of(STUDY).collect == ("perf", "energy")
    assert study_of(STUDY + "collect: [perf, c2c]\n").collect == ("perf", "c2c")


def test_more_threads_than_cpus_are_asked_for_by_name() -> None:
    (choice,) = study_of(changed("[1]\n", "[1]\n    oversubscribe: yes\n")).apps

    assert choice.oversubscribe
