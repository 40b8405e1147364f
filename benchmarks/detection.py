"""Do verdicts find real differences, and only those? Many real studies.

Studies without and with 2 % more work under the second of two names for one mapping, in turn; each
has the size that docs/error-rates.md advertises for that difference.

Both bind the program's only thread to the same CPU by the same means; they differ only in
their names. Before each run the file of the kernel's factor gets 1, or the injected factor: the
slowdown is work that the program does like its other work.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from scipy import stats

from benchmarks.lib.kernel import Kernel, write_study
from benchmarks.lib.tables import estimate, table
from pinstudy.analysis.answer import analyze
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.statistics.decision import ALPHA, Look
from pinstudy.configs.library import load_study
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.runs import PlannedRun
from pinstudy.runners.records.race_state import Eliminated
from pinstudy.runners.study.machine import open_machine
from pinstudy.runners.study.session import Session

FIRST, SECOND = "one-name", "another-name"


@dataclass(frozen=True)
class Outcome:
    """A verdict: its word, the typical ratio second / first, and the noise of one block.

    `noise` is the standard deviation that the logarithm of one block's ratio brings into the
    typical one, with `df` degrees of freedom.
    """

    word: str
    ratio: float
    noise: float
    df: float

    def chance(self, factor: float, repetitions: int) -> float:
        """Return the probability that such a study calls a difference of this factor.

        Student's t of the pairs, two-sided at the level of a first look, as docs/statistics.md has
        it for one comparison.
        """
        critical = stats.t.ppf(1 - ALPHA * Look().share / 2, self.df)
        shift = math.log(factor) / self.noise * math.sqrt(repetitions)
        beyond = stats.nct.sf(critical, self.df, shift)
        return float(beyond + stats.nct.cdf(-critical, self.df, shift))


class Injector:
    """A study's progress that sets the amount of work before each run."""

    def __init__(self, file: Path, factor: float) -> None:
        self._file, self._factor = file, factor
        self.bad: list[str] = []

    def starting(self, case: Case, _planned: PlannedRun, _left_s: float | None) -> None:
        """Write the factor of the run that starts."""
        factor = self._factor if case.mapping.name == SECOND else 1
        self._file.write_text(f"{factor:.6f}\n")

    def finished(self, record: Mapping[str, Any]) -> None:
        """Keep the reason if a run was not good."""
        if record["status"] != "ok":
            self.bad.append(f"{record['status']}: {record['reason']}")

    def skipped(self, case: Case, reason: str) -> None:
        """Nothing may be skipped here."""
        raise SystemExit(f"{case.label}: {reason}")

    def eliminated(self, out: Sequence[tuple[Case, Eliminated]]) -> None:
        """No case races here."""

    def out_of_time(self, repetitions: int) -> None:
        """Not called: nothing ends these studies early."""

    def decided(self, repetitions: int) -> bool:
        """The number of repetitions is fixed here."""
        raise SystemExit(f"asked whether {repetitions} repetitions decide")

    def waiting(self, reason: str) -> None:
        """Nothing is waited for here."""

    def warned(self, warning: str) -> None:
        """What disturbs the runs shows in their noise."""


def run_study(
    kernel: Kernel, folder: Path, seconds: float, repetitions: int, factor: float, seed: int
) -> Outcome:
    """Run one study in an empty folder and return its verdict.

    The second mapping's runs have `factor` times the work of the first's `seconds`. Raises
    SystemExit when a run was not good.
    """
    file = folder / "factor"
    command = kernel.command(seconds, "--factor", str(file))
    same = {"selection": "pcores", "binding": "pin"}
    # Without a variable of its own, the second name would be left out as the same execution.
    mappings = [
        {"name": name, "variables": {"NAME_OF_MAPPING": name}} | same for name in (FIRST, SECOND)
    ]
    path = write_study(folder, "names", command, mappings, repetitions, warmup=1, seed=seed)
    session = Session(
        open_machine(Path("/"), None), load_study(path), folder / "results", fresh=False
    )
    progress = Injector(file, factor)
    session.run(progress)
    if progress.bad:
        raise SystemExit(f"not good: {'; '.join(progress.bad)}")
    return outcome_of(session.folder)


def outcome_of(results: Path) -> Outcome:
    """Return the verdict on the second name against the first."""
    (table,) = analyze(open_results(str(results)), baseline=FIRST).tables
    (case,) = (case for case in table.cases if case.mapping == SECOND)
    comparison = case.comparisons["time"]
    difference = comparison.difference
    return Outcome(comparison.outcome, difference.ratio, difference.spread, difference.df)


SECONDS = 0.1
REPETITIONS = 10
SLOWDOWN = 1.02
WORDS = ("worse", "better", "equivalent", "undecided")


def row(name: str, outcomes: Sequence[Outcome], factor: float) -> list[str]:
    """Return the row of a table for studies with one injected factor."""
    counts = Counter(outcome.word for outcome in outcomes)
    noise = [outcome.noise * 100 for outcome in outcomes]
    return [
        name,
        str(len(outcomes)),
        *(str(counts[word]) for word in WORDS),
        f"{sum(outcome.chance(factor, REPETITIONS) for outcome in outcomes):.1f}",
        estimate([outcome.ratio for outcome in outcomes]).shown(4),
        f"{min(noise):.2f}, {statistics.median(noise):.2f}, {max(noise):.2f}",
    ]


@click.command()
@click.option("--studies", default=20, show_default=True, help="Studies of each kind.")
def main(studies: int) -> None:
    """Run the studies and print how often each word was the verdict."""
    kinds = {"the same work": 1.0, f"{SLOWDOWN - 1:.0%} more work": SLOWDOWN}
    outcomes: dict[str, list[Outcome]] = {name: [] for name in kinds}
    shuffled = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        kernel = Kernel.build(Path(name))
        for number in range(studies):
            for kind in shuffled.sample(list(kinds), len(kinds)):
                folder = Path(name) / f"{number}-{kinds[kind]}"
                folder.mkdir()
                outcome = run_study(kernel, folder, SECONDS, REPETITIONS, kinds[kind], number)
                outcomes[kind].append(outcome)
            click.echo(f"studies {number + 1} of {studies}", file=sys.stderr)
        steps = kernel.steps(SECONDS)
    header = ["second mapping has", "studies", *WORDS, "expected", "ratio", "noise of a pair, %"]
    click.echo(
        f"Each study: {REPETITIONS} blocks of the kernel with {steps} steps ({SECONDS * 1e3:g} ms) "
        "under two names for one mapping, and the verdict's word on the second against the first. "
        "Expected is how many of the studies should say *worse* or *better*, given the noise of "
        "each: of the same work, 4 in 100, the level of a first look. The ratio is the median over "
        "studies with its 95 % interval, the noise the standard deviation of a block's ratio: "
        "least, median and largest of the studies.\n\n"
        + table(header, [row(name, outcome, kinds[name]) for name, outcome in outcomes.items()])
    )


if __name__ == "__main__":
    main()
