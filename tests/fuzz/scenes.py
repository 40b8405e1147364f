"""Folders with the files that commands read, and the commands that read them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pinstudy.runners.settings.journal import SCHEMA as JOURNAL_SCHEMA
from tests.analysis.affinity.made_results import Affinity, make_affinity
from tests.analysis.latency.made_latency import Planted, content_of, write_latency_file
from tests.analysis.report.made_results import DIGEST, make_results
from tests.runners.fake_commands import install
from tests.support.tools import ROOT
from tests.support.trees import build_tree

DATA = ROOT / "tests/data"
PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" width="90px" height="60px">
<rect x="1" y="1" width="50" height="40" fill="rgb(255,255,255)" stroke="rgb(0,0,0)"/>
<text x="5" y="9" fill="rgb(0,0,0)">PU L#0</text></svg>
"""
APP = """\
# A program for tests
title: a nap
builds:
  plain: {program: /bin/true, runtime: none}
sizes:
  short: {arguments: '0.05', estimate: 50 ms}
metrics:
  took: {pattern: 'took ([0-9.]+)', unit: s}
check: {failed_status: 3, pattern: "it's done"}
timeout: 10 min
"""
STUDY = """\
# A study for tests
title: naps
apps:
  - {app: nap, builds: plain, sizes: short, threads: 1}
mappings: [unpinned, {name: mine, selection: pcores, binding: pin}]
governors: current
repetitions: {decide: {first: 3, max: 9}}
warmup: 1
temperature_gate: {within: 5 K, limit: 2 min}
idle_power: {duration: 10 s, every: 50}
"""
SITE = """\
# A site for tests
title: The cluster of the tests
batch_system: slurm
time_limit: 10 min
features: [hybrid, homog]
modules: [gcc/12]
directives: [--reservation=tests]
reserved_cpus: 0,32
"""
PLANTED = Planted(cpus=6, far_ns=90.0, near=(((0, 1), 20.0),))


@dataclass(frozen=True)
class Scene:
    """Files below `folder`, with the `inputs` to damage, and the commands that read them.

    The commands are run in the folder, with `settings` in the environment.
    """

    name: str
    folder: Path
    inputs: Sequence[Path]
    commands: Sequence[Sequence[str]]
    settings: Mapping[str, str]
    originals: Mapping[Path, bytes]

    def put_back(self) -> None:
        """Restore inputs that a command removed."""
        for path, data in self.originals.items():
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)

    def commands_reading(self, path: Path) -> Sequence[Sequence[str]]:
        """Return the commands that name a file, or all if none does."""
        return [each for each in self.commands if path.name in each] or self.commands

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Be in the scene's folder with its environment."""
        before, place = dict(os.environ), Path.cwd()
        os.environ.update(self.settings)
        os.chdir(self.folder)
        try:
            yield
        finally:
            os.chdir(place)
            os.environ.clear()
            os.environ.update(before)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _scene(
    name: str,
    folder: Path,
    inputs: Sequence[Path],
    commands: Sequence[Sequence[str]],
    **settings: str,
) -> Scene:
    state = folder / "state"
    state.mkdir(exist_ok=True)
    own = {"PINSTUDY_STATE": str(state), "PINSTUDY_RESULTS": str(folder / "results")}
    originals = {path: path.read_bytes() for path in inputs}
    return Scene(name, folder, inputs, commands, own | settings, originals)


def tree_scene(folder: Path, machine: str = "adl0") -> Scene:
    """A recorded node."""
    root = build_tree(folder, machine)
    sysroot = ("--sysroot", root.name)
    commands = [
        ("doctor", *sysroot),
        ("topology", *sysroot),
        ("mappings", *sysroot, "--json"),
        ("plan", "quick", *sysroot),
        ("tune", *sysroot, "--dry-run"),
        ("advise", "--plan", *sysroot, "--", "/bin/sh"),
    ]
    return _scene(f"tree-{machine}", folder, _files(root), commands)


def records_scene(folder: Path) -> Scene:
    """Results of a study with a node's file, its picture and latencies."""
    results = make_results(folder / "made", apps=(("lu", 3.0),), threads=(1,), repetitions=3)
    (results / "nodes" / f"{DIGEST}.lstopo.svg").write_text(PICTURE)
    commands = [[command, "made"] for command in ("tables", "verdict", "report", "figures")]
    commands.append(["compare", "made", "published:galante-2025"])
    return _scene("records", folder, _files(results), commands)


def affinity_scene(folder: Path) -> Scene:
    """Results of the affinity study with latencies and contended cache lines."""
    apps = Affinity(apps=("contention", "threadmap"), repetitions=2)
    results = make_affinity(folder / "made", apps)
    write_latency_file(results, content_of(PLANTED, samples=3))
    (results / "c2c").mkdir()
    (results / "c2c/0123456789abcdef.json").write_text(json.dumps(C2C))
    (results / "c2c/unavailable.json").write_text('{"schema": 1, "unavailable": {"lines": "no"}}')
    inputs = [path for path in _files(results) if path.suffix == ".json"]
    commands = [("verdict", "made"), ("report", "made")]
    return _scene("affinity", folder, inputs, commands)


C2C = {
    "schema": 1, "case_id": "contention-integer-4-unpinned", "lines_left_out": 0,
    "sampled": {"samples": 9, "loads": 6, "stores": 3, "hitm": 3, "local_hitm": 3,
                "remote_hitm": 0},
    "lines": [{"address": "0x40", "hitm": 3, "local_hitm": 3, "remote_hitm": 0, "stores": 2,
               "cpus": {"0": 4, "2": 2}, "symbols": ["main"]}],
    "perf": "perf version 6.1", "events": ["cpu/mem-loads/P"],
}  # fmt: skip


def latency_scene(folder: Path) -> Scene:
    """A file of latencies."""
    path = write_latency_file(folder, content_of(PLANTED, samples=3))
    commands = [("latency", "--from", "latency.json", "--output", "out")]
    return _scene("latency", folder, [path], commands)


def summaries_scene(folder: Path) -> Scene:
    """Means without runs."""
    text = (ROOT / "pinstudy/analysis/published/galante-2025/summaries.csv").read_bytes()
    (folder / "made").mkdir()
    path = folder / "made/summaries.csv"
    path.write_bytes(b"\n".join(text.split(b"\n")[:8]) + b"\n")
    commands = [
        ("tables", "made"),
        ("tables", "made", "--format", "csv", "--no-files"),
        ("verdict", "made"),
        ("compare", "made", "published:galante-2025"),
        ("report", "made"),
        ("import", "summaries", "made/summaries.csv", "--output", "new"),
    ]
    return _scene("summaries", folder, [path], commands)


def logs_scene(folder: Path) -> Scene:
    """Logs of perf stat."""
    inputs, commands = [], []
    for log in sorted((DATA / "perf_logs").iterdir()):
        path = folder / log.name
        path.write_bytes(log.read_bytes())
        inputs.append(path)
    of = ("--app", "lu", "--threads", "1", "--mapping", "unpinned")
    repeats = ("--repeats", "5")
    commands = [
        ("import", "perf", path.name, "--output", f"new-{path.name}", *of,
         *(repeats if path.name in ("repeated.csv", "repeated.json") else ()))
        for path in inputs
    ]  # fmt: skip
    return _scene("logs", folder, inputs, commands)


def configs_scene(folder: Path) -> Scene:
    """A study with an app and a site of its own."""
    commands = [
        ("plan", "naps.yaml"),
        ("plan", "naps.yaml", "--site", "there.yaml"),
        ("submit", "naps.yaml", "--site", "there.yaml", "--dry-run"),
    ]
    return _scene("configs", folder, _naps(folder), commands, PATH=_with_slurm(folder))


def _naps(folder: Path, study: str = STUDY) -> list[Path]:
    (folder / "apps").mkdir()
    texts = {"apps/nap.yaml": APP, "naps.yaml": study, "there.yaml": SITE}
    for name, text in texts.items():
        (folder / name).write_text(text)
    return [folder / name for name in texts]


def _with_slurm(folder: Path) -> str:
    (folder / "bin").mkdir()
    install(folder / "bin", "sbatch", "echo 41")
    install(folder / "bin", "squeue", f"exec timeout 5 cat {folder}/squeue")
    install(folder / "bin", "scancel", "exit 0")
    (folder / "squeue").write_text("41_0|RUNNING|None|n1\n41_1|PENDING|Priority|\n")
    return f"{folder / 'bin'}:{os.environ['PATH']}"


def submission_scene(folder: Path) -> Scene:
    """A submitted study with its workers' files and the batch system's answers."""
    _naps(folder, STUDY.replace("{decide: {first: 3, max: 9}}", "9"))
    scene = _scene("submission", folder, [], [], PATH=_with_slurm(folder))
    from tests.fuzz.outcome import outcome_of

    with scene.entered():
        submit = ("submit", "naps.yaml", "--site", "there.yaml", "--spread", "split", "--workers")
        made = outcome_of([*submit, "2"])
        assert made.status == 0, made.err
    place = folder / "results/naps/submissions/0001"
    (place / "attempts").mkdir(exist_ok=True)
    attempt = {
        "worker": 0, "generation": 1, "node_id": "n1", "node_digest": "d", "job": "41_0",
        "folder": str(folder / "results/naps/split-there"), "started_at": "2025-03-01T12:00:00Z",
        "updated_at": "2025-03-01T12:00:00+00:00", "ends_by": "", "case_ids": ["a"],
        "runs": 4, "left": 2, "left_s": 3.5, "refused": 0, "ended": None, "reason": "",
    }  # fmt: skip
    (place / "attempts/w000.g0001.json").write_text(json.dumps(attempt))
    make_results(folder / "results/naps/split-there", apps=(("lu", 3.0),), threads=(1,),
                 repetitions=2)  # fmt: skip
    inputs = [
        place / "submission.json",
        place / "site/there.yaml",
        place / "attempts/w000.g0001.json",
        folder / "squeue",
        *_files(folder / "results/naps/split-there/records"),
    ]
    commands = [
        ("status", "naps"),
        ("status", "--json"),
        ("submit", "naps.yaml", "--site", "there.yaml", "--dry-run"),
        ("cancel", "naps"),
    ]
    return _scene("submission", folder, inputs, commands, PATH=scene.settings["PATH"])


def journal_scene(folder: Path) -> Scene:
    """Settings that a killed study changed, in a recorded tree."""
    root = build_tree(folder, "i9-14900k-noht")
    state = root / "var/lib/pinstudy"
    state.mkdir(parents=True)
    governor = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
    entry = {
        "schema": JOURNAL_SCHEMA, "pid": 1, "boot_id": "b", "started_at": "2025-03-01T12:00:00Z",
        "command": ["pinstudy", "run", "quick"], "restore_command": [],
        "settings": [[governor, "powersave"]],
    }  # fmt: skip
    inputs = [state / "study.json", state / "tune.json"]
    for path in inputs:
        path.write_text(json.dumps(entry))
        path.chmod(0o644)
    commands = [("doctor", "--sysroot", root.name), ("restore", "--sysroot", root.name)]
    return _scene("journal", folder, inputs, commands)


SCENES: Mapping[str, Callable[[Path], Scene]] = {
    "tree": tree_scene,
    "phone": lambda folder: tree_scene(folder, "phone"),
    "records": records_scene,
    "affinity": affinity_scene,
    "latency": latency_scene,
    "summaries": summaries_scene,
    "logs": logs_scene,
    "configs": configs_scene,
    "submission": submission_scene,
    "journal": journal_scene,
}
