"""pinstudy under many runs, cases and shards: memory, cost a run, and time of its commands.

A study of `true`, with the least that can be collected, is made by `pinstudy run` itself. While it
runs its resident memory and CPU time (its children's included) are read from the kernel's files;
the time of a run is from the start of one to that of the next, as the records say it. Then the
commands are timed that read all records, on the same records divided over many shards as well.
1000 runs, the default, take a minute; 100 000, by `--runs 100000 --shards 1000`, some 20 minutes.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import click

from benchmarks.lib.tables import table
from benchmarks.tables_speed import cost_of
from pinstudy.base.units import utc_now
from pinstudy.configs.library import load_study
from pinstudy.runners.batch.submission import (
    FOLDER,
    Attempt,
    AttemptFile,
    Submission,
    Worker,
    write_submission,
)

PINSTUDY = Path(__file__).resolve().parent.parent / "bin" / "pinstudy"
# A list in a study has at most 1000 items, so that more cases need several mappings.
MAX_SIZES = 1000
TENTH = 10
LOOK_S = 0.2


@dataclass(frozen=True)
class Look:
    """A process's use when `written` bytes of records were written."""

    written: int
    rss_mb: float
    cpu_s: float


def write_study(folder: Path, name: str, cases: int, repetitions: int) -> Path:
    """Write a study with `cases` cases of `true`, and its app; return the study's path."""
    mappings = -(-cases // MAX_SIZES)
    sizes = [f"s{number:04d}" for number in range(cases // mappings)]
    if len(sizes) * mappings != cases:
        raise SystemExit(f"{cases} cases are not {mappings} times as many sizes")
    (folder / "apps").mkdir(parents=True, exist_ok=True)
    (folder / "apps" / f"{name}.yaml").write_text(
        "title: the shortest program\n"
        "builds:\n  plain: {program: 'true', runtime: none}\n"
        "sizes:\n" + "".join(f"  {size}: {{arguments: ''}}\n" for size in sizes)
    )
    study = folder / f"{name}.yaml"
    study.write_text(
        f"title: many runs\napps:\n"
        f"  - {{app: {name}, builds: plain, sizes: [{', '.join(sizes)}], threads: 1}}\n"
        "mappings:\n"
        + "".join(
            f"  - {{name: m{number}, selection: all, binding: none}}\n"
            for number in range(mappings)
        )
        + f"governors: current\nrepetitions: {repetitions}\nwarmup: 0\ncollect: energy\n"
    )
    return study


def run_watched(study: Path, results: Path) -> list[Look]:
    """Run a study; return samples of the runner's use until its last record."""
    command: list[str | Path] = [PINSTUDY, "run", study, "--results", results, "--no-report"]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    looks = []
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    ) as process:
        while process.poll() is None:
            written = sum(shard.stat().st_size for shard in results.glob("*/*/records/*.jsonl"))
            if look := _look(process.pid, written):
                looks.append(look)
            time.sleep(LOOK_S)
    if process.returncode:
        raise SystemExit(f"pinstudy run ended with status {process.returncode}")
    return looks


def _look(pid: int, written: int) -> Look | None:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    rss = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")]
    # proc(5): utime, stime, cutime, cstime are the fields 14 to 17.
    ticks = sum(map(int, stat.rpartition(")")[2].split()[11:15]))
    return Look(written, int(rss[0]) / 1024, ticks / os.sysconf("SC_CLK_TCK")) if rss else None


def show_runs(looks: Sequence[Look], records: Path, runs: int) -> None:
    """Print memory and cost at the beginning, in the middle and at the end of the runs."""
    starts = list(_starts(records))
    if len(starts) != runs:
        raise SystemExit(f"{len(starts)} of {runs} runs were made")
    total = max(look.written for look in looks)
    # Without the tables, which are made after the last record.
    running = [look for look in looks if 0 < look.written < total]
    rows = []
    for tenth in range(TENTH):
        few = [look for look in running if tenth <= look.written * TENTH / total < tenth + 1]
        first, last = runs * tenth // TENTH, runs * (tenth + 1) // TENTH - 1
        seconds = (starts[last] - starts[first]) / (last - first)
        cpu_s, written = few[-1].cpu_s - few[0].cpu_s, few[-1].written - few[0].written
        rows.append(
            (
                f"{(tenth + 1) * 10} %",
                f"{few[-1].rss_mb:.1f}",
                f"{seconds * 1e3:.2f}",
                f"{cpu_s / (written / total * runs) * 1e3:.2f}" if written else "n/a",
            )
        )
    header = ("made of the runs", "resident MB", "ms a run", "CPU ms a run")
    click.echo(table(header, rows))


def _starts(records: Path) -> Iterator[float]:
    for shard in sorted(records.glob("*.jsonl")):
        with shard.open("rb") as lines:
            for line in lines:
                yield datetime.datetime.fromisoformat(json.loads(line)["started_at"]).timestamp()


def submit(study: Path, results: Path, case_ids: Sequence[str], runs: int) -> None:
    """Write the files of a submission beside the records, for `pinstudy status`."""
    declared = load_study(study)
    node = next((results / declared.name).glob("*/records")).parent
    folder = results / declared.name / FOLDER / "0001"
    (folder / "attempts").mkdir(parents=True)
    worker = Worker(0)
    write_submission(
        Submission(
            folder=folder, study=str(study), name=declared.name, digest=declared.digest,
            results=str(results), site="none", site_path="", system="slurm", how="per-node",
            pool="", time_limit_s=3600.0, kinds=None, allow_emulation=False, submitted_at=utc_now(),
            arguments=(str(study),), workers=(worker,), jobs=(),
        )
    )  # fmt: skip
    attempt = Attempt(
        worker=0, generation=1, node_id=node.name, job="", folder=str(node),
        started_at=utc_now(), updated_at=utc_now(), case_ids=tuple(case_ids), runs=runs, left=0,
    )  # fmt: skip
    AttemptFile(folder / "attempts", attempt).write(ended=0, reason="all runs are made")


def divide(records: Path, into: Path, shards: int) -> None:
    """Copy the records into `shards` shards, as attempts of one node would write them."""
    into.mkdir(parents=True)
    in_a_shard = -(-sum(1 for _ in _lines(records)) // shards)
    lines = _lines(records)
    for attempt in range(1, shards + 1):
        with (into / f"node-{attempt:04d}.jsonl").open("wb") as shard:
            shard.writelines(islice(lines, in_a_shard))


def _lines(records: Path) -> Iterator[bytes]:
    for shard in sorted(records.glob("*.jsonl")):
        with shard.open("rb") as lines:
            yield from lines


def show_commands(commands: Sequence[tuple[str, Sequence[str | Path]]]) -> None:
    """Print the time and memory of each command."""
    rows = []
    for name, command in commands:
        cost = cost_of([PINSTUDY, *command])
        rows.append((name, f"{cost.seconds:.2f}", f"{cost.cpu_s:.2f}", f"{cost.peak_mb:.0f}"))
    click.echo(table(("command", "s", "CPU s", "peak MB"), rows))


@click.command()
@click.option("--runs", default=1000, show_default=True, help="Runs of the study.")
@click.option("--cases", default=10, show_default=True, help="Cases that they are of.")
@click.option("--planned", default=10_000, show_default=True, help="Cases of what is planned.")
@click.option("--shards", default=100, show_default=True, help="Shards of the same records.")
@click.option("--keep", type=click.Path(path_type=Path), help="A folder to work in, and to keep.")
def main(runs: int, cases: int, planned: int, shards: int, keep: Path | None) -> None:
    """Run a study of many runs, then time the commands that read its records."""
    with tempfile.TemporaryDirectory() as name:
        folder = keep or Path(name)
        results = folder / "results"
        study = write_study(folder, "many-runs", cases, runs // cases)
        click.echo(f"\n{runs} runs of `true`, {cases} cases:\n")
        looks = run_watched(study, results)
        node = next((results / "many-runs").glob("*/records")).parent
        show_runs(looks, node / "records", runs)
        planned_cases = json.loads(
            subprocess.check_output([PINSTUDY, "plan", study, "--results", results, "--json"])
        )["tables"]
        case_ids = [row["case_id"] for table in planned_cases for row in table["rows"]]
        submit(study, results, case_ids, runs)
        divided = folder / "divided" / "node"
        divide(node / "records", divided / "records", shards)
        options: list[str | Path] = ["--results", results]
        click.echo("\nThe commands that read these records:\n")
        show_commands(
            [
                ("status", ["status", study, *options]),
                ("plan", ["plan", study, *options]),
                ("run, nothing left", ["run", study, *options, "--no-report"]),
                ("tables", ["tables", node]),
                (f"tables, of {shards} shards", ["tables", divided]),
            ]
        )
        wide = write_study(folder, "many-cases", planned, 10)
        click.echo(f"\nA study of {planned} cases, 10 repetitions each, nothing made yet:\n")
        show_commands(
            [
                ("plan", ["plan", wide, *options]),
                ("plan --json", ["plan", wide, *options, "--json"]),
            ]
        )


if __name__ == "__main__":
    sys.exit(main())
