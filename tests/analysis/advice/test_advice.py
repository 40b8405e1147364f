from __future__ import annotations

import json
import math
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from syrupy.assertion import SnapshotAssertion

from analysis.advice.build import advice_of
from analysis.advice.data import as_data
from analysis.advice.gain import gain_of
from analysis.advice.model import Advice
from analysis.answer import analyze
from analysis.output import advice_data, write_advice, write_advice_only, write_output
from analysis.recommendation import (
    advice_lines,
    advice_markdown,
    answer_lines,
    answer_texts,
    why_text,
)
from analysis.results.sources import open_results
from analysis.verdict_text.document import as_text
from base.errors import UserError
from configs.repetitions import ANY
from configs.repetitions import Race as Rule
from runners.records.race.confirmation import EARLY_ALPHA, typical_gain
from tests.analysis.advice.simulated_race import (
    GAIN,
    NO_ENERGY,
    NO_GAIN,
    Entrant,
    SimulatedRace,
    advice,
    write_results,
)
from tests.support.golden import GoldenFile
from tests.support.results import plain, record, write

NOISY = replace(NO_GAIN, noise=0.05)


def answer_text(folder: Path, race: SimulatedRace) -> str:
    return "\n".join(answer_texts(advice(folder, race)))


def is_left(found: Advice) -> bool:
    """Return whether the command is that of the reference, which the user starts now."""
    assert not found.lines
    return found.command == "'/home/user/my app' -n 100"


def confirmation_values(folder: Path, case_id: str, repetitions: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401
    """Return what the records say of some runs of a case."""
    (shard,) = folder.glob("records/*.jsonl")
    records = [json.loads(line) for line in shard.read_text().splitlines()]
    return np.array(
        [
            item["race_value"]
            for item in records
            if item["case_id"] == case_id
            and not item.get("warmup")
            and item["repetition"] in repetitions
        ]
    )


def test_a_gain_its_lines_and_what_was_ruled_out_stand_in_the_file(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    race = replace(
        GAIN,
        failing=frozenset([2]),
        left_out={"ecores-pin": "8 threads need 8 CPUs; ecores has 4 here"},
    )
    found = advice(tmp_path, race)
    assert advice_markdown(found) == snapshot(extension_class=GoldenFile)
    assert found.confirmation is not None
    assert set(found.confirmation.other_objectives) == {"energy", "edp"}


def test_the_answer_begins_with_a_command_and_its_gain(tmp_path: Path) -> None:
    command, gain = answer_lines(advice(tmp_path, GAIN), 100)
    assert command == (
        "OMP_NUM_THREADS=4 OMP_PLACES='{0},{2},{4},{6}' OMP_PROC_BIND=close "
        "'/home/user/my app' -n 100"
    )
    assert re.fullmatch(
        r"1[12] % less time than as you start it now \(95 %: 1\d to 1\d %\); 29 runs of each; "
        r"the node was quiet",
        gain,
    )


def test_the_command_is_that_of_the_tool_that_was_timed(tmp_path: Path) -> None:
    race = SimulatedRace([Entrant("unpinned", 2.0), Entrant("pcores-set", 1.0)])
    found = advice(tmp_path, race)
    assert found.command == ("OMP_NUM_THREADS=4 taskset -c 0,2,4,6,8,10 '/home/user/my app' -n 100")


def test_cpus_that_a_recommendation_leaves_free_are_named(tmp_path: Path) -> None:
    slow = Entrant("unpinned", 2.0)

    def free(best: Entrant) -> tuple[int, ...]:
        return advice(tmp_path / best.mapping, SimulatedRace([slow, best])).left_free

    assert free(Entrant("pcores-pin", 1.0)) == (1, 3, 5, *range(7, 16))
    assert free(Entrant("pcores-set", 1.0)) == (1, 3, 5, 7, 9, *range(11, 16))
    # A thread that the OS scheduler moves leaves no CPU to others.
    assert free(replace(slow, time_s=1.0, schedule="guided")) == ()


def test_a_shell_runs_the_command_as_it_stands(tmp_path: Path) -> None:
    echo = 'printf %s/%s/%s "$OMP_NUM_THREADS" "$OMP_PLACES" "$1"'
    fields = {"command": ["taskset", "-c", "0", "/bin/sh", "-c", echo, "sh", "it's {a b}"]}
    fast = replace(Entrant("pcores-pin", 1.0, threads=1), more_fields=fields)
    found = advice(tmp_path, SimulatedRace([Entrant("unpinned", 2.0), fast]))
    run = subprocess.run(["/bin/sh", "-c", found.command], capture_output=True, check=True)
    assert run.stdout.decode() == "1/{0}/it's {a b}"


def test_the_gain_is_of_the_trials_runs_alone(tmp_path: Path) -> None:
    found = advice(tmp_path, GAIN)
    assert found.confirmation is not None
    assert found.confirmation.difference is not None
    assert found.best is not None
    node = tmp_path / "advise-app-0123abcd" / "node1"
    best, reference = (
        np.log(confirmation_values(node, case_id, found.state.confirmation[case_id]))
        for case_id in (found.best.case_id, found.reference.case_id)
    )
    assert found.confirmation.pairs == len(best) == len(reference) >= 10
    assert len(best) < found.best.runs
    difference = found.confirmation.difference
    assert difference.log_ratio == pytest.approx(stats.trim_mean(best - reference, 0.2))
    assert -0.16 < difference.log_ratio < -0.10
    # The trial ended early, so that its interval is wider than one of 95 %.
    assert found.state.level == EARLY_ALPHA
    gain, size = found.gains, found.confirmation.gain
    assert gain is not None
    assert size is not None
    # Its two sizes, typical and by the mean, share the level.
    interval = difference.interval(1 - EARLY_ALPHA / 2)
    assert gain.high == pytest.approx(1 - interval.low)
    assert gain.low == pytest.approx(1 - interval.high)
    means = np.mean(np.exp(reference)), np.mean(np.exp(best))
    assert size.mean == pytest.approx(np.log(means[0] / means[1]))
    assert 0 < size.least_mean < size.mean


def test_a_gain_that_is_hardly_told_may_be_much_smaller() -> None:
    rng = np.random.default_rng(4)
    reference = rng.normal(0, 0.02, 50)
    best = reference + rng.normal(0, 0.04, 50)
    noise = typical_gain(best.tolist(), reference.tolist())
    least = []
    for errors in (2.2, 3.0, 6.0, 12.0):
        shifted = best + noise.mean - errors * noise.error
        size = gain_of(shifted.tolist(), reference.tolist(), 0.046, higher=False)
        plain = typical_gain(shifted.tolist(), reference.tolist()).bounds(0.023)[0]
        least.append((size.typical.low, plain))
    # Two, three, six and twelve errors from none: nothing is left of the first.
    assert least[0][0] == 0
    assert 0 <= least[1][0] < least[1][1]
    for told, plain in least[2:]:
        assert told == pytest.approx(plain, rel=0.1)


def test_a_gain_that_holds_typically_and_not_by_the_mean_is_told_and_not_recommended(
    tmp_path: Path,
) -> None:
    # One run in ten of the only other case is 30 % longer, as much as the others are shorter.
    def slow(at: int, repetition: int) -> dict[str, Any]:
        times = 1.3 if repetition % 10 == 3 else 1.0
        time_s = 39.0 * times * (1 + 0.001 * math.sin(repetition))
        return {"elapsed_s": time_s, "race_value": time_s} if at == 1 else {}

    entrants = (Entrant("unpinned", 40.0), Entrant("pcores-pin", 39.0))
    found = advice(tmp_path, SimulatedRace(entrants, noise=0.003, spoil=slow))
    assert (found.state.decision, found.recommended, found.lines) == ("split", None, ())
    assert is_left(found)
    assert found.confirmation is not None
    assert found.confirmation.gain is not None
    assert found.confirmation.gain.typical.low > 0 > found.confirmation.gain.least_mean
    slow_ones = found.caveat("slow runs")
    assert slow_ones is not None
    assert slow_ones.numbers == {"best": 7, "best_runs": 64, "reference": 0, "reference_runs": 64}
    assert "not both typically and by the mean" in "\n".join(answer_texts(found))


def test_a_gain_that_holds_by_the_mean_and_not_typically_is_told_and_not_recommended(
    tmp_path: Path,
) -> None:
    def slow(at: int, repetition: int) -> dict[str, Any]:
        time_s = 40.0 * (1.5 if repetition % 7 == 3 else 1.0) * (1 + 0.001 * math.sin(repetition))
        return {"elapsed_s": time_s, "race_value": time_s} if at == 0 else {}

    entrants = (Entrant("unpinned", 40.0), Entrant("pcores-pin", 40.0))
    found = advice(tmp_path, SimulatedRace(entrants, noise=0.003, spoil=slow))
    assert (found.state.decision, found.recommended) == ("split", None)
    assert is_left(found)
    assert found.confirmation is not None
    assert found.confirmation.gain is not None
    assert found.confirmation.gain.least_mean > 0
    assert found.gains is not None
    assert found.gains.low == 0


def test_a_metric_where_higher_is_better_gains_more(tmp_path: Path) -> None:
    race = replace(GAIN, rule=Rule(of="gflops", higher=True))
    found = advice(tmp_path, race)
    assert "% higher gflops than as you start it now (95 %: " in answer_texts(found)[0]
    assert all(case.ratio < 1 for case in found.eliminations if case.ratio)
    assert found.confirmation is not None
    assert found.confirmation.difference is not None
    assert found.confirmation.difference.ratio > 1
    assert "time" in found.confirmation.other_objectives


def test_a_race_for_a_rate_says_the_words_of_a_verdict_by_it(tmp_path: Path) -> None:
    units = {"metric_units": {"rate": "Gflop/s"}}
    entrants = [replace(entrant, more_fields=units) for entrant in GAIN.entrants]
    race = replace(GAIN, entrants=entrants, rule=Rule(of="rate", higher=True))

    assert "% more Gflop/s (rate) than as you" in answer_text(tmp_path, race)


def test_leaving_it_is_a_result_with_the_gain_that_it_excludes(tmp_path: Path) -> None:
    found = advice(tmp_path, NO_GAIN)
    assert is_left(found)
    shown, best = answer_texts(found)
    assert shown == (
        "as you start it now: nothing tried was shown to be better by more than 1 %; "
        "10 runs of each; the node was quiet"
    )
    assert best.startswith("nearest tried: 4 threads, pcores-set: time ")
    assert found.recommended is found.reference
    assert (found.points, found.no_energy) == ((), NO_ENERGY)
    data = advice_data(tmp_path / "advise-app-0123abcd" / "node1")
    assert 0 <= data["confirmation"]["most_gain"] < 0.01


def test_leaving_it_is_no_result_beside_cases_that_were_not_compared(tmp_path: Path) -> None:
    some = advice(tmp_path / "some", replace(NO_GAIN, failing=frozenset({1})))
    assert some.compared == 2
    assert [case.outcome for case in some.eliminations].count("not compared") == 1
    none = advice(tmp_path / "none", replace(NO_GAIN, failing=frozenset({1, 2, 3})))
    assert answer_texts(none) == ["as you start it now: no other case could be compared"]


def test_too_few_runs_are_undecided_and_the_command_goes_on(tmp_path: Path) -> None:
    found = advice(tmp_path, NOISY)
    assert is_left(found)
    assert (found.state.decision, found.limited_by) == ("undecided", "runs")
    again = "pinstudy advise -- '/home/user/my app' -n 100"
    assert f"undecided: raise `--runs` (130 now) and go on with `{again}`" in answer_texts(found)


@pytest.mark.parametrize(
    ("time_budget_s", "pairs", "said"),
    [
        (130.0, None, "best tried: 4 threads, pcores-pin: no room for enough runs"),
        (210.0, 1, "best tried: 4 threads, pcores-pin: no room for enough runs"),
        (400.0, 3, "best tried: 4 threads, pcores-pin: time -12 % in 3 of 10 runs that are needed"),
    ],
)
def test_a_trial_of_too_few_runs_recommends_nothing(
    time_budget_s: float, pairs: int | None, said: str, tmp_path: Path
) -> None:
    entrants = (GAIN.entrants[0], GAIN.entrants[3])
    found = advice(
        tmp_path, replace(GAIN, entrants=entrants, rule=Rule(time_budget_s=time_budget_s))
    )
    assert is_left(found)
    assert (found.confirmation and found.confirmation.pairs) == pairs
    assert said in answer_texts(found)


def test_where_time_alone_limits_the_answer_asks_for_more_time_and_names_no_runs(
    tmp_path: Path,
) -> None:
    rule = Rule(time_budget_s=1800.0, runs=ANY)
    found = advice(tmp_path, replace(NOISY, noise=0.2, rule=rule))
    assert found.limited_by == "time_budget"
    assert "raise `--time-budget` (30 min 00 s now)" in "\n".join(answer_texts(found))
    stopped = answer_text(tmp_path / "stopped", replace(NOISY, rule=rule, stop=9))
    assert stopped.startswith("unfinished: 8 runs in 5 min ")
    assert " of at most 30 min 00 s; go on with" in stopped


def test_a_race_that_was_stopped_is_unfinished_whatever_its_runs_show(tmp_path: Path) -> None:
    most = len(GAIN.records())
    for stop in (1, most // 2, most - 4, most - 1):
        (text,) = answer_lines(advice(tmp_path / str(stop), replace(GAIN, stop=stop)))
        assert text.startswith("unfinished: "), stop
        assert "pinstudy advise -- " in text


@pytest.mark.parametrize(
    ("now", "decision"),
    [
        ('{"runs": 24}', "undecided"),
        ('{"time_budget_s": 5400}', "unfinished"),
        ('{"of": "energy", "runs": 24}', "unfinished"),
        ('{"runs": -1, "time_budget_s": -5}', "unfinished"),
        ('{"runs": [24]}', "unfinished"),
        ("nothing of a race", "unfinished"),
    ],
)
def test_a_race_that_is_given_less_now_ends_by_that(
    now: str, decision: str, tmp_path: Path
) -> None:
    folder = write_results(tmp_path, replace(NO_GAIN, noise=0.3, stop=66))
    (folder / "race.json").write_text(now)
    found = advice_of(open_results(str(folder)))
    assert found is not None
    assert found.state.decision == decision


def test_an_unfinished_race_has_fewer_runs_than_it_may_make(tmp_path: Path) -> None:
    # The warm-up run does not count, and of the last block one run is still to be made.
    stop = len(NOISY.records()) - 1
    folder = tmp_path / "advise-app-0123abcd" / "node1"
    text = answer_text(tmp_path, replace(NOISY, stop=stop))
    assert text.startswith(f"unfinished: {stop - 1} runs of at most {stop}; go on with")
    assert (advice_data(folder)["runs"], advice_data(folder)["most_runs"]) == (stop - 1, stop)


def test_without_the_command_that_was_typed_the_answer_names_the_command_alone(
    tmp_path: Path,
) -> None:
    folder = write_results(tmp_path, NOISY)
    (folder / "race.json").unlink()
    found = advice_of(open_results(str(folder)))
    assert found is not None
    assert found.next_command == "pinstudy advise"


def test_a_trial_without_spread_decides_nothing(tmp_path: Path) -> None:
    found = advice(tmp_path, replace(GAIN, noise=0.0))
    assert is_left(found)
    assert found.state.p == 1
    assert "(no interval: equal values)" in "\n".join(answer_texts(found))
    data = advice_data(tmp_path / "advise-app-0123abcd" / "node1")["confirmation"]
    assert (data["ratio"]["ratio_low"], data["least_gain"], data["most_gain"]) == (None,) * 3


def test_without_a_good_run_of_the_reference_there_is_no_answer(tmp_path: Path) -> None:
    (text,) = answer_lines(advice(tmp_path, replace(GAIN, failing=frozenset([0]))))
    assert text.startswith("no answer: as you start it now it had no good run (exit status 3")


def test_what_is_ruled_out_is_worse_or_not_shown_to_be_better(tmp_path: Path) -> None:
    slow = [
        Entrant("ecores-pin", 90.0 + at, threads=4, schedule=f"dynamic,{at}") for at in range(1, 41)
    ]
    found = advice(tmp_path, SimulatedRace((*GAIN.entrants[:1], *GAIN.entrants[3:4], *slow)))
    assert {case.outcome for case in found.eliminations} == {"worse"}
    assert len(found.eliminations) == 40
    for case in found.eliminations:
        assert case.interval is not None
        assert case.ratio is not None
        assert case.ratio == pytest.approx(90 / 35.2, rel=0.5)
        assert 1 < case.interval.low < case.ratio < case.interval.high
    alike = [Entrant("pcores-set", 35.2, schedule=f"dynamic,{at}") for at in range(1, 31)]
    for seed in range(5):
        race = SimulatedRace((*GAIN.entrants[:1], *alike), seed=seed)
        near = advice(tmp_path / str(seed), race).eliminations
        # With 30 intervals of 95 % each by itself, one would be above or below by chance.
        assert all(case.interval is None or case.interval.high >= 1 for case in near)
        assert sum(case.outcome == "worse" for case in near) <= 1


def test_the_interval_of_a_ruled_out_case_is_of_its_pairs_with_the_best(tmp_path: Path) -> None:
    found = advice(tmp_path, NO_GAIN)
    (case,) = (case for case in found.eliminations if case.candidate.name.endswith("pcores-pin"))
    assert found.best is not None
    node = tmp_path / "advise-app-0123abcd" / "node1"
    blocks = range(1, case.pairs + 1)
    mine, best = (
        np.log(confirmation_values(node, case_id, blocks))
        for case_id in (case.candidate.case_id, found.best.case_id)
    )
    assert case.pairs == len(mine) >= 2
    differences = mine - best
    assert case.ratio == pytest.approx(np.exp(differences.mean()))
    # The variance of few pairs stands beside that of all cases, which counts as four values.
    assert found.state.noise is not None
    own = ((differences - differences.mean()) ** 2).sum()
    df = 4 + case.pairs - 1
    error = np.sqrt((4 * 2 * found.state.noise**2 + own) / df / case.pairs)
    reach = stats.t.ppf(1 - 0.05 / 2 / 2, df) * error
    assert case.interval is not None
    assert case.interval.low == pytest.approx(np.exp(differences.mean() - reach))
    assert case.interval.high == pytest.approx(np.exp(differences.mean() + reach))


def test_a_run_that_was_cut_short_says_how_much_slower_it_is_at_least(tmp_path: Path) -> None:
    limited = {"status": "timeout", "elapsed_s": 140.0, "reason": "ended after 140 s"}

    def spoil(at: int, repetition: int) -> dict[str, Any]:
        return limited if (at, repetition) == (4, 1) else {}

    found = advice(tmp_path, replace(GAIN, spoil=spoil))
    (case,) = (case for case in found.eliminations if case.at_least)
    assert case.candidate.name == "4 threads, ecores-pin"
    assert (case.outcome, case.interval) == ("worse", None)
    # Of the shortest run, which took 35 s or so.
    assert case.ratio == pytest.approx(4.0, rel=0.1)
    assert re.search(r"4 threads, ecores-pin +0 +over \+\d+ % +- +worse", why_text(found))


def test_cases_that_there_was_no_time_for_are_counted(tmp_path: Path) -> None:
    race = replace(GAIN, rule=Rule(time_budget_s=1060.0))
    assert advice(tmp_path, race).no_time == 1
    assert "not tried, for want of time or runs: 1 case" in why_text(advice(tmp_path, race))
    assert re.search(r"\n\d+ runs of 5 cases in ", why_text(advice(tmp_path, race)))


def test_lines_set_a_governor_that_is_not_in_force_and_a_schedule_that_raced(
    tmp_path: Path,
) -> None:
    fast = Entrant("pcores-pin", 30.0, governor="performance")
    race = replace(GAIN, entrants=(GAIN.entrants[0], GAIN.entrants[3], fast))
    tools = {line.tool for line in advice(tmp_path / "a", race).lines}
    assert {"governor", "governor by cpupower"} <= tools
    in_force = replace(fast, governor="powersave")
    guided = Entrant("unpinned", 38.0, schedule="guided", threads=16)
    lines = advice(tmp_path / "b", replace(race, entrants=(*race.entrants[:2], in_force))).lines
    assert "governor" not in {line.tool for line in lines}
    assert "OMP_SCHEDULE" not in lines[0].text
    raced = replace(GAIN, entrants=(*GAIN.entrants, guided))
    assert "OMP_SCHEDULE=static" in advice(tmp_path / "c", raced).lines[0].text


def test_settings_are_named_where_cases_differ_and_have_to_be_set_first(tmp_path: Path) -> None:
    asked = {"settings": {"epp": "power", "turbo": "off"}}
    entrants = [
        replace(entrant, more_fields={"settings": {"turbo": "off"}}) for entrant in GAIN.entrants
    ]
    entrants[3] = replace(entrants[3], more_fields=asked)
    found = advice(tmp_path, replace(GAIN, entrants=entrants))
    assert found.recommended
    assert found.recommended.name == "4 threads, pcores-pin, EPP power"
    lines = {line.tool: line.text for line in found.lines}
    to_set = [caveat for caveat in found.caveats if caveat.code == "setting"]
    assert [(caveat.names, caveat.text) for caveat in to_set] == [
        ((name,), lines[name]) for name in ("epp", "turbo")
    ]
    assert as_data(found)["best"]["settings"] == asked["settings"]


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"noise": 0.12}, "noise"),
        ({"more_fields": {"throttle": {"core_count": 3}}}, "disturbed"),
        ({"attempts": True}, "attempts"),
    ],
)
def test_what_casts_doubt_stands_in_the_advice(
    changed: dict[str, Any], code: str, tmp_path: Path
) -> None:
    race = replace(GAIN, noise=changed.get("noise", GAIN.noise))
    records = [item | changed.get("more_fields", {}) for item in race.records()]
    if "attempts" in changed:
        records = [*records[:-2], *(item | {"attempt": 2} for item in records[-2:])]
    write(tmp_path, records)
    found = advice_of(open_results(str(tmp_path)))
    assert found is not None
    assert code in [caveat.code for caveat in found.caveats]
    assert not advice(tmp_path / "quiet", GAIN).caveats


def test_a_setting_that_has_to_be_made_first_is_told_below_the_command(tmp_path: Path) -> None:
    fast = Entrant("pcores-pin", 30.0, governor="performance")
    found = advice(tmp_path, replace(GAIN, entrants=(GAIN.entrants[0], fast)))
    assert answer_texts(found)[1] == "first, as root: pinstudy tune --governor performance"


def test_more_threads_than_cpus_and_variables_that_were_not_passed_on_are_told(
    tmp_path: Path,
) -> None:
    start = {"set": {"OMP_NUM_THREADS": "17"}, "removed": ["OMP_PLACES"]}
    now = Entrant("unpinned", 40.0, threads=17, more_fields={"environment": start})
    found = advice(tmp_path, replace(NO_GAIN, entrants=(now, *NO_GAIN.entrants[1:])))
    assert found.command == "env -u OMP_PLACES '/home/user/my app' -n 100"
    assert "17 threads on 16 CPUs: oversubscribed" in answer_texts(found)
    assert "measured without your OMP_PLACES" in answer_texts(found)


def test_a_short_answer_is_shown_and_all_of_it_is_written(tmp_path: Path) -> None:
    folder = write_results(tmp_path, GAIN)
    outcome = write_advice(folder, 100)
    assert plain(outcome.lines).startswith("OMP_NUM_THREADS=4 OMP_PLACES=")
    assert (len(outcome.lines), outcome.launchers) == (2, True)
    shown = plain(write_advice(folder, 100, lines=True, why=True).lines)
    assert "likwid-pin: none, because" in shown
    assert re.search(r"4 threads, ecores-pin +\d+ +\+\d+ % +\+\d+ to \+\d+ % +worse +slower", shown)
    names = [path.name for path in outcome.files]
    assert names == [
        "advice.md", "tables.md", "tables.csv", "tables.tex", "verdict.md", "report.html",
    ]  # fmt: skip
    assert write_output(folder, 100) == outcome
    alone = write_results(tmp_path / "alone", NO_GAIN)
    outcome = write_advice_only(alone, 100)
    assert plain(outcome.lines).startswith("'/home/user/my app' -n 100\nas you start it now: ")
    assert {path.name for path in outcome.files} >= {"advice.md", "tables.md"}
    assert not (alone / "report.html").exists()


def test_the_verdict_of_a_race_is_its_advice_and_compares_nothing_else(tmp_path: Path) -> None:
    folder = write_results(tmp_path, GAIN)
    findings = analyze(open_results(str(folder)))
    assert findings.decision_lines[0].startswith(
        "4 threads, pcores-pin: 12 % less time than as you"
    )
    assert findings.comparisons == 0
    assert not any(table.decisions for table in findings.tables)
    # Means of cases that ended early are rough, as the advice says where it has the front.
    assert "Pareto front" not in as_text(findings)
    assert any("the cases raced" in footnote for footnote in findings.footnotes)


def test_results_that_did_not_race_have_no_advice(tmp_path: Path) -> None:
    write(tmp_path, [record(1, repetition) for repetition in (1, 2, 3)])
    assert advice_of(open_results(str(tmp_path))) is None
    with pytest.raises(UserError, match="no race is recorded here"):
        advice_data(tmp_path)


def hostile() -> Iterator[dict[str, Any]]:
    """Yield fields that no pinstudy writes."""
    rule = GAIN.records()[0]["repetition_rule"]["race"]
    yield {"repetition_rule": {"race": []}}
    yield {"repetition_rule": {"race": rule | {"margin": "1%"}}}
    yield {"repetition_rule": {"race": rule | {"of": "x" * 1000}}}
    yield {"repetition_rule": {"race": rule | {"cases": 10**30}}}
    yield {"repetition_rule": {"race": rule | {"runs": -1, "time_budget_s": float("nan")}}}
    yield {"race_value": 0}
    yield {"race_value": "fast"}
    yield {"race_value": float("inf")}
    yield {"command": "rm -rf /", "environment": []}
    yield {"command": [], "runtime": 3}
    yield {"command": ["a\0b"], "mechanism": "magic"}
    yield {"mechanism": ["taskset"], "binding": {}}
    yield {"cpus": "0-99999999999"}
    yield {"table_number": -1}
    yield {"schedule": "static\nExecStart=/bin/sh", "governor": "x\x1b[31m"}
    yield {"elapsed_s": 0.5, "energy_pkg_j": "much"}


@pytest.mark.parametrize("fields", list(hostile()), ids=str)
def test_records_of_any_kind_give_an_answer_or_none(fields: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path, [item | fields for item in GAIN.records()])
    findings = analyze(open_results(str(tmp_path)))
    assert findings.decision_lines
    if findings.advice is not None:
        made = [*answer_lines(findings.advice, 80), *advice_lines(findings.advice)]
        text = "\n".join([*made, why_text(findings.advice), advice_markdown(findings.advice)])
        assert "\x1b" not in text
        assert "\nExecStart" not in text
        json.dumps(as_data(findings.advice), allow_nan=False)


def test_a_race_without_a_usable_record_is_refused(tmp_path: Path) -> None:
    write(tmp_path, [item | {"elapsed_s": -5} for item in GAIN.records()])
    with pytest.raises(UserError, match="there is no run in its records"):
        open_results(str(tmp_path))


def test_ranks_have_no_ready_lines_and_the_reason_stands_in_their_place(tmp_path: Path) -> None:
    of_ranks = {"ranks": 2, "mpi": "openmpi", "rank_cpus": ["0,2", "4,6"]}
    entrants = [replace(entrant, more_fields=of_ranks) for entrant in GAIN.entrants]
    found = advice(tmp_path, replace(GAIN, entrants=entrants))

    assert found.recommended is not None
    assert found.recommended.name.startswith("2 ranks of ")
    (line,) = found.lines
    assert (line.tool, line.text) == ("openmpi", "")
    for text in ("\n".join(advice_lines(found)), advice_markdown(found)):
        assert "openmpi: none, because lines are of one process, and this case has 2 ranks" in text
    assert found.command.endswith("taskset -c 0,2,4,6 '/home/user/my app' -n 100")
    data = as_data(found)["recommended"]
    assert (data["ranks"], data["threads"]) == (2, found.recommended.summary.key.table.threads)
