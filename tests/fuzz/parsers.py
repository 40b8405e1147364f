"""Each parser of external input, as a function of bytes that must never fail.

A target returns when its input was read or refused as it should be. Anything else that it raises is
a defect of pinstudy; so is a number that no such input means (AssertionError).
"""

from __future__ import annotations

import gzip
import io
import json
import math
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinstudy.analysis.affinity.c2c import read_c2c
from pinstudy.analysis.imports.latency_matrix import latency_file, read_matrix
from pinstudy.analysis.imports.perf_log import read_log
from pinstudy.analysis.imports.powermetrics import import_powermetrics
from pinstudy.analysis.imports.timings import import_timings
from pinstudy.analysis.latency.findings import latency_findings
from pinstudy.analysis.latency.reading import read_latency
from pinstudy.analysis.records.runs import read_runs
from pinstudy.analysis.results.card_file import read_card
from pinstudy.analysis.results.summaries import FILE as SUMMARIES
from pinstudy.analysis.results.summaries import read_summaries
from pinstudy.analysis.trace import trace_events
from pinstudy.base.channel import ChannelError
from pinstudy.base.cpulist import MAX_CPU, format_cpulist, parse_cpulist
from pinstudy.base.errors import ConfigError, UserError
from pinstudy.base.reading import Unavailable
from pinstudy.base.units import MAX_DURATION_S, parse_duration
from pinstudy.configs.library import read_study
from pinstudy.configs.load import parse_app, parse_mappings, parse_site
from pinstudy.runners.advise.program import dynamic_names
from pinstudy.runners.batch.submission import FILE as SUBMISSION
from pinstudy.runners.batch.submission import read_attempts, read_submission
from pinstudy.runners.batch_systems.flux import read_flux_jobs
from pinstudy.runners.batch_systems.pbs import read_qstat
from pinstudy.runners.batch_systems.slurm import read_squeue
from pinstudy.runners.host.processes import parse_task
from pinstudy.runners.host.program_files import UnreadableProgramError
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.latency.measure import write_latency
from pinstudy.runners.latency.pairs import parse_pairs
from pinstudy.runners.measure.conditions.cpu_time import parse_stat
from pinstudy.runners.measure.energy.perf import read_joules
from pinstudy.runners.measure.energy.powercap import find_zones
from pinstudy.runners.measure.perf.c2c import (
    NotUnderstoodError,
    contended_lines,
    lines_of,
    read_samples,
)
from pinstudy.runners.measure.perf.events import parse_perf_version
from pinstudy.runners.node.core_kinds.declared import parse_kinds
from pinstudy.runners.node.cpufreq import read_cpufreq
from pinstudy.runners.node.discovery import read_topology
from pinstudy.runners.node.power import read_power_limits
from pinstudy.runners.records.perf.output import parse_perf_output
from pinstudy.runners.records.perf.scaling import undo_scaling
from pinstudy.runners.records.trace_file import packed, unpacked
from pinstudy.runners.settings.journal import STUDY, Journal
from pinstudy.runners.vm.guest import read_observation
from tests.analysis.imports.test_latency_matrix import SIX as MATRIX
from tests.analysis.imports.test_powermetrics import TEXT as POWERMETRICS
from tests.analysis.imports.test_timings import BENCHMARK, HYPERFINE, LIKWID
from tests.analysis.test_trace import FILE as TRACE
from tests.fuzz.scenes import APP, SCENES, SITE
from tests.fuzz.scenes import STUDY as STUDY_TEXT
from tests.runners.advise.programs import elf
from tests.support.results import record
from tests.support.tools import ROOT
from tests.support.trees import build_tree

DATA = ROOT / "tests/data"


@dataclass(frozen=True)
class Target:
    """A parser: its function of bytes, and valid inputs."""

    run: Callable[[bytes], object]
    seeds: Callable[[], Iterable[bytes]]


def _refusing(*errors: type[Exception]) -> Callable[..., Callable[[bytes], object]]:
    """Return a decorator: these errors are refusals, in words that a terminal can show."""

    def decorate(run: Callable[[bytes], object]) -> Callable[[bytes], object]:
        def target(data: bytes) -> object:
            try:
                return run(data)
            except errors as refusal:
                assert str(refusal).strip()
                return refusal

        return target

    return decorate


def _in_file(path: Path, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """Return a target that writes its input to a file and reads it."""
    path.parent.mkdir(parents=True, exist_ok=True)

    def target(data: bytes) -> object:
        path.write_bytes(data)
        # A journal that others may write is not used, and some users make files like that.
        path.chmod(0o600)
        return read(path)

    return _refusing(UserError)(target)


def _finite(numbers: Iterable[object], least: float = -math.inf) -> None:
    for number in numbers:
        if isinstance(number, (int, float)):
            assert not isinstance(number, bool)
            assert math.isfinite(number) and number >= least, number


def _perf_output(data: bytes) -> None:
    output = parse_perf_output(data.decode(errors="replace"))
    for row in output.rows:
        _finite((row.value, row.time_s, row.error_percent))
        assert row.run_ns >= 0
    for kinds in ({}, {"cpu_core": ("P",), "cpu_atom": ("E",)}):
        raw = undo_scaling(output, kinds)
        _finite(count.value for count in raw.counts)
        assert not any(count.running_ns < 0 for count in raw.counts)
    joules, _ = read_joules(data.decode(errors="replace"))
    _finite(joules.values(), 0)


def _matrix(path: Path) -> object:
    cells = read_matrix(path)
    file = latency_file(path, cells, range(len(cells)), None, ())
    return latency_findings(read_latency(write_latency(path.parent, file)))


def _imports(tool: str) -> Callable[[Path], object]:
    """Return what imports a file of a tool into a folder, which is removed."""

    def target(path: Path) -> object:
        into = path.with_suffix(".results")
        shutil.rmtree(into, ignore_errors=True)
        options: dict[str, str | int | None] = {"app": "lu", "threads": 1}
        options |= {} if tool == "hyperfine" else {"mapping": "m"}
        if tool == "powermetrics":
            return import_powermetrics([path], into, options)
        return import_timings(tool, [path], into, options)

    return target


def _samples(data: bytes) -> None:
    lines = contended_lines(lambda: read_samples(lines_of(io.BytesIO(data))), 64)
    _finite(lines["sampled"].values(), 0)


def _runs(path: Path) -> None:
    runs = read_runs(path.parent.parent)
    assert not runs.frame["elapsed_s"].isin([math.inf, -math.inf]).any()


def _means(path: Path) -> None:
    cases = read_summaries(path, "")
    _finite([case.time.mean for case in cases if case.time.n != 0], 0)


def _card(path: Path) -> None:
    cases = read_card(path).all_cases()
    _finite([case.time.mean for case in cases if case.time.n != 0], 0)


def _log(path: Path) -> None:
    for block in read_log(path):
        _finite((block.elapsed_s, block.elapsed_error_s, block.user_s, block.system_s), 0)
        _finite(row.value for row in block.rows)


def _observation(data: bytes) -> None:
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError):
        return
    ending = read_observation(parsed).ending
    seconds = (ending.elapsed_s, ending.user_s, ending.system_s, ending.cpu_s)
    _finite([value for value in seconds if value is not None], 0)


def _answers(data: bytes) -> None:
    text = data.decode(errors="replace")
    parsed: list[object] = [*read_squeue(text).values()]
    parsed += [each for job in read_qstat(text).values() for each in job.values()]
    assert str(parsed).isprintable()
    assert all(type(number) is int for number in read_flux_jobs(text))


def _short(data: bytes) -> None:
    """Parse options of the command line, and short files of the kernel."""
    text = data.decode(errors="replace")
    for parse in (parse_cpulist, parse_duration, parse_kinds, parse_pairs):
        try:
            value: Any = parse(text)
        except (ValueError, UserError):
            continue
        if parse is parse_cpulist:
            assert parse_cpulist(format_cpulist(value)) == value
            assert all(0 <= cpu <= MAX_CPU for cpu in value)
        if parse is parse_duration:
            assert 0 < value <= MAX_DURATION_S
    parse_perf_version(text)
    parse_stat(text)
    parse_task(text)


class _Tree:
    """A recorded node with one file replaced; the first two bytes choose the file."""

    def __init__(self, folder: Path) -> None:
        self.root = build_tree(folder, "adl0")
        self.files = sorted(path for path in self.root.rglob("*") if path.is_file())
        self.before = {path: path.read_bytes() for path in self.files}

    def run(self, data: bytes) -> None:
        path = self.files[int.from_bytes(data[:2], "big") % len(self.files)]
        path.write_bytes(data[2:])
        try:
            self.read()
        finally:
            path.write_bytes(self.before[path])

    def read(self) -> None:
        read_topology(self.root)
        for policy in read_cpufreq(self.root).policies:
            _finite((policy.min_khz, policy.max_khz, policy.base_khz), 0)
        zones = find_zones(self.root)
        for zone in zones.chosen:
            _finite((zones.read_uj(zone), zone.range_uj), 0)
        limits = read_power_limits(Tree(self.root))
        for limit in () if isinstance(limits, Unavailable) else limits:
            _finite((limit["power_w"], limit["window_s"]), 0)

    def seeds(self) -> Iterable[bytes]:
        return [at.to_bytes(2, "big") + self.before[path] for at, path in enumerate(self.files)]


def _read(folder: str) -> Callable[[], Iterable[bytes]]:
    return lambda: [path.read_bytes() for path in sorted((DATA / folder).rglob("*.*"))]


def _from_scene(name: str, file: str, folder: Path) -> Callable[[], Iterable[bytes]]:
    """Return the file of that name, as it is in a scene."""

    def seeds() -> Iterable[bytes]:
        inputs = SCENES[name](Path(tempfile.mkdtemp(dir=folder))).inputs
        return [path.read_bytes() for path in inputs if path.name == file]

    return seeds


def _texts(*texts: str) -> Callable[[], Iterable[bytes]]:
    return lambda: [text.encode() for text in texts]


def _json(*values: object) -> Callable[[], Iterable[bytes]]:
    return lambda: [json.dumps(value).encode() for value in values]


_OBSERVATION = {
    "ending": {"wait_status": 0, "elapsed_s": 1.0, "user_s": 0.9, "system_s": 0.1,
               "max_rss_bytes": 4096, "exec_errno": None, "cpu_s": 1.0},
    "timed_out": False, "stdout": "out", "stderr": "", "looks": 3, "perf_output": "",
    "threads": [{
        "tid": 7, "pid": 7, "first_look": 1, "last_look": 3, "gone_s": 0.0,
        "runnable": {"1": 0.1, "3": 0.2}, "cpu_s_on": {"0": 0.4},
        "stays": [{"allowed": [0, 1], "looks": 3, "ran_on": {"0": 3}, "cpu_s": 0.4,
                   "used_s": 0.4, "spent_s": 0.4, "entering_s": 0.1}],
        "team": 0, "pace": 1.0,
    }],
    "teams": [], "facts": {},
    "perf_problem": "", "perf_command": ["perf"], "hotplugged_cpus": [], "unmet": 0,
    "overflowed": False, "in_ticks": False, "drops_children": False, "invalid_reason": None,
    "check_failure": "",
    "thread_libraries": ["libopenblas.so.0"],
    "course": [{"at_s": 0.0, "cpu_s_on": {}}, {"at_s": 0.9, "cpu_s_on": {"0": 0.4}}],
    "cost": {"cpu_s": 0.1, "context_switches": 3, "cpus": [1]},
    "regions": None, "window_ns": [1, 2], "co_run": None,
}  # fmt: skip


def targets(folder: Path) -> Mapping[str, Target]:
    """Return all targets by name; they write below the folder."""
    tree = _Tree(folder)
    config = _refusing(ConfigError)
    return {
        "study": Target(
            config(lambda data: read_study(data, "x.yaml")),
            lambda: [p.read_bytes() for p in sorted((ROOT / "pinstudy/configs/studies").iterdir())],
        ),
        "app": Target(config(lambda data: parse_app(data, "nap.yaml")), _texts(APP)),
        "site": Target(
            config(lambda data: parse_site(data, "there.yaml")),
            _texts(SITE, "title: t\ngovernor: {set: sudo set {governor}}\n", STUDY_TEXT),
        ),
        "mappings": Target(
            config(lambda data: parse_mappings(data, "mappings.yaml")),
            lambda: [(ROOT / "pinstudy/configs/mappings.yaml").read_bytes()],
        ),
        "perf-output": Target(_perf_output, _read("perf")),
        "perf-log": Target(_in_file(folder / "log", _log), _read("perf_logs")),
        "trace": Target(
            _refusing(ValueError)(lambda data: trace_events(unpacked(gzip.compress(data)))),
            lambda: [gzip.decompress(packed(TRACE))],
        ),
        "hyperfine": Target(_in_file(folder / "h.json", _imports("hyperfine")), _json(HYPERFINE)),
        "benchmark": Target(_in_file(folder / "b.json", _imports("benchmark")), _json(BENCHMARK)),
        "likwid": Target(_in_file(folder / "likwid.csv", _imports("likwid")), _texts(LIKWID)),
        "powermetrics": Target(
            _in_file(folder / "power.txt", _imports("powermetrics")), _texts(POWERMETRICS)
        ),
        "latency-matrix": Target(_in_file(folder / "matrix.csv", _matrix), _texts(MATRIX)),
        "c2c-samples": Target(_refusing(NotUnderstoodError)(_samples), _read("c2c")),
        "c2c-file": Target(
            _in_file(
                folder / "c2c/0123456789abcdef.json", lambda path: read_c2c(path.parent.parent)
            ),
            _from_scene("affinity", "0123456789abcdef.json", folder),
        ),
        "records": Target(
            _in_file(folder / "runs/records/n-0001.jsonl", _runs), _json(record(), record(2))
        ),
        "summaries": Target(
            _in_file(folder / SUMMARIES, _means),
            _texts(
                "app,threads,mapping,n,elapsed_mean_s,elapsed_sd_s\nlu,1,pcores-pin,9,4.5,0.1\n"
            ),
        ),
        "card": Target(
            _in_file(folder / "card.json", _card),
            lambda: [(ROOT / "cards/galante-2025.json").read_bytes()],
        ),
        "latency": Target(
            _in_file(folder / "latency.json", read_latency),
            _from_scene("latency", "latency.json", folder),
        ),
        "submission": Target(
            _in_file(folder / "0001" / SUBMISSION, lambda path: read_submission(path.parent)),
            _from_scene("submission", "submission.json", folder),
        ),
        "attempt": Target(
            _in_file(folder / "attempts/w000.g0001.json", lambda path: read_attempts(path.parent)),
            _from_scene("submission", "w000.g0001.json", folder),
        ),
        "batch-answers": Target(_answers, _read("batch")),
        "journal": Target(
            _in_file(
                folder / "state" / f"{STUDY}.json", lambda path: Journal(path.parent, STUDY).read()
            ),
            _from_scene("journal", "study.json", folder),
        ),
        "guest": Target(_refusing(ChannelError)(_observation), _json(_OBSERVATION)),
        "short-texts": Target(
            _short,
            _texts("0-3,8", "0-9:1/2", "10 min", "P=0-3,E=4-7", "0:1,2:3", "perf version 6.1.0"),
        ),
        "node-files": Target(tree.run, tree.seeds),
        "programs": Target(
            _refusing(UnreadableProgramError)(_in_file(folder / "program", dynamic_names)),
            lambda: [
                elf(["libm.so.6", "sin"], bits, big) for bits in (32, 64) for big in (False, True)
            ],
        ),
    }
