"""Do verdicts find real differences, and only those? Many real studies.

Studies without and with 2 % more work under the second of two names for one mapping, in turn; each
has the size that docs/error-rates.md advertises for that difference.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from benchmarks.detection.study import Outcome, run_study
from benchmarks.lib.kernel import Kernel
from benchmarks.lib.medians import estimate
from benchmarks.lib.tables import table

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
