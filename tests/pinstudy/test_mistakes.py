"""A user's mistake on the command line: one message, exit status 2, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import pinstudy
from tests.support.results import Study, record, write
from tests.support.studies import write_app, write_study
from tests.support.trees import build_tree

PUBLISHED = "published:galante-2025"
GUEST = ("--sysroot", "kvm-guest")
LATENCY = ("latency", *GUEST)
LOG = ("import", "perf", "log.txt", "--output", "out", "--app", "a", "--threads", "1")
# Arguments, and a part of the message.
MISTAKES = [
    (("run", "no-such-study"), "no-such-study"),
    (("plna",), "plna"),
    (("plan",), "STUDY"),
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
    (folder / "log.txt").write_text("no log\n")
    (folder / "file").touch()
    return folder


@pytest.mark.parametrize(
    ("arguments", "message"), MISTAKES, ids=[" ".join(arguments) for arguments, _ in MISTAKES]
)
def test_a_users_mistake_is_one_message_and_status_2(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    before = sorted(folder.rglob("*"))
    done = pinstudy(folder, *arguments, status=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1 or arguments[0] in ("plna", "plan")
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("arguments", OLD_NAMES, ids=" ".join)
def test_the_old_name_of_a_mapping_is_told_the_new_one(
    folder: Path, arguments: tuple[str, ...]
) -> None:
    done = pinstudy(folder, *arguments, status=2)
    (line,) = done.stderr.splitlines()
    assert line.endswith("the mapping `scheduler` is `unpinned` now")
