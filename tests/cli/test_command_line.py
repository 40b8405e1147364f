"""The command line: its commands, lists, JSON, options, mistakes, and what its start costs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.analysis.published import publication
from pinstudy.cli.main import COMMANDS, GROUPS, group
from pinstudy.cli.options import warn_of_options
from pinstudy.configs.library import list_studies, load_study
from pinstudy.runners.study.machine import open_machine
from tests.support.cli import pinstudy, pinstudy_without
from tests.support.results import Study, record, spoilt, write
from tests.support.studies import write_app, write_study
from tests.support.tools import ROOT
from tests.support.trees import build_tree


@pytest.mark.parametrize(
    ("error", "line"),
    [
        ("MemoryError", "pinstudy: there is not enough memory (`ulimit -v` shows a limit)\n"),
        (
            "OSError(12, 'Cannot allocate memory', '/a/b.py')",
            "pinstudy: cannot start: /a/b.py: Cannot allocate memory\n",
        ),
    ],
)
def test_too_little_memory_for_the_start_is_told_in_one_line(
    tmp_path: Path, error: str, line: str
) -> None:
    tree = tmp_path / "pinstudy"
    tree.mkdir()
    shutil.copy(ROOT / "pinstudy" / "__main__.py", tree)
    (tree / "cli").mkdir()
    (tree / "cli" / "main.py").write_text(f"raise {error}\n")
    # -S: what set-up has installed in the environment would come first.
    command = [sys.executable, "-S", str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, line)


# SciPy 1.15, the newest for Python 3.10, imports it by itself.
_NOT_BY_SCIPY = {"scipy.sparse.csgraph"} if sys.version_info >= (3, 11) else set()


@pytest.mark.parametrize(
    ("modules", "needed", "spared"),
    [
        (
            "pinstudy.analysis.tables.means, pinstudy.analysis.tables.short, "
            "pinstudy.analysis.format.table",
            "pandas",
            {
                "scipy",
                "matplotlib",
                "jinja2",
                "yaml",
                "pinstudy.configs.study",
                "pinstudy.runners.node.node",
            },
        ),
        (
            "pinstudy.analysis.report.page, pinstudy.analysis.figures.gallery",
            "scipy.special",
            {"scipy.stats", "scipy.optimize", *_NOT_BY_SCIPY},
        ),
        # Numerical libraries would leave threads in the process that measures.
        (
            "pinstudy.cli.live_grid, pinstudy.analysis.overview.text",
            "pinstudy.cli.live_grid",
            {"numpy", "scipy", "pandas"},
        ),
        ("pinstudy.configs.library", "pinstudy.configs.library", {"yaml", "hashlib"}),
    ],
)
def test_nothing_is_imported_that_takes_long_and_is_not_needed(
    modules: str, needed: str, spared: set[str]
) -> None:
    code = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    imported = set(done.stdout.split())
    assert needed in imported
    assert not spared & imported


def test_the_apps_beside_a_study_are_listed_and_one_is_checked(tmp_path: Path) -> None:
    (tmp_path / "apps").mkdir()
    builds = "builds: {serial: {program: ./mine, runtime: none}}"
    check = "check: {command: [./verify]}"
    own = f"title: Mine\n{builds}\n{check}\nsizes: {{a: {{arguments: ''}}}}\n"
    (tmp_path / "apps" / "mine.yaml").write_text(own)
    listed = pinstudy(tmp_path, "apps", ".").stdout
    assert listed.startswith("mine: Mine\n")
    assert "./mine was not found" in listed
    assert "./verify was not found" in listed
    assert "\nlulesh: " in listed
    checked = pinstudy(tmp_path, "apps", "apps/mine.yaml")
    assert checked.stdout.endswith("apps/mine.yaml: no mistakes\n")
    assert "lulesh" not in checked.stdout
    (tmp_path / "apps" / "mine.yaml").write_text(own.replace("runtime", "rumtime"))
    wrong = pinstudy(tmp_path, "apps", "apps/mine.yaml", status=2)
    assert "apps/mine.yaml:2:" in wrong.stderr


def leaves(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield path.strip(), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        if (inner := command.get_command(context, name)) is not None:
            yield from leaves(inner, f"{path} {name}")


def test_every_command_prints_json_when_asked_to() -> None:
    options = {name: [word for option in made.params for word in option.opts]
               for name, made in leaves(group)}  # fmt: skip
    assert [name for name, words in options.items() if "--json" not in words] == []


def shown(folder: Path, *arguments: str) -> Any:  # noqa: ANN401 - as json.loads
    return json.loads(pinstudy(folder, *arguments, "--json", status=0).stdout)


def test_a_study_tells_where_its_results_are(tmp_path: Path) -> None:
    write_app(tmp_path, "nothing", "/bin/true", {"only": {"arguments": []}})
    write_study(tmp_path, "nothings", "nothing", "only", repetitions=2)

    outcome = shown(tmp_path, "run", "nothings.yaml")

    assert (outcome["study"], outcome["runs"], outcome["runs_left"]) == ("nothings", 2, 0)
    assert (tmp_path / outcome["results"] / "records").is_dir()
    assert {Path(file).name for file in outcome["files"]} >= {"tables.md", "tables.csv"}
    assert all((tmp_path / file).exists() for file in outcome["files"])


def test_what_is_written_of_results_is_named(tmp_path: Path) -> None:
    write(tmp_path / "done", Study(time={"unpinned": 1.0, "pcores-pin": 2.0}).records())
    (report,) = shown(tmp_path, "report", "done")
    assert report["results"] == "done" and (tmp_path / report["report"]).exists()
    (figures,) = shown(tmp_path, "figures", "done", "--formats", "svg")
    assert figures["files"] and all((tmp_path / file).exists() for file in figures["files"])
    assert all(line.startswith("not drawn: ") for line in figures["not_drawn"])
    card = shown(tmp_path, "card", "done")
    assert (tmp_path / card["card"]).stat().st_size == card["bytes"]
    rows = shown(tmp_path, "runs", "done")
    assert {row["mapping"] for row in rows} == {"unpinned", "pcores-pin"}
    assert all(row["elapsed_s"] > 0 for row in rows)
    assert rows[0]["energy_dram_j"] is None


def test_imports_are_counted(tmp_path: Path) -> None:
    log = str(ROOT / "tests" / "data" / "perf_logs" / "three-runs.txt")
    case = ("--app", "sleep", "--threads", "1", "--mapping", "unpinned", "--output", "logs")
    assert shown(tmp_path, "import", "perf", log, *case) == {
        "results": "logs", "runs": 3, "averages": 0, "cases": 1,
    }  # fmt: skip
    means = str(publication("galante-2025").folder / "summaries.csv")
    assert shown(tmp_path, "import", "summaries", means, "--output", "means")["cases"] == 75


def test_studies_are_listed_with_their_cases_and_time_here(tmp_path: Path) -> None:
    tree = build_tree(tmp_path / "tree", "kvm-guest")
    rows = json.loads(
        pinstudy(tmp_path, "studies", "--sysroot", str(tree), "--json", status=0).stdout
    )
    machine = open_machine(tree, None)
    assert [row["name"] for row in rows] == [study.name for study in list_studies()]
    by_name = {row["name"]: row for row in rows}
    for name in ("quick", "paper"):
        plan = machine.plan(load_study(name))
        assert by_name[name]["cases"] == len(plan.cases)
        assert bool(by_name[name]["expected_s"]) == bool(plan.cases)
    assert any("governor" in reason for reason in by_name["paper"]["reasons"])

    shown = pinstudy(tmp_path, "studies", "--sysroot", str(tree), status=0).stdout
    (quick,) = (line for line in shown.splitlines() if line.split()[0] == "quick")
    assert str(by_name["quick"]["cases"]) in quick.split() and "A first look" in quick


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    far_apart = Study(time={"unpinned": 1.0, "pcores-pin": 2.0})
    write(folder / "clear" / "mynode", far_apart.records())
    write(folder / "lossy" / "mynode", spoilt(far_apart, "pcores-pin", {2, 3}, status="timeout"))
    write(folder / "broken" / "mynode", far_apart.records()).write_text("{\n")
    (folder / "latency" / "mynode").mkdir(parents=True)
    return tmp_path


def test_results_are_listed_with_runs_lost_runs_and_whether_they_decide(listed: Path) -> None:
    rows = json.loads(pinstudy(listed, "results", "--json", status=0).stdout)
    broken, clear, lossy = rows
    assert (clear["study"], clear["node"], clear["results"]) == (
        *("clear", "mynode"),
        "results/clear/mynode",
    )
    assert clear["decided"] is True and clear["lost"] == 0 < clear["runs"]
    assert lossy["lost"] == 2 and lossy["runs"] == clear["runs"]
    assert clear["day"] and not clear["problem"]
    assert broken["runs"] is None and "no run in its records" in broken["problem"]

    lines = pinstudy(listed, "results", status=0).stdout.splitlines()
    assert lines[0].split() == ["study", "node", "day", "runs", "lost", "outcome"]
    (line,) = (line.split() for line in lines if line.split()[0] == "clear")
    assert (line[1], line[-1]) == ("mynode", "decided")
    assert "tables results/broken/mynode` says why" in " ".join(" ".join(lines).split())


def test_where_no_results_are_it_says_what_makes_some(tmp_path: Path) -> None:
    done = pinstudy(tmp_path, "results", status=0)
    assert done.stdout == "" and "run quick" in done.stderr
    assert json.loads(pinstudy(tmp_path, "results", "--json", status=0).stdout) == []


def test_the_help_has_every_command_in_its_group(tmp_path: Path) -> None:
    shown = pinstudy(tmp_path, "--help", status=0).stdout
    titles = [line.rstrip(":") for line in shown.splitlines() if line[:1].isupper()]
    assert titles[-len(GROUPS) :] == list(GROUPS) == ["Study", "Results", "Node", "Batch"]
    for title, names in GROUPS.items():
        section = shown.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        first = [line.split()[0] for line in section.splitlines() if line[2:3].strip()]
        assert first == list(names)
    assert sum(map(len, GROUPS.values())) == len(COMMANDS)


PUBLISHED = "published:galante-2025"
GUEST = ("--sysroot", "kvm-guest")
LATENCY = ("latency", *GUEST)
LOG = ("import", "perf", "log.txt", "--output", "out", "--app", "a", "--threads", "1")
# Arguments, and a part of the message.
MISTAKES = [
    (("run", "no-such-study"), "no-such-study"),
    (("plna",), "plna"),
    (("plan",), "STUDY"),
    (("plan", "wrong.yaml"), "wrong.yaml:4:"),
    (("prove", *GUEST), "recorded node cannot be tested"),
    (("prove", "--only", "everything"), "caches"),
    (("demo", "--time-budget=soon"), "--time-budget"),
    (("demo", "--time-budget=-3 s"), "--time-budget"),
    (("run", "short.yaml", "--repetitions", "0"), "--repetitions 0: expected a number from 1 to"),
    (("run", "short.yaml", "--undecided", "--fresh"), "--undecided: continues results, and --fre"),
    (("run", "short.yaml", "--undecided", "--results", "elsewhere"), "no results here"),
    (("advise", "--", "./none"), "no such program"),
    (("advise", "--threads", "0", "true"), "--threads: '0' is not a thread count"),
    (("advise", "--sysroot", "/none", "true"), "add --plan"),
    (("plan", "short.yaml", "--kinds", "P=4095"), "4095"),
    (("run", "short.yaml", "--results", "/proc/nope"), "/proc/nope"),
    (("topology", "--sysroot", "nowhere"), "nowhere"),
    (("topology", "--kinds", "Q=0"), "Q"),
    (("doctor", "--sysroot", "several"), "several"),
    (("doctor", "--kinds", "Q=0"), "Q"),
    (("doctor", "--kinds", "P=4096"), "4096"),
    (("snapshot", "node.zip"), ".tar.gz"),
    (("snapshot", "node"), ".tar.gz"),
    (("snapshot", ".tar.gz"), ".tar.gz"),
    (("tables", "nowhere"), "no results here"),
    (("report", "/nowhere"), "no results here"),
    (("figures", "/nowhere"), "no results here"),
    *(((command, ""), "RESULTS is empty")
      for command in ("tables", "verdict", "report", "figures", "card")),
    (("compare", "mine", ""), "RESULTS is empty"),
    *(((*command, "--output", ""), "--output is empty, as an unset variable of the shell is")
      for command in (("report", "mine"), ("figures", "mine"), ("import", "summaries", "log.txt"))),
    (("plan", "short.yaml", "--results", ""), "--results is empty"),
    *(((command, "unused"), "there is no run in its records (2 lines of the records with")
      for command in ("tables", "verdict", "report", "figures", "card")),
    (("compare", "mine", "unused"), "unused: there is no run in its records"),
    (("compare", "mine", "mine", "unused"), "unused: there is no run in its records"),
    (("report", PUBLISHED), "--output"),
    (("figures", PUBLISHED, "--formats", "svgg"), "did you mean 'svg'"),
    (("figures", PUBLISHED, "--formats", ","), "names no format"),
    (("verdict", "none"), "no results here"),
    (("verdict", "mine", "--margin", "one"), "is not a percentage, such as 1%"),
    (("verdict", "mine", "--margin", "0%"), "not more than 0%"),
    (("verdict", "mine", "--baseline", "pcores"), "did you mean 'pcores-pin'"),
    (("card", "several"), "name one of them: several/n1, several/n2"),
    (("compare", "mine"), "mine has no two programs of one algorithm; name a second folder"),
    ((*LOG, "--mapping", "unpinned"), "pinstudy: log.txt:1:1: "),
    (("import", "perf", "log.txt", "--variant", "gcc"), "`--variant` is `--build` now"),
    (("advise", "--within=5m", "--", "true"), "`--within` is `--time-budget` now"),
    (("advise", "--limit", "5m", "--", "true"), "`--limit` is `--timeout` now"),
    (("figures", "mine", "--format", "svg"), "`--format` is `--formats` now"),
    *(((*command, "--into", "out"), "`--into` is `--output` now")
      for command in (("report", "mine"), ("figures", "mine"), ("card", "mine"), ("latency",),
                      ("import", "perf", "log.txt"), ("import", "summaries", "log.txt"))),
    ((*LATENCY, "--cpus", "0"), "expected two or more of CPUs 0-1"),
    ((*LATENCY, "--cpus", "0,7"), "expected two or more of CPUs 0-1"),
    ((*LATENCY, "--cpus", "a"), "--cpus"),
    ((*LATENCY, "--pairs", "some"), "pairs"),
    ((*LATENCY, "--pairs", "0:0"), "0:0"),
    ((*LATENCY, "--pairs", "0:9"), "CPU 9"),
    ((*LATENCY, "--precision", "much"), "--precision: 'much' is not a percentage"),
    ((*LATENCY, "--precision", "0%"), "--precision"),
    ((*LATENCY, "--from", "nowhere.json"), "nowhere.json"),
    ((*LATENCY, "--from", "x.json", "--pairs", "all"), "--from"),
]  # fmt: skip
# Arguments that name the mapping `unpinned` by its old name.
OLD_NAME = "the mapping `scheduler` is `unpinned` now"
OLD_NAMES = [
    ("plan", "old.yaml"),
    ("plan", "short.yaml", "--mappings", "scheduler"),
    ("plan", "short.yaml", "--only", "scheduler"),
    ("plan", "short.yaml", "--exclude", "mapping=scheduler"),
    ("verdict", "mine", "--baseline", "scheduler"),
    (*LOG, "--mapping", "scheduler"),
    ("import", "summaries", "old.csv", "--output", "out"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with results, with records that cannot be used, a study, and a guest's tree."""
    folder = tmp_path_factory.mktemp("mistakes")
    build_tree(folder, "kvm-guest")
    records = Study({"unpinned": 1.0, "pcores-pin": 0.9}).records()
    for results in ("mine", "several/n1", "several/n2"):
        write(folder / results, records)
    write(folder / "unused", [record(number, repetition=0) for number in (1, 2)])
    write_app(folder, "nap", "/bin/sleep", {"short": {"arguments": "0.02"}})
    write_study(folder, "short", "nap", "short")
    study = (folder / "short.yaml").read_text()
    (folder / "old.yaml").write_text(study.replace("unpinned", "scheduler"))
    (folder / "old.csv").write_text("app,threads,mapping,elapsed_mean_s\na,1,scheduler,1\n")
    write_study(folder, "wrong", "nap", "shrot", mappings=["pcores-pni"], repetitions="many")
    (folder / "log.txt").write_text("no log\n")
    (folder / "file").touch()
    return folder


@click.command("advise", context_settings={"allow_interspersed_args": False})
@click.option("--time-budget")
@click.option("--threads")
@click.option("--plan", is_flag=True)
@click.option("--report/--no-report")
def command() -> None:
    """Stand for a command with a program."""


def warned(typed: str, program: str) -> str:
    return warn_of_options(command, [*typed.split(), *program.split()], program.split())


@pytest.mark.parametrize(
    ("typed", "program", "meant"),
    [
        ("--", "./app --time-budget 5m", "--time-budget 5m -- ./app"),
        ("", "./app --threads 4", "--threads 4 -- ./app"),
        ("", "./app 100 --threads=4 x", "--threads=4 -- ./app 100 x"),
        ("--plan --", "./app --no-report 7", "--plan --no-report -- ./app 7"),
        ("--plan", "./app --time-budget 5m -n 3", "--plan --time-budget 5m -- ./app -n 3"),
        ("", "./app 'a --time-budget 5m", "--time-budget 5m -- ./app ''\"'\"'a'"),
    ],
)
def test_the_warning_ends_with_what_was_probably_meant(
    typed: str, program: str, meant: str
) -> None:
    line = warned(typed, program)
    assert line.endswith(f"advise {meant}")
    assert "\n" not in line
    assert "passed to the program" in line


@pytest.mark.parametrize(
    ("typed", "program"),
    [
        ("--time-budget 5m --", "./app 100"),
        ("", "./app -t 4 --size 3"),
        # On both sides: the second one is the program's.
        ("--threads 4 --", "./app --threads 4"),
        ("", "./app --threads {threads}"),
        ("", "./app --threads={threads}"),
        # Not pinstudy's way to write them.
        ("", "./app --threads"),
        ("", "./app --plan=yes"),
        ("", "./wrapper -- --time-budget 5m"),
    ],
)
def test_what_is_the_programs_own_is_not_warned_of(typed: str, program: str) -> None:
    assert warned(typed, program) == ""


WORD = st.sampled_from(
    ["--time-budget", "--plan", "--threads=2", "--", "x", "-n", "--no-report", "5m"]
)


@given(st.lists(WORD, max_size=6), st.lists(WORD, max_size=6))
def test_no_word_is_lost_and_none_is_added(options: list[str], rest: list[str]) -> None:
    program = ["./app", *rest]
    line = warn_of_options(command, [*options, "--", *program], program)
    if line:
        words = line.partition(" advise ")[2].split()
        assert sorted(words) == sorted([*options, "--", *program])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [*MISTAKES, *((arguments, OLD_NAME) for arguments in OLD_NAMES)],
    ids=[" ".join(arguments) for arguments in (*(row[0] for row in MISTAKES), *OLD_NAMES)],
)
def test_a_users_mistake_is_one_message_and_status_2(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    before = sorted(folder.rglob("*"))
    done = pinstudy(folder, *arguments, status=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1 or arguments[0] in ("plna", "plan", "prove")
    assert sorted(folder.rglob("*")) == before


def test_an_option_behind_the_program_is_warned_of_and_nothing_else_changes(folder: Path) -> None:
    node = ("--plan", "--sysroot", str(folder / "kvm-guest"))
    done = pinstudy(folder, "advise", *node, "--", "/bin/sh", "--threads", "4", status=0)
    (line,) = done.stderr.splitlines()
    assert line.startswith("pinstudy: --threads is an option of pinstudy")
    assert line.endswith(f"advise --plan --sysroot {folder}/kvm-guest --threads 4 -- /bin/sh")
    assert "What would race" in done.stdout
    assert "what --threads says" not in done.stdout


@pytest.mark.parametrize(
    "error", ["MemoryError()", "ImportError('{}.so: failed to map segment from shared object')"]
)
def test_too_little_memory_is_told_in_one_line(tmp_path: Path, error: str) -> None:
    write(tmp_path / "mine", [record(1, 1)])
    done = pinstudy_without("pandas", tmp_path, "tables", "mine", error=error)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("pinstudy: there is not enough memory")


# Runs a command as `bin/pinstudy` does, then prints how many threads the process has.
THREADS = """\
import os, runpy, sys
sys.argv = ["pinstudy", "tables", "published:galante-2025"]
try:
    runpy.run_path({main!r}, run_name="__main__")
finally:
    print(len(os.listdir("/proc/self/task")), "threads", os.environ.get("OPENBLAS_NUM_THREADS"))
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="BLAS has no more threads than CPUs")
@pytest.mark.parametrize(("given", "expected"), [(None, "1 threads None"), ("2", "2 threads 2")])
def test_no_thread_is_started_that_a_login_node_may_not_grant(
    tmp_path: Path, given: str | None, expected: str
) -> None:
    environment = dict(os.environ)
    environment.pop("OPENBLAS_NUM_THREADS", None)
    if given:
        environment["OPENBLAS_NUM_THREADS"] = given
    code = THREADS.format(main=str(ROOT / "pinstudy" / "__main__.py"))
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == expected, done.stderr
