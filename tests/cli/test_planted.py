"""Files and links that somebody else has planted: none is executed, none is followed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path

import pytest

from pinstudy.analysis.imports.summary_file import import_summaries
from pinstudy.analysis.published import FOLDER as PUBLISHED
from pinstudy.analysis.records.files import write_file
from pinstudy.base.decoding import converted
from pinstudy.base.errors import StoppedError, StudyError, UserError
from pinstudy.base.text import safe_name
from pinstudy.configs.mapping import Mapping
from pinstudy.configs.study import Vm
from pinstudy.runners.batch.submission import Attempt, AttemptFile, new_folder
from pinstudy.runners.batch.worker import Fence
from pinstudy.runners.execution.witness import LaunchError
from pinstudy.runners.latency.measure import write_latency
from pinstudy.runners.node.node import Node, open_node, save_node
from pinstudy.runners.plan.engines.guest import Vcpus
from pinstudy.runners.prove.proof import keep, keep_for_node, new_proof
from pinstudy.runners.records.instruments import path_beside
from pinstudy.runners.records.latency_file import LatencyFile
from pinstudy.runners.records.record import SCHEMA
from pinstudy.runners.records.shard import LATE, Shard
from pinstudy.runners.settings.journal import STUDY, Journal, new_entry, open_journal, unlock_state
from pinstudy.runners.settings.setting import SettingFile
from pinstudy.runners.study.crash_notice import SUFFIX, attempt_marker
from pinstudy.runners.study.session import set_aside
from pinstudy.runners.vm.guest import Guest, GuestPlan
from pinstudy.runners.vm.host import GuestHost, Kernel
from tests.analysis.latency.made_latency import PLANTED, content_of, write_latency_file
from tests.cli.test_batch import SBATCH, SCANCEL, SITE, SQUEUE
from tests.support.cli import pinstudy
from tests.support.ordinary_user import NOBODY, open_folder, ordinary_user
from tests.support.results import record, write
from tests.support.studies import write_app, write_program, write_study
from tests.support.tools import ROOT, need_tool
from tests.support.trees import CPU

MODULES = (
    *("sitecustomize", "usercustomize", "types", "contextlib", "multiprocessing", "concurrent"),
    *("numpy", "pandas", "matplotlib", "scipy", "yaml", "click", "analysis", "configs"),
)
COMMANDS = ("python3", "perf", "ldd", "lstopo", "readlink", "taskset", "squeue", "lulesh-serial")


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """Give results whose folder has files that pinstudy might load or start by mistake."""
    folder = tmp_path / "made-up" / "node1"
    write(folder, [record(number, at) for number in (1, 2) for at in (1, 2, 3)])
    trap = f"open({str(tmp_path / 'executed')!r}, 'a').write(__file__ + '\\n')\n"
    for name in MODULES:
        (folder / f"{name}.py").write_text(trap)
    for name in COMMANDS:
        write_program(folder / name, f"#!/bin/sh\necho $0 >>{tmp_path / 'executed'}\n")
    # The planted settings would draw every figure by LaTeX, with a planted preamble.
    (folder / "matplotlibrc").write_text("text.usetex: True\ntext.latex.preamble: \\hello\n")
    (folder / "apps").mkdir()
    shutil.copy(ROOT / "pinstudy/configs/apps/lu.yaml", folder / "apps")
    return folder


# Started as `python FILE`, so that the folder of the results is in no list of this process.
WORK = """
import os, sys
sys.path[0] = sys.argv[1]
def main():
    from pinstudy.analysis.processes import in_another
    print(in_another(os.getcwd))
if __name__ == "__main__":
    main()
"""


def run(folder: Path, *command: str | Path, **environment: str) -> str:
    """Run a command in a folder with this environment alone; return its stdout."""
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "latex" not in done.stderr.lower()
    return done.stdout


def test_nothing_is_executed_from_a_results_folder(planted: Path) -> None:
    need_tool(str(ROOT / ".venv/bin/python"))
    above, path = planted.parents[1], os.environ["PATH"]
    session = {"PATH": f".:{path}:", "PYTHONPATH": ":.", "HOME": os.environ.get("HOME", "/")}
    run(planted, ROOT / "bin/pinstudy", "report", ".", **session)
    assert (planted / "report.html").stat().st_size > 10_000
    # An interpreter without an environment of its own.
    installation = above / "installed"
    (installation / "bin").mkdir(parents=True)
    shutil.copy(ROOT / "bin/pinstudy", installation / "bin")
    (installation / "bin/python3").symlink_to(sys.executable)
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    paths = f":{ROOT}:{packages}:."
    run(planted, installation / "bin/pinstudy", "apps", PATH=path, PYTHONPATH=paths)
    # Processes that share work.
    (above / "work.py").write_text(WORK)
    shared = run(planted, sys.executable, above / "work.py", ROOT, **os.environ)
    assert shared == f"{planted}\n"
    assert not (above / "executed").exists()


def test_no_file_is_written_through_a_link_in_a_folder_of_ones_own(
    tmp_path: Path, at_end: ExitStack
) -> None:
    precious = tmp_path / "precious"
    precious.write_text(PRECIOUS)
    shard = at_end.enter_context(closing(Shard(tmp_path / "records", "n")))
    at_end.enter_context(closing(Shard(tmp_path / "records", "n")))
    (tmp_path / LATE).mkdir()
    (tmp_path / LATE / "n-0001.jsonl").symlink_to(precious)
    with pytest.raises(StoppedError, match="lost, because"):
        shard.append(record())
    into = tmp_path / "into"
    into.mkdir()
    (into / f".summaries.csv.{os.getpid()}").symlink_to(precious)
    means(into)
    assert not (into / "summaries.csv").is_symlink()
    assert precious.read_text() == PRECIOUS


SOMEBODY = 12345
REFUSED = "is a link that user {} has made; pinstudy does not follow it"
PRECIOUS = "precious\n"
MEASURED = converted(content_of(PLANTED["two"]), LatencyFile)


def give(path: Path, user: int) -> None:
    """Make a user the owner of a path and of all that is in it."""
    subprocess.run(["chown", "-hR", f"{user}:{user}", path], check=True)


def content(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Return all that is below a folder, with what changes when it is touched."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        link = str(path.readlink()) if path.is_symlink() else ""
        found[str(path.relative_to(folder))] = (status.st_ino, status.st_mtime_ns, link)
    return found | {".": (0, folder.stat().st_mtime_ns, "")}


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder of root that every user can enter."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to give files away")
    with open_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def node() -> Node:
    return open_node(Path("/"))


# What writes into a results folder: given that folder and the node.
Writer = Callable[[Path, Node], object]


def records(folder: Path, _: Node) -> None:
    Shard(folder / "records", "n").close()


def late(folder: Path, _: Node) -> None:
    with closing(Shard(folder / "records", "n", fenced=lambda: "fenced")) as shard:
        shard.append({"schema": SCHEMA})


def marker(folder: Path, node: Node) -> None:
    with attempt_marker(folder / "records" / "n-0001.jsonl", "n", node.tree):
        pass


def proof(folder: Path, node: Node) -> None:
    keep(new_proof(node, (), 1.0, True), path_beside(folder, node.digest))


def attempt(folder: Path, _: Node) -> None:
    attempts = folder / "submissions" / "0001" / "attempts"
    AttemptFile(attempts, Attempt(1, 1, "n", "", "", "", "")).write()


def claim(folder: Path, _: Node) -> None:
    Fence(folder / "submissions" / "fence").claim_next("slot")


def console(folder: Path, _: Node) -> None:
    host = GuestHost("/nonexistent/qemu", Kernel(Path("/"), Path("/")), "", "")
    plan = GuestPlan(host, (b"", b""), Vm(1, 64), ())
    mapping = Mapping("all", "all", "none")
    try:
        Guest(plan, Vcpus(mapping, (0,), 1, 64), folder / "consoles" / "0001-001.log")
    except (OSError, LaunchError) as error:
        raise StudyError(str(error)) from None


def means(folder: Path, _: Node | None = None) -> None:
    import_summaries(next(PUBLISHED.glob("*/summaries.csv")), folder)


# With the names that are links; `.` is the folder itself.
WRITERS: dict[str, tuple[Writer, tuple[str, ...]]] = {
    "records": (records, (".", "records")),
    "late record": (late, ("late",)),
    "marker": (marker, (".", "records")),
    "facts and picture": (save_node, (".", "nodes")),
    "proof": (proof, (".", "nodes")),
    "latency": (lambda folder, _: write_latency(folder, MEASURED), (".",)),
    "submission": (lambda folder, _: new_folder(folder), (".", "submissions")),
    "claim": (claim, (".", "submissions", "submissions/fence")),
    "attempt": (attempt, (".", "submissions", "submissions/0001/attempts")),
    "console": (console, (".", "consoles")),
    "means": (means, (".",)),
    "figure": (lambda folder, _: write_file(folder / "figures" / "a.svg", ""), (".", "figures")),
}
# The attempt goes on without them.
SILENT = ("marker", "attempt")


def refusal(work: Writer, folder: Path, node: Node) -> str:
    try:
        work(folder, node)
    except UserError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("writer", "other"), [(0, NOBODY), (NOBODY, SOMEBODY)])
@pytest.mark.parametrize(
    ("title", "name"), [(title, name) for title, (_, names) in WRITERS.items() for name in names]
)
def test_a_folder_that_is_a_planted_link_is_refused_and_nothing_is_where_it_leads(
    place: Path, node: Node, title: str, name: str, writer: int, other: int
) -> None:
    secret = place / "secret"
    secret.mkdir(mode=0o700)
    (secret / f"n-0001{SUFFIX}").write_text("precious")
    give(secret, writer)
    folder = place / "theirs" / "node"
    link = folder / name if name != "." else folder
    link.parent.mkdir(parents=True)
    link.symlink_to(secret)
    give(place / "theirs", other)
    # So that what comes first in a folder can be done there.
    for opened in (link.parent, *link.parent.parents):
        if opened.is_relative_to(place / "theirs"):
            opened.chmod(0o777)
    before = content(secret)

    with ordinary_user() if writer else nullcontext():
        shown = refusal(WRITERS[title][0], folder, node)

    assert content(secret) == before
    assert title in SILENT or (f"{link} {REFUSED.format(other)}" in shown and "\n" not in shown)


@pytest.mark.parametrize("user", [0, NOBODY])
@pytest.mark.parametrize("title", [title for title in WRITERS if title != "marker"])
def test_links_of_root_and_of_ones_own_lead_there(
    place: Path, node: Node, title: str, user: int
) -> None:
    home = place / "home"
    (home / "scratch").mkdir(parents=True)
    (home / "results").symlink_to("scratch")
    give(home, user)
    (place / "there").symlink_to(home)

    with ordinary_user() if user else nullcontext():
        shown = refusal(WRITERS[title][0], place / "there" / "results" / "node", node)

    assert "does not follow" not in shown
    assert list((home / "scratch" / "node").iterdir())


def test_results_are_not_set_aside_through_a_planted_link(place: Path) -> None:
    (place / "secret" / "node").mkdir(parents=True)
    link = place / "theirs"
    link.symlink_to("secret")
    give(link, NOBODY)
    with pytest.raises(OSError, match=REFUSED.format(NOBODY)):
        set_aside(link / "node")
    assert [path.name for path in (place / "secret").iterdir()] == ["node"]
    aside = set_aside(place / "secret" / "node")
    assert aside and aside.is_dir() and not (place / "secret" / "node").exists()


@pytest.fixture
def state(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user nobody that $PINSTUDY_STATE names; the host's is a link into root's."""
    (place / "secret").mkdir(mode=0o700)
    state = place / "state"
    state.mkdir()
    (state / safe_name(os.uname().nodename)).symlink_to("../secret")
    give(state, NOBODY)
    monkeypatch.setenv("PINSTUDY_STATE", str(state))
    return state


def test_neither_journal_nor_proof_is_kept_behind_a_planted_link(
    place: Path, state: Path, node: Node
) -> None:
    journal = open_journal(Path("/"), STUDY)
    saved = SettingFile(f"/{CPU}/cpufreq/policy0/scaling_governor", "powersave")
    entry = new_entry(node.tree, [saved])
    refused = f"{state}/.* {REFUSED.format(NOBODY)}"
    with pytest.raises(StudyError, match=refused):
        journal.write(entry)
    with pytest.raises(StudyError, match=f"{refused}.*PINSTUDY_STATE"):
        keep_for_node(new_proof(node, (), 1.0, True), Path("/"))
    assert journal.read() is None
    assert list((place / "secret").iterdir()) == []

    Journal(place / "secret", STUDY, of_root=True).write(entry)
    unlock_state()
    before = content(place / "secret")
    with pytest.raises(UserError, match=refused):
        journal.read()
    with pytest.raises(StudyError, match=refused):
        journal.remove()
    assert content(place / "secret") == before


# Commands and their arguments; `planted` is a link into root's results.
RESULTS_COMMANDS = {
    "tables": ("tables", "planted"),
    "figures": ("figures", "planted", "--formats", "svg"),
    "figures beside a link": ("figures", "theirs", "--output", "theirs/planted/out"),
    "report": ("report", "planted"),
    "report --output": ("report", "theirs", "--output", "planted/out"),
    "verdict": ("verdict", "planted"),
    "card": ("card", "planted"),
    "card --output": ("card", "theirs", "--output", "planted/cards/card.json"),
    "latency": ("latency", "--from", "latency.json", "--output", "planted"),
    "import summaries": ("import", "summaries", "means.csv", "--output", "planted/out"),
    "snapshot": ("snapshot", "planted/node.tar.gz"),
    "run": ("run", "who.yaml", "--results", "planted"),
    "submit": ("submit", "who.yaml", "--site", "there.yaml", "--results", "planted"),
    "advise": ("advise", "--results", "planted", "--runs", "10", "--", "./who.sh"),
}


@pytest.fixture
def work(place: Path) -> Path:
    """A folder of root with a study, a site, and results of the user nobody with planted links."""
    program = write_program(place / "who.sh", "#!/bin/sh\nexit 0\n")
    write_app(place, "who", program, {"short": {"arguments": ""}}, c2c=True)
    write_study(place, "who", "who", "short", collect=["c2c"])
    (place / "there.yaml").write_text(SITE)
    for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE), ("scancel", SCANCEL)):
        write_program(place / name, text)
    write_latency_file(place, content_of(PLANTED["hybrid"]))
    shutil.copy(next(PUBLISHED.glob("*/summaries.csv")), place / "means.csv")
    for results in (place / "theirs", place / "secret"):
        write(results, [record(number, n) for number in (1, 2) for n in (1, 2, 3)])
    (place / "planted").symlink_to("secret")
    (place / "theirs" / "planted").symlink_to(place / "secret")
    give(place / "planted", NOBODY)
    give(place / "theirs", NOBODY)
    return place


@pytest.mark.parametrize("arguments", RESULTS_COMMANDS.values(), ids=RESULTS_COMMANDS)
def test_no_command_writes_through_a_planted_link(work: Path, arguments: tuple[str, ...]) -> None:
    before = content(work / "secret")
    path = f"{work}:{os.environ['PATH']}"

    done = pinstudy(work, *arguments, PATH=path)

    assert content(work / "secret") == before
    assert done.returncode in (1, 2), done.stderr
    [line] = [line for line in done.stderr.splitlines() if REFUSED.format(NOBODY) in line]
    assert line.startswith("pinstudy: ")


def test_no_study_writes_through_a_planted_link(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinstudy(work, "run", "who.yaml", status=0)
    [results] = work.glob("results/who/*")
    names = ("records", "nodes", "programs", "environments", "apps", "c2c")
    for name in names:
        assert list((results / name).iterdir())
        shutil.rmtree(results / name)
    kept = work / "kept"
    kept.mkdir()
    for name in names:
        (results / name).symlink_to(kept)
        give(work / "results", NOBODY)
        done = pinstudy(work, "run", "who.yaml")
        assert list(kept.iterdir()) == []
        assert done.returncode in (1, 2), done.stderr
        [line] = [line for line in done.stderr.splitlines() if REFUSED.format(NOBODY) in line]
        assert line.startswith("pinstudy: ") and "expected a folder" not in line
        (results / name).unlink()
        for made in names:
            shutil.rmtree(results / made, ignore_errors=True)

    before = content(work / "secret")
    for name in ("TMPDIR", "TEMP", "TMP"):
        with monkeypatch.context() as patched:
            patched.setenv(name, str(work / "planted"))
            done = pinstudy(work, "run", "who.yaml", status=2)
        assert f"pinstudy: ${name}: {work / 'planted'} {REFUSED.format(NOBODY)}" in done.stderr
    assert content(work / "secret") == before
