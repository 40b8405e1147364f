"""How much teams reached of what their cores could do: intervals, and why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from pinstudy.analysis.measures import Stats
from pinstudy.analysis.results.bounds import Bound, NoBound
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.verdict.reach import NoReach, Reach, raw_reach, reaches_of
from pinstudy.analysis.verdict.values import Values
from tests.analysis.findings.studies import values_of
from tests.support.doses import Dose, doses
from tests.support.results import TABLE, summary

Array = NDArray[np.float64]

# Two P-cores and two E-cores of half their speed: perfect balance 2 s, equal shares 3 s.
THREADS = {"P": 2, "E": 2}
TRUE_S = {"team": 3.2, "P": 6.0, "E": 12.0}
REACHED, CAP = 2 / 3.2, 2 / 3
LEVEL = 0.95


def case(name: str, mean_s: float, sd_s: float = 0.01, n: int = 10) -> Case:
    threads = 4 if name == "team" else 1
    table = TABLE._replace(threads=threads)
    return summary(list(TRUE_S).index(name) + 1, table=table, elapsed_s=Stats(n, mean_s, sd_s))


TEAM, ON_P, ON_E = (case(name, seconds) for name, seconds in TRUE_S.items())
BOUND = Bound(TEAM, "one thread", THREADS, {"P": ON_P, "E": ON_E}, stays=True)
IDS = dict(zip(TRUE_S, (TEAM.key.case_id, ON_P.key.case_id, ON_E.key.case_id), strict=True))


def drawn(
    rng: np.random.Generator, n: int = 10, *, own: float = 0.01, shared: float = 0.03
) -> dict[str, Array]:
    """Return times of each case: a block slows all of them alike, each run by itself."""
    blocks = rng.normal(0, shared, n)
    return {
        name: seconds * np.exp(blocks + rng.normal(0, own, n)) for name, seconds in TRUE_S.items()
    }


def reach(times_s: Mapping[str, Array], **changed: Any) -> Reach | NoReach:  # noqa: ANN401
    """Return what the team reached by runs in blocks; `changed` are other facts of all runs."""
    values: dict[str, Values] = {}
    for place, (name, times) in enumerate(times_s.items(), 1):
        values[IDS[name]] = replace(values_of(times, place), **changed)
    ((found,),) = reaches_of({IDS["team"]: (BOUND,)}, values).values()
    return found


def known(found: Reach | NoReach) -> Reach:
    assert isinstance(found, Reach)
    return found


def test_runs_without_noise_reach_what_their_times_say() -> None:
    found = known(reach({name: np.full(5, seconds) for name, seconds in TRUE_S.items()}))

    assert found.perfect_s == pytest.approx(2)
    assert found.reached.value == pytest.approx(REACHED)
    assert found.equal_shares is not None
    assert found.equal_shares.value == pytest.approx(CAP)
    assert found.reached.interval is None, "without a spread nothing is known of the error"


def test_what_slows_a_whole_block_is_in_no_interval() -> None:
    blocks = np.exp(np.linspace(0, 0.3, 10)) * (1 + 1e-6 * np.arange(10) % 3)
    found = known(reach({name: seconds * blocks for name, seconds in TRUE_S.items()}))

    assert found.reached.value == pytest.approx(REACHED, rel=1e-5)
    assert found.reached.interval is None or found.reached.interval.half_width < 1e-5


@doses(few=300, full=2000)
@pytest.mark.parametrize("in_blocks", [True, False])
def test_intervals_hold_the_true_shares_as_often_as_they_say(in_blocks: bool, dose: Dose) -> None:
    """Of unlike attempts runs have no common blocks, and their errors add up."""
    rng = np.random.default_rng(7)
    shared = 0.03 if in_blocks else 0.0
    # Blocks without numbers are in no pair.
    unknown = {} if in_blocks else {"block": np.full(10, np.nan)}
    held, by_chance_in_modes = {"reached": 0, "cap": 0}, 0
    for _ in range(dose.draws):
        found = reach(drawn(rng, shared=shared, own=0.02), **unknown)
        if isinstance(found, NoReach):
            assert found.why == "modes"
            by_chance_in_modes += 1
            continue
        assert found.equal_shares is not None
        assert found.reached.difference is not None
        assert found.reached.difference.paired == in_blocks
        for name, share, true in (
            ("reached", found.reached, REACHED),
            ("cap", found.equal_shares, CAP),
        ):
            assert share.interval is not None
            held[name] += true in share.interval
    # Each of two or three samples is seldom taken for two modes.
    assert by_chance_in_modes / dose.draws <= dose.at_most(0.01)
    for count in held.values():
        share_held = count / (dose.draws - by_chance_in_modes)
        assert dose.at_least(LEVEL - 0.015) <= share_held <= dose.at_most(LEVEL + 0.015)


def test_means_alone_have_the_error_of_their_deviations() -> None:
    """Of a publication: w_P = 2/3 of the speed is the P-cores', so d log perfect = 2/3, 1/3."""
    spread = {"team": (3.2, 0.05), "P": (6.0, 0.06), "E": (12.0, 0.3)}
    team, on_p, on_e = (case(name, *numbers) for name, numbers in spread.items())
    bound = Bound(team, "one thread", THREADS, {"P": on_p, "E": on_e}, stays=True)

    ((found,),) = reaches_of({"": (bound,)}, {}).values()

    of_log = (1, 2 / 3, 1 / 3)
    parts = [
        (w * sd / mean) ** 2 / 10 for w, (mean, sd) in zip(of_log, spread.values(), strict=True)
    ]
    df = sum(parts) ** 2 / sum(part**2 / 9 for part in parts)
    half = stats.t.ppf(0.975, df) * sum(parts) ** 0.5
    interval = known(found).reached.interval
    assert interval is not None
    assert np.log([interval.low, interval.high]) == pytest.approx(
        [np.log(REACHED) - half, np.log(REACHED) + half]
    )
    # Of the equal shares' time, that of the E-cores, only 2/3 of the error is left in the ratio.
    cap = known(found).equal_shares
    assert cap is not None
    assert cap.difference is not None
    weights = (2 / 3 * 0.06 / 6, -2 / 3 * 0.3 / 12)
    assert cap.difference.standard_error == pytest.approx((sum(w**2 for w in weights) / 10) ** 0.5)


def test_above_the_bound_is_not_clipped() -> None:
    faster = {name: np.full(5, seconds) for name, seconds in (TRUE_S | {"team": 1.6}).items()}

    assert known(reach(faster)).reached.value == pytest.approx(1.25)


def test_one_run_has_no_interval() -> None:
    single = known(reach({name: np.array([seconds]) for name, seconds in TRUE_S.items()}))

    assert single.reached.value == pytest.approx(REACHED)
    assert single.reached.difference is None


def test_runs_in_modes_have_no_typical_share() -> None:
    times = drawn(np.random.default_rng(3), 12, own=0.001)
    times["team"][::2] *= 1.5

    assert reach(times) == NoReach("modes")


def test_runs_that_were_not_made_in_turn_are_not_set_against_each_other() -> None:
    times = drawn(np.random.default_rng(3))
    values = {IDS[name]: values_of(own, at) for at, (name, own) in enumerate(times.items(), 1)}
    later = values[IDS["E"]]
    values[IDS["E"]] = replace(
        later, order=later.order + 1e6, started_s=later.started_s + 1e6, block=later.block + 100
    )

    ((found,),) = reaches_of({"": (BOUND,)}, values).values()

    assert found == NoReach("out of turn", ("E",))


def test_data_has_the_numbers_or_why_there_are_none() -> None:
    data = raw_reach(reach(drawn(np.random.default_rng(5))))

    assert data["references"] == {"P": IDS["P"], "E": IDS["E"]}
    assert data["reached_low"] < data["reached"] < data["reached_high"]
    assert (data["n"], data["paired"], data["estimand"]) == (10, True, "typical")
    ((none,),) = reaches_of({"": (NoBound("no speed", ("E",)),)}, {}).values()
    assert raw_reach(none) == {"missing": "no speed", "kinds": ["E"]}


@pytest.mark.parametrize("in_blocks", [True, False])
def test_equal_shares_wait_for_the_kind_that_is_typically_slower_and_cap_at_100_percent(
    in_blocks: bool,
) -> None:
    rng = np.random.default_rng(11)
    times = drawn(rng) | {"P": 6 * np.exp(rng.normal(0, 0.02, 10)), "E": np.full(10, 6.1)}
    # A slow run makes the mean of P the greater one, and not its typical time.
    times["P"][3] *= 3
    means = {kind: case(kind, float(times[kind].mean())) for kind in THREADS}
    bound = replace(BOUND, references=means)
    blocks = np.arange(10.0) if in_blocks else np.full(10, np.nan)
    values = {
        IDS[name]: replace(values_of(own, at), block=blocks)
        for at, (name, own) in enumerate(times.items(), 1)
    }

    ((found,),) = reaches_of({"": (bound,)}, values).values()

    cap = known(found).equal_shares
    assert cap is not None
    assert cap.interval is not None
    # 1 / (2 / 6 + 2 / 6.1) over 6.1 / 4 is 0.992.
    assert cap.value == pytest.approx(0.992, abs=0.007)
    assert cap.interval.low < cap.value <= cap.interval.high == 1
