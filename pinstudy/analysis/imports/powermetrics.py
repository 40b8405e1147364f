"""The text of Apple's powermetrics (samplers cpu_power, gpu_power) becomes runs with energy.

Power is the mean of a sample, so that a run's energy is the sum of power x elapsed over samples.
Forms that were seen: Apple silicon on macOS 12 (`E-Cluster Power`, `Package Power`), on 13 and
later (`Combined Power`, no power of clusters), and Intel's Macs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pinstudy.analysis.imports.identity import Identifier
from pinstudy.analysis.imports.runs import (
    Imported,
    ImportedRun,
    lasted_alike,
    node_name,
    write_runs,
)
from pinstudy.analysis.records.files import CsvCell, read_lines, read_text
from pinstudy.base.errors import ConfigError, Problem, UserError
from pinstudy.base.reading import Reading, Unavailable
from pinstudy.base.text import one_line, shown
from pinstudy.runners.node.topology import KIND_ORDER
from pinstudy.runners.records.energy import domain_fields, run_figures
from pinstudy.runners.records.perf.counters import FIELDS, no_counters

EXPECTED = "the text of `powermetrics --samplers cpu_power`, without -f plist"
_TIMES = ["file", "elapsed_s"]

_HEADER = "*** Sampled system activity"
_ELAPSED = re.compile(r"\((\d{1,9}(?:\.\d{1,6})?)ms elapsed\)", re.ASCII)
_WHAT = r"[A-Z]\d{0,2}-Cluster|CPU|GPU|ANE|DRAM|Package|Combined"
_POWER = re.compile(
    rf"(?:(?P<what>{_WHAT}) Power(?: \([^)]*\))?"
    r"|(?P<intel>Intel) energy model derived package power \([^)]*\)):(?P<value>.*)",
    re.ASCII,
)
_WATTS = re.compile(r" *(?P<number>\d{1,9}(?:\.\d{1,9})?) *(?P<unit>m?)W *", re.ASCII)
_CLUSTER = re.compile(r"(?P<name>[A-Z]\d{0,2}-Cluster) ", re.ASCII)
_CPU = re.compile(
    r"CPU (?P<cpu>\d{1,4}) (?:frequency: +(?P<mhz>\d{1,6}) MHz"
    r"|active residency: +(?P<active>\d{0,3}(?:\.\d{1,4})?)%.*)",
    re.ASCII,
)
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)
# What the power of the whole is called; one of them is there.
_WHOLE = ("Package", "Combined", "Intel")
_DOMAINS = {"CPU": "core", "GPU": "uncore", "DRAM": "dram"}

_NOT_TOLD = "powermetrics does not tell it"
_NO_TIME = "powermetrics tells no run's time; --times does"
_ALL_TASKS = "powermetrics counts all tasks, not the program"


@dataclass
class _Sample:
    """A sample: where it begins, its seconds, watts by name, and [MHz, share active] by CPU."""

    line: int
    elapsed_s: float
    watts: dict[str, float] = field(default_factory=dict)
    cluster_of: dict[int, str] = field(default_factory=dict)
    mhz: dict[int, float] = field(default_factory=dict)
    active: dict[int, float] = field(default_factory=dict)


def import_powermetrics(
    files: Sequence[Path], into: Path, options: Mapping[str, str | int | None]
) -> Imported:
    """Read files of powermetrics, a run each, into a results folder.

    `options` are those of the command by name: fields of the case, `pattern`, `node`, and `times`,
    a CSV file with the runs' times. All files are read before anything is written. Raises
    UserError, with file and line, for what cannot be imported.
    """
    identifier = Identifier(options)
    given = options.get("times")
    times = Path(str(given)) if given else None
    elapsed_s = dict(_times(times)) if times else {}
    runs = []
    for path in files:
        where = one_line(str(path), None)
        text = read_text(path, EXPECTED)
        samples = read_samples(text, where)
        window_s = sum(sample.elapsed_s for sample in samples)
        run_s = elapsed_s.get(path.resolve())
        if times and run_s is None:
            raise UserError(f"{one_line(str(times), None)}: has no time of {where}")
        if run_s is not None and not lasted_alike(window_s, run_s):
            raise UserError(
                f"{where}: its samples last {window_s:g} s, and the run {run_s:g} s, so that their "
                "energy is not the run's; begin and end with the run (-i 100), or leave --times out"
            )
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        source = {"file": path.name, "line": samples[0].line, "digest": digest}
        case, measured = identifier.identify(path), run_fields(samples, run_s)
        logs = ((digest, path.name),)
        runs.append(ImportedRun(where, case, measured, "", source, _NOT_TOLD, logs))
    write_runs(into, runs, node_name(options))
    return Imported(len(runs), 0, len({run.identity.case_id for run in runs}))


def _times(path: Path) -> Iterator[tuple[Path, float]]:
    """Yield files, named from the folder of a CSV file, and the seconds of their runs."""
    where, seen = one_line(str(path), None), set[Path]()
    rows = read_lines(read_text(path, "a CSV file with the columns file,elapsed_s"), where)
    header = [cell.text for cell in next(rows, [CsvCell("", 1, 1)])]
    if header != _TIMES:
        problem = f"begins with {shown(','.join(header))}; expected {','.join(_TIMES)}"
        raise ConfigError([Problem(where, 1, 1, problem)])
    for row in rows:
        texts = [cell.text for cell in row]
        is_time = len(row) == len(_TIMES) and _NUMBER.fullmatch(texts[1])
        if not is_time or not float(texts[1]):
            problem = (
                f"{shown(','.join(texts))}: expected a file and seconds, such as run-1.txt,12.5"
            )
            raise ConfigError([Problem(where, row[0].line, row[-1].column, problem)])
        file = (path.parent / texts[0]).resolve()
        if file in seen:
            raise ConfigError([Problem(where, row[0].line, 1, f"{shown(texts[0])} is there twice")])
        seen.add(file)
        yield file, float(texts[1])


def read_samples(text: str, where: str) -> list[_Sample]:
    """Return the samples of a text; raises UserError, with the line, for what is none of them."""
    samples: list[_Sample] = []
    cluster = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(_HEADER):
            found = _ELAPSED.search(line)
            if found is None or not float(found[1]):
                raise UserError(
                    f"{where}:{number}: a sample without its time, such as (1000.12ms elapsed)"
                )
            samples.append(_Sample(number, float(found[1]) / 1e3))
            cluster = ""
        elif samples:
            if named := _CLUSTER.match(line):
                cluster = named["name"]
            _add(samples[-1], line, cluster, f"{where}:{number}")
    if not any(sample.watts for sample in samples):
        raise UserError(f"{where}: has no sample with a power; expected {EXPECTED}")
    first = samples[0]
    for sample in samples:
        for name in sorted({*first.watts} ^ {*sample.watts}):
            has, lacks = (first, sample) if name in first.watts else (sample, first)
            raise UserError(
                f"{where}:{lacks.line}: a sample without {name} power, which that in line "
                f"{has.line} has; is it cut off? leave it out"
            )
    return samples


def _add(sample: _Sample, line: str, cluster: str, where: str) -> None:
    """Add what a line tells to its sample."""
    if power := _POWER.fullmatch(line.strip()):
        watts = _WATTS.fullmatch(power["value"])
        if watts is None:
            raise UserError(f"{where}: {shown(line)} has no power, such as 123 mW")
        # The GPU's stands in two sections.
        name = power["what"] or power["intel"]
        sample.watts.setdefault(name, float(watts["number"]) / (1e3 if watts["unit"] else 1))
    elif found := _CPU.fullmatch(line.strip()):
        cpu = int(found["cpu"])
        sample.cluster_of[cpu] = cluster
        if found["mhz"]:
            sample.mhz[cpu] = float(found["mhz"])
        elif found["active"]:
            sample.active[cpu] = float(found["active"]) / 100


def run_fields(samples: Sequence[_Sample], elapsed_s: float | None) -> Reading:
    """Return the measured fields of a run, and why others are absent."""
    window_s = sum(sample.elapsed_s for sample in samples)
    joules = {
        name: sum(sample.watts[name] * sample.elapsed_s for sample in samples)
        for name in samples[0].watts
    }
    whole = next((name for name in _WHOLE if name in joules), "")
    by_domain = {domain: joules[name] for name, domain in _DOMAINS.items() if name in joules}
    problems = {domain: _NOT_TOLD for domain in ("psys", "dram") if domain not in by_domain}
    if joules.get("CPU") == 0:
        # macOS 27 on M1 Pro, CPUs at work: exelban/stats#3336.
        problems |= dict.fromkeys(("core", "package"), "powermetrics told 0 mW of the CPUs")
    if whole:
        by_domain["package"] = joules[whole]
    energy = domain_fields(by_domain, problems, window_s, f"powermetrics {whole or 'parts'}")
    read = {"energy_samples": len(samples), "energy_period_s": window_s / len(samples)}
    energy.fields.update(read)
    figures = run_figures(energy, elapsed_s or 0.0, Unavailable("no idle measurement was imported"))
    times = Reading({}, dict.fromkeys(("user_s", "system_s", "max_rss_bytes"), _NOT_TOLD))
    if elapsed_s is None:
        names = ("elapsed_s", "edp_js", "ed2p_js2")
        times |= Reading({}, dict.fromkeys(names, _NO_TIME))
        figures.unavailable.update(dict.fromkeys(names, _NO_TIME))
    else:
        times.fields["elapsed_s"] = elapsed_s
    kinds = _kinds(samples)
    frequency = _frequency(samples, kinds)
    counters = no_counters(_ALL_TASKS, [name for name in FIELDS if name not in frequency.fields])
    return counters | frequency | times | energy | figures | _by_kind(joules, kinds, window_s)


def _kinds(samples: Iterable[_Sample]) -> dict[str, str]:
    """Return the kind of each cluster; none where a cluster's letter is no kind's, as on M5."""
    names = {name for sample in samples for name in (*sample.cluster_of.values(), *sample.watts)}
    clusters = {name for name in names if name.endswith("-Cluster")}
    kinds = {name: name[0] for name in sorted(clusters)}
    return kinds if {*kinds.values()} <= {*KIND_ORDER} else {}


def _by_kind(joules: Mapping[str, float], kinds: Mapping[str, str], window_s: float) -> Reading:
    """Return the energy of the clusters of each kind."""
    found: dict[str, float] = {}
    for kind in KIND_ORDER:
        parts = [joules[name] for name in kinds if kinds[name] == kind and name in joules]
        if parts:
            found[kind] = sum(parts)
    if not any(found.values()):
        why = "powermetrics told no power of P- and E-clusters"
        return Reading({}, {"energy_by_kind_j": why})
    return Reading({"energy_by_kind_j": found, "energy_by_kind_window_s": window_s})


def _frequency(samples: Sequence[_Sample], kinds: Mapping[str, str]) -> Reading:
    """Return the mean frequency of active CPUs, weighted by how long each was active."""
    cycles, active_s = dict.fromkeys(KIND_ORDER, 0.0), dict.fromkeys(KIND_ORDER, 0.0)
    for sample in samples:
        for cpu, mhz in sample.mhz.items():
            kind = kinds.get(sample.cluster_of[cpu])
            if kind:
                seconds = sample.active.get(cpu, 0.0) * sample.elapsed_s
                cycles[kind] += mhz * 1e6 * seconds
                active_s[kind] += seconds
    if not any(cycles.values()):
        return Reading()
    found = {kind: cycles[kind] / active_s[kind] / 1e9 for kind in KIND_ORDER if cycles[kind]}
    mean = sum(cycles.values()) / sum(active_s.values()) / 1e9
    return Reading({"freq_ghz": found, "freq_mean_ghz": mean})
