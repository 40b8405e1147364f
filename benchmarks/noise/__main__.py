"""Tests the verdict's statistics on simulated noise, equal and unequal, for `make noise`.

Prints tables, some of which are in docs/error-rates.md: how often each candidate calls a false
difference, how often it finds a true one, and how often other claims of a verdict are wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import click

from benchmarks.lib.tables import table
from benchmarks.noise import histories, orders, races, shapes, simulate
from benchmarks.noise.simulate import CANDIDATES, Pair, Truth, grid

SEED = 20
# Resampling takes a hundred times as long: it gets fewer studies, by this factor.
FEWER = 5
RESAMPLED = ("bootstrap-t", "sign-flip")

Rows = Iterator[Sequence[str]]


def percent(share: float) -> str:
    """Return a share in per cent."""
    return f"{share * 100:.1f}"


def levels(studies: int, n: int) -> Rows:
    """Yield how often each candidate calls a false difference, at 5 %."""
    truths: tuple[tuple[str, Truth], ...] = (
        ("t of the mean", "means"),
        *((name, "typical times") for name in list(CANDIDATES)[1:]),
        ("trimmed 20 %", "typical ratio"),
    )  # fmt: skip
    for pair in grid():
        yield [
            pair.name,
            *(
                percent(simulate.rejected(
                    CANDIDATES[name], pair, truth, n,
                    max(studies // FEWER, 1) if name in RESAMPLED else studies, SEED + n,
                ))
                for name, truth in truths
            ),
        ]  # fmt: skip


LEVELS = ("noise", "t: means", *list(CANDIDATES)[1:], "trimmed 20 %: typical ratio")


def words(studies: int) -> Rows:
    """Yield how often the verdict's words and intervals are wrong, by number of blocks."""
    sizes = (5, 10, 20, 30)
    for pair in grid():
        rates = [simulate.wrong_words(pair, n, studies, SEED + n) for n in sizes]
        lacking = simulate.without_outcome(pair, 10, studies, SEED)
        five = simulate.wrong_words(pair, 10, studies, SEED, mappings=5)
        twenty = simulate.wrong_words(pair, 10, max(studies // FEWER, 1), SEED, mappings=20)
        unpaired = simulate.wrong_words(pair, 10, studies, SEED, paired=False)
        same = max(simulate.false_equivalence(pair, 10, studies, SEED, side) for side in (1, -1))
        yield [pair.name, *map(percent, (*rates, five, twenty, unpaired, same, lacking))]


WORDS = (
    "noise", "n = 5", "n = 10", "n = 20", "n = 30", "five mappings, n = 10",
    "twenty mappings, n = 10", "without pairs, n = 10",
    "called equivalent at the margin, n = 10", "no outcome, n = 10",
)  # fmt: skip


def powers(studies: int) -> Rows:
    """Yield how often 2 % more time is found, alone, first of 4 and first of 56 comparisons."""
    names = ("verdict", "t of the mean", "trimmed 10 %")
    cases = (
        (shapes.QUIET, (5, 10)), (shapes.NORMAL1, (5, 10, 20)), (shapes.SLOW10, (5, 10, 20)),
        (shapes.EXPONENTIAL, (10, 20)),
    )  # fmt: skip
    for noise, sizes in cases:
        for n in sizes:
            rates = [
                simulate.power(CANDIDATES[name], noise, 0.02, n, studies, SEED) for name in names
            ]
            yield [
                noise.name, str(n),
                *(" / ".join(f"{rate[count] * 100:.0f}" for count in (1, 4, 56)) for rate in rates),
            ]  # fmt: skip


def small(studies: int) -> Rows:
    """Yield trimming's effect on few pairs: level, and 2 % found first of 4 comparisons."""
    tests = [CANDIDATES[name] for name in ("t of the mean", "trimmed 20 %")]
    unlike = Pair(shapes.EXPONENTIAL, shapes.QUIET), Pair(shapes.SLOW10, shapes.QUIET)
    for n in range(3, 11):
        level = [
            max(simulate.rejected(test, pair, "typical times", n, studies, SEED) for pair in unlike)
            for test in tests
        ]
        detected = [
            simulate.power(test, noise, 0.02, n, studies, SEED)[4]
            for noise in (shapes.NORMAL1, shapes.SLOW10)
            for test in tests
        ]
        yield [str(n), *map(percent, (*level, *detected))]


def boots(studies: int) -> Rows:
    """Yield how often the interval of a ratio holds it, by boots and their variance."""
    for sizes in ((5, 5), (9, 1), (10, 10), (4, 3, 3), (5, 5, 5, 5), (2,) * 5):
        rates = [simulate.covered(sizes, between, studies, SEED) for between in (0, 0.5, 1, 3)]
        yield [
            " + ".join(map(str, sizes)),
            *(f"{percent(within)} ({percent(without)})" for within, without in rates),
        ]


def forecasts(studies: int) -> Rows:
    """Yield how often the forecast number of repetitions decided."""
    for noise, n in ((shapes.NORMAL1, 10), (shapes.NORMAL2, 10), (shapes.NORMAL2, 20),
                     (shapes.EXPONENTIAL, 10), (shapes.SLOW10, 10)):  # fmt: skip
        for effect in (0.0, 0.005, 0.02):
            outcome = simulate.forecast(noise, effect, n, studies, SEED)
            if outcome is not None:
                repetitions = f"{outcome.typical.half} to {outcome.typical.most}"
                shares = map(percent, (outcome.forecast_share, outcome.half, outcome.most))
                yield [noise.name, f"{effect:.1%}", str(n), repetitions, *shares]


def looks(studies: int) -> Rows:
    """Yield how often equals are called different by studies that go on until they decide."""
    for pair in grid():
        rates = [
            simulate.continued(pair, sizes, studies, SEED)
            for sizes in ((10,), (10, 20), (10, 20, 40), (10, 15, 20, 30, 40, 50))
        ]
        yield [pair.name, *map(percent, rates)]


def means(studies: int) -> Rows:
    """Yield how often the 95 % interval of a mean holds it."""
    for noise in (
        shapes.NORMAL1, shapes.EXPONENTIAL, shapes.LOGNORMAL, shapes.SLOW3, shapes.SLOW10,
        shapes.SLOW25,
    ):  # fmt: skip
        sizes = (5, 10, 20, 30)
        rates = [simulate.mean_covered(noise, n, max(studies // FEWER, 1), SEED) for n in sizes]
        yield [noise.name, *map(percent, rates)]


def modes(studies: int) -> Rows:
    """Yield how often a case is said to run in several modes."""
    for noise in (
        shapes.NORMAL1, shapes.EXPONENTIAL, shapes.LOGNORMAL, shapes.SLOW3, shapes.SLOW10,
        shapes.SLOW25, shapes.EQUAL_MODES, shapes.NEAR_MODES,
    ):  # fmt: skip
        rates = [simulate.told_modes(noise, n, studies, SEED) for n in (5, 10, 20, 30, 50)]
        yield [noise.name, *map(percent, rates)]


def mean_words(studies: int) -> Rows:
    """Yield how often words on published means are wrong, by number of comparisons."""
    noises = (shapes.NORMAL2, shapes.LOGNORMAL, shapes.SLOW3, shapes.SLOW10, shapes.SLOW25)
    for pair in (
        Pair(shapes.NORMAL1, shapes.NORMAL1),
        *(Pair(noise, shapes.QUIET) for noise in noises),
    ):
        for n in (5, 10, 20, 30):
            rates = [
                simulate.wrong_words_of_means(pair, n, mappings, max(studies // FEWER, 1), SEED)
                for mappings in (2, 5, 20)
            ]
            yield [pair.name, str(n), *map(percent, rates)]


def gains(studies: int) -> Rows:
    """Yield how often the interval of the largest gain that is told holds it."""
    for noise in (shapes.QUIET, shapes.NORMAL2, shapes.SLOW10, shapes.EXPONENTIAL):
        for n in (5, 10, 20):
            row = [noise.name, str(n)]
            for true in ([0.02] * 4, [0.03, 0, 0, 0], [0.02] * 9):
                found = simulate.selected(noise, true, n, studies, SEED)
                row.append(" / ".join(map(percent, (found.told, found.plain, found.selected))))
            yield row


def slow(studies: int) -> Rows:
    """Yield how often runs are called slow, and how often their shares are called different."""
    for pair in grid():
        if pair.shared:
            continue
        rates = [simulate.slow_shares(pair, n, studies, SEED) for n in (10, 20, 50)]
        yield [pair.name, *(percent(share) for both in rates for share in both)]


def searches(studies: int) -> Rows:
    """Yield how often races tell false gains, true sizes of gains, and find a gain of 5 %."""
    yield from races.error_rates(max(studies // FEWER, 1), SEED, percent)


BLOCK_ORDERS = ("randomised-blocks", "balanced")


def inherited(studies: int) -> Rows:
    """Yield how often outcomes are false, and how far ratios are off, where runs inherit 1 %."""
    for noise in (shapes.QUIET, shapes.NORMAL1):
        for cases in (2, 4, 5, 10):
            for kind in BLOCK_ORDERS:
                found = [
                    orders.wrong_outcomes(
                        orders.Node((noise,), inherited=0.01), kind, cases, n, studies, SEED
                    )
                    for n in (5, 10, 20, 40)
                ]
                cells = [f"{percent(wrong.share)} / {wrong.ratio * 100:+.2f}" for wrong in found]
                yield [noise.name, str(cases), kind, *cells]


def drifts(studies: int) -> Rows:
    """Yield how often equals are called different on nodes that slow down or speed up."""
    for trend in (0.1, -0.1):
        for kind in (*BLOCK_ORDERS, "sequential"):
            rates = [
                orders.wrong_outcomes(
                    orders.Node((shapes.NORMAL1,), trend=trend), kind, cases, n, studies, SEED
                ).share
                for cases, n in ((2, 10), (2, 30), (5, 10), (5, 30))
            ]
            yield [f"{trend * 100:+.0f} %", kind, *map(percent, rates)]


def told_carry_over(studies: int) -> Rows:
    """Yield how often a verdict says that times depend on the case before, without and with 1 %."""
    for name, node in orders.nodes_without_carry_over():
        for kind in BLOCK_ORDERS:
            yield [
                name,
                kind,
                *(
                    " / ".join(
                        percent(orders.told(replace(node, inherited=over), kind, k, n, some, SEED))
                        for over, some in ((0.0, studies), (0.01, max(studies // FEWER, 1)))
                    )
                    for k, n in ((5, 5), (5, 10), (5, 30), (10, 10))
                ),
            ]


def histories_of(rows: Callable[..., Rows], studies: int) -> Rows:
    """Yield the rows of a table of histories."""
    yield from rows(max(studies // FEWER, 1), SEED, percent)


SEARCHES = (
    "noise",
    *(f"{cases} cases, {limit}" for limit in races.LIMITS for cases in races.CASES),
)


TABLES: dict[str, tuple[str, Sequence[str], Callable[[int], Iterable[Sequence[str]]]]] = {
    "levels-10": (
        "Candidates, n = 10: studies that call equals different, in per cent, at a level of 5 %; "
        "what is equal are typical times (medians) unless the column says otherwise",
        LEVELS, partial(levels, n=10),
    ),
    "levels-30": ("Candidates, n = 30", LEVELS, partial(levels, n=30)),
    "words": (
        "The verdict: questions in which equals are called different, in per cent", WORDS, words
    ),
    "power": (
        "Studies in which 2 % more time is found, in per cent: alone / first of 4 / first of 56 "
        "comparisons", ("noise", "n", "verdict", "t of the mean", "trimmed 10 %"), powers,
    ),
    "small": (
        "Few pairs: the larger level under exponential and slow runs against quiet ones, and 2 % "
        "found first of 4 comparisons, in per cent; untrimmed and 20 % trimmed",
        ("n", "level, mean", "level, trimmed", "normal 1 %, mean", "normal 1 %, trimmed",
         "slow 1 in 10, mean", "slow 1 in 10, trimmed"), small,
    ),
    "boots": (
        "95 % intervals of a ratio that hold it, in per cent, with what varies between boots (in "
        "brackets without); by the standard deviation between boots, in those of a pair",
        ("pairs by boot", "0", "0.5", "1", "3"), boots,
    ),
    "forecasts": (
        "More repetitions: what was said (medians), in how many undecided studies, and in how many "
        "of these it decided, in per cent",
        ("noise", "true difference", "n", "said", "studies", "half", "four fifths"), forecasts,
    ),
    "looks": (
        "Studies continued until they decide: equals called different, in per cent",
        ("noise", "10 blocks", "10, 20", "10, 20, 40", "10, 15, 20, 30, 40, 50"), looks,
    ),
    "means": (
        "95 % intervals of a mean that hold it, in per cent",
        ("noise", "n = 5", "n = 10", "n = 20", "n = 30"), means,
    ),
    "modes": (
        "Cases that are said to run in several modes, in per cent",
        ("noise", "n = 5", "n = 10", "n = 20", "n = 30", "n = 50"), modes,
    ),
    "mean-words": (
        "Published means: questions in which equal means are called different, in per cent",
        ("noise", "n", "two mappings", "five", "twenty"), mean_words,
    ),
    "gains": (
        "The largest gain that is told: in how many studies, and of these in how many its plain "
        "interval and the one that is told hold it, in per cent",
        ("noise", "n", "four of 2 %", "one of 3 %, three of 0", "nine of 2 %"), gains,
    ),
    "slow": (
        "Studies in which a run is called slow, and in which the shares of slow runs are called "
        "different, in per cent",
        ("noise", "n = 10", "differ", "n = 20", "differ", "n = 50", "differ"), slow,
    ),
    "orders": (
        "Every other case makes the next run 1 % shorter, the others 1 % longer: questions in "
        "which equals are called different / how far a ratio is off, in per cent",
        ("noise", "cases", "order", "n = 5", "n = 10", "n = 20", "n = 40"), inherited,
    ),
    "drifts": (
        "Nodes that slow down or speed up from the first run to the last: questions in which "
        "equals are called different, in per cent; without pairs where cases are in sequence",
        ("node", "order", "2 cases, n = 10", "2, 30", "5, 10", "5, 30"), drifts,
    ),
    "carry-over": (
        "Studies told that times depend on the case before, in per cent: where they do not / where "
        "every other case makes the next run 1 % shorter, the others 1 % longer",
        ("noise", "order", "5 cases, n = 5", "5, 10", "5, 30", "10, 10"), told_carry_over,
    ),
    "races": (
        "Searches, in per cent: gains told where there is none / told gains of which the size is "
        "true / a gain of 5 % found", SEARCHES, searches,
    ),
    "history-alarms": (
        f"Histories of {histories.CASES} cases without a change, in per cent: with a change point "
        "/ with a newest result called better or worse",
        ("days", *(f"{count} results" for count in histories.RESULTS)),
        partial(histories_of, histories.alarms),
    ),
    "history-power": (
        "Histories in which 3 % more time is found, in per cent: of the only case / of one of ten; "
        "10 runs with noise of 1 %, and between days",
        ("before", "after", *(f"{100 * sd:g} %" for sd in histories.BETWEEN)),
        partial(histories_of, histories.power),
    ),
    "history-looks": (
        "Years without a change in which one of the weekly looks has a change point, in per cent",
        ("days", "any look"), partial(histories_of, histories.looks),
    ),
}  # fmt: skip


@click.command()
@click.option("--studies", default=5000, show_default=True, help="Simulated studies of each cell.")
@click.option("--only", multiple=True, type=click.Choice(list(TABLES)), help="These tables only.")
def main(studies: int, only: tuple[str, ...]) -> None:
    """Simulate the studies and print how often their verdicts are wrong."""
    worst = 1.96 * simulate.error(0.05, studies) * 100
    fewer = max(studies // FEWER, 1)
    click.echo(
        f"Each cell: {studies} simulated studies ({fewer} of bootstrap-t, sign-flip, stopping "
        f"early and intervals of means), seed {SEED}; a share of 5 % is known to ±{worst:.1f} "
        f"(±{1.96 * simulate.error(0.05, fewer) * 100:.1f}).\n"
    )
    for name in only or TABLES:
        title, header, rows = TABLES[name]
        click.echo(f"### {title}\n\n{table(header, rows(studies))}\n")


if __name__ == "__main__":
    main()
