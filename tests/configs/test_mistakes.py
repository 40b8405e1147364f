"""Messages for files with mistakes: each with its place and the valid values."""

from __future__ import annotations

import pytest

from tests.configs.shelves import (
    LU,
    RATED,
    STUDY,
    app_with,
    mistakes,
    mistakes_of_app,
    mistakes_of_site,
    site_with,
    study_with,
    table_of_mistakes,
)
from tests.configs.test_study import INLINE


@pytest.mark.parametrize(("lines", "messages"), table_of_mistakes("study"))
def test_a_mistake_in_a_study_is_explained_where_it_stands(lines: list[str], messages: str) -> None:
    assert " & ".join(mistakes(study_with(*lines), {"lu": RATED})) == messages


@pytest.mark.parametrize(("lines", "messages"), table_of_mistakes("app"))
def test_a_mistake_in_an_app_is_explained_where_it_stands(lines: list[str], messages: str) -> None:
    assert " & ".join(mistakes_of_app(app_with(*lines, base=RATED))) == messages


@pytest.mark.parametrize(("lines", "messages"), table_of_mistakes("site"))
def test_a_mistake_in_a_site_is_explained_where_it_stands(lines: list[str], messages: str) -> None:
    assert " & ".join(mistakes_of_site(site_with(*lines))) == messages


@pytest.mark.parametrize(
    "number", ["010", "0o10", "0x10", "1_0", "1:30", "1e1", "10.0", "+10", "\u0663"]
)
def test_a_number_that_yaml_may_read_otherwise_is_refused(number: str) -> None:
    (problem,) = mistakes(study_with(f"repetitions: {number}"))
    assert problem.startswith(f"9:14: {number!r} is not how often a case is run")


def test_keys_of_a_study_that_is_not_read_to_its_end_are_not_called_missing() -> None:
    assert mistakes(f"{STUDY}\tseed: 1\n") == ["11:1: indent with spaces; YAML takes no tabs"]


@pytest.mark.parametrize("argument", ["\\0", "\\ud800", "\\udcff"])
def test_an_argument_that_no_program_can_be_given_is_refused(argument: str) -> None:
    for arguments in (f'["{argument}"]', f'"{argument}"'):
        app = LU.replace(b"'100'", arguments.encode())

        assert "is not" in " ".join(mistakes(STUDY, {"lu": app}))


def test_a_study_and_its_mappings_leave_the_thread_count_to_the_app() -> None:
    app = {"lu": app_with("threads_by: X_THREADS")}
    own = "{name: m, selection: pcores, binding: pin, variables: {X_THREADS: 4}}"
    has = "X_THREADS has the thread count; say how many in 'threads'"

    assert mistakes(study_with("variables: {X_THREADS: 4}"), app) == [f"11:13: {has}"]
    for line, place in (
        (f"mappings: [{own}]", "7:12"),
        (f"threads: 1\n    mappings: {own}", "7:15"),
    ):
        text = study_with(line) if line.startswith("map") else study_with(line, "mappings")
        assert mistakes(text, app) == [f"{place}: mapping 'm': {has}"]


def test_what_a_guest_has_done_is_checked_by_no_command() -> None:
    guest = ("engine: vm", "vm: {cpus: 2, memory: 1 GiB}", "vcpu_mapping: unpinned")
    checked = {"lu": app_with("check: {pattern: ^done, command: ./verify.sh}")}
    message = (
        "app 'lu' is checked by a command, which is not run for guests; write engine: local, or a "
        "check without command"
    )

    assert mistakes(study_with(*guest), checked) == [f"3:10: {message}"]
    assert mistakes(STUDY, checked) == []
    assert mistakes(study_with(*guest), {"lu": app_with("check: {pattern: ^done}")}) == []
    written_out = INLINE.replace("check: {pattern: Solution Validates}", "check: {command: ./v.sh}")
    text = study_with(*guest).replace("mappings:", f"{written_out}mappings:", 1)
    assert mistakes(text) == [f"14:24: {message.replace('lu', 'stream')}"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: stream", "name: lu", "8:7: another app is already named 'lu'"),
        ("      name: stream\n", "", "8:7: 'name' is missing; expected the app's name"),
    ],
)
def test_an_app_that_a_study_writes_out_has_a_name_of_its_own(
    old: str, new: str, message: str
) -> None:
    text = STUDY.replace("mappings:", f"{INLINE.replace(old, new)}mappings:")
    assert mistakes(text) == [message]


def test_all_mistakes_are_reported_in_the_order_of_the_file() -> None:
    text = """\
titel: A study
apps:
  - app: lu
    builds: [seriel]
    sizes: [small, [large]]
    threads: [1, two]
  - app: ul2
    builds: serial
    sizes: small
    threads: 1
mappings: [pcores-pni]
governors: [performance]
governors: [powersave]
repetitions: 0
wait_policy: *policy
"""
    assert [line.split(": ")[0] for line in mistakes(text)] == [
        "1:1", "1:1", "4:14", "5:20", "6:18", "7:10", "11:12", "13:1", "14:14", "15:14",
    ]  # fmt: skip


def test_mistakes_in_an_apps_file_are_reported_with_those_of_the_study() -> None:
    broken = b"title: B\nbuilds: {a: {program: b, runtime: gomp}}\nsizes: {s: {arguments: ''}}\n"
    entry = "\n  - {app: broken, builds: a, sizes: s, threads: %s}"
    text = study_with(f"threads: 1{entry % 1}{entry % 2}", "builds: [seriel]")

    lines = mistakes(text, {"broken": broken})

    assert [line.split(": ")[0] for line in lines] == ["apps/broken.yaml:2:35", "4:14"]
    assert "OpenMP runtime 'gomp' is not known; did you mean 'libgomp'?" in lines[0]


@pytest.mark.parametrize("text", ["- a\n- b\n", "just words\n", "42\n"])
def test_a_file_that_is_no_table_is_refused_with_the_known_keys(text: str) -> None:
    (problem,) = mistakes(text)

    assert problem.startswith("1:1: expected keys and values; known keys: name, title, ")


def test_guests_have_no_traces() -> None:
    guest = ("engine: vm", "vm: {cpus: 2, memory: 1 GiB}", "vcpu_mapping: unpinned")
    (mistake,) = mistakes(study_with(*guest, "collect: [perf, trace]"))
    assert mistake.endswith("threads in guests have no traces; write engine: local")


def test_ranks_are_started_on_the_node_by_what_the_build_says() -> None:
    mpi = {"lu": app_with("libgomp: {program: lu-mpi, runtime: libgomp, mpi: openmpi}")}
    entry = "threads: 1\n    ranks: [1, 2]"
    of_kind = "mappings: [{name: m, selection: cores, binding: pin, ranks_by: kind}]"
    text = study_with(entry, of_kind, "builds: [libgomp]")

    assert mistakes(text, mpi) == []
    guest = ("engine: vm", "vm: {cpus: 2, memory: 1 GiB}", "vcpu_mapping: unpinned")
    assert mistakes(study_with(*guest, base=text), mpi) == [
        "7:12: ranks are started on the node itself; write engine: local"
    ]
    again = study_with(
        "ranks: [2]\n  - {app: lu, builds: libgomp, sizes: small, threads: 1, ranks: [2, 4]}",
        base=text,
    )
    assert mistakes(again, mpi) == [
        "8:5: asks again for what an entry before it asks for: lu libgomp small 2 1"
    ]


def test_files_that_a_program_writes_are_read_on_the_node_alone() -> None:
    writes = {"lu": app_with("writes: result-*.txt")}
    guest = ("engine: vm", "vm: {cpus: 2, memory: 1 GiB}", "vcpu_mapping: unpinned")

    assert mistakes(STUDY, writes) == []
    assert mistakes(study_with(*guest), writes) == [
        "3:10: app 'lu' writes files, which are not read in guests; engine: local"
    ]
    assert mistakes(STUDY, {"lu": app_with("writes: out/result.txt")}) == [
        "apps/lu.yaml:11:9: 'out/result.txt' is not the name of a file, or a pattern such as "
        "result-*.txt: no slashes"
    ]
