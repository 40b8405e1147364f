"""What `advise` concludes from a race's records: a command and its gain, or why there is none."""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from syrupy.assertion import SnapshotAssertion

from pinstudy.analysis.advice.build import advice_of
from pinstudy.analysis.advice.model import Advice, as_data, gain_of
from pinstudy.analysis.answer import analyze
from pinstudy.analysis.output import advice_data, write_advice, write_advice_only, write_output
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.verdict_text.document import as_text
from pinstudy.analysis.words.advice import (
    advice_lines,
    advice_markdown,
    answer_lines,
    answer_texts,
    why_text,
)
from pinstudy.base.errors import UserError
from pinstudy.configs.repetitions import ANY
from pinstudy.configs.repetitions import Race as Rule
from pinstudy.runners.records.disturbances import SHARED
from pinstudy.runners.records.race.confirmation import EARLY_ALPHA, typical_gain
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
from tests.support.results import UNPROVED, VIOLATED, plain, record, write

NOISY = replace(NO_GAIN, noise=0.05)
BUSY = {"foreign_cpu_s": 9.0}
HOT = {"throttle": {"package_count": 1}}
EITHER = pytest.mark.parametrize("lost", [VIOLATED, UNPROVED], ids=["violated", "unproved"])


def node_of(folder: Path) -> Path:
    return folder / "advise-app-0123abcd" / "node1"


def is_left(found: Advice) -> bool:
    """Return whether the command is that of the reference, which the user starts now."""
    assert not found.lines
    return found.command == "'/home/user/my app' -n 100"


def logs_of(folder: Path, case_id: str, repetitions: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401
    """Return the logarithms of what the records say of some runs of a case."""
    (shard,) = folder.glob("records/*.jsonl")
    records = [json.loads(line) for line in shard.read_text().splitlines()]
    made = [run for run in records if run["case_id"] == case_id and not run.get("warmup")]
    return np.log([run["race_value"] for run in made if run["repetition"] in repetitions])


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


def test_a_short_answer_is_shown_and_all_of_it_is_written(tmp_path: Path) -> None:
    folder = write_results(tmp_path, GAIN)
    outcome = write_advice(folder, 100)
    command, gain = plain(outcome.lines).splitlines()
    assert command == (
        "OMP_NUM_THREADS=4 OMP_PLACES='{0},{2},{4},{6}' OMP_PROC_BIND=close "
        "'/home/user/my app' -n 100"
    )
    assert re.fullmatch(
        r"1[12] % less time than as you start it now \(95 %: 1\d to 1\d %\); 29 runs of each; "
        r"the node was quiet",
        gain,
    )
    assert outcome.launchers
    shown = plain(write_advice(folder, 100, lines=True, why=True).lines)
    assert "likwid-pin: none, because" in shown
    assert re.search(r"4 threads, ecores-pin +\d+ +\+\d+ % +\+\d+ to \+\d+ % +worse +slower", shown)
    assert [path.name for path in outcome.files] == [
        "advice.md", "tables.md", "tables.csv", "tables.tex", "verdict.md", "report.html",
    ]  # fmt: skip
    assert write_output(folder, 100) == outcome
    alone = write_results(tmp_path / "alone", NO_GAIN)
    outcome = write_advice_only(alone, 100)
    assert plain(outcome.lines).startswith("'/home/user/my app' -n 100\nas you start it now: ")
    assert {path.name for path in outcome.files} >= {"advice.md", "tables.md"}
    assert not (alone / "report.html").exists()


@pytest.mark.parametrize(
    ("best", "command", "free"),
    [
        (Entrant("pcores-set", 1.0), "OMP_NUM_THREADS=4 taskset -c 0,2,4,6,8,10 ",
         (1, 3, 5, 7, 9, *range(11, 16))),
        (Entrant("pcores-pin", 1.0), "OMP_NUM_THREADS=4 OMP_PLACES=", (1, 3, 5, *range(7, 16))),
        # A thread that the OS scheduler moves leaves no CPU to others.
        (Entrant("unpinned", 1.0, schedule="guided"), "OMP_NUM_THREADS=4 OMP_SCHEDULE=guided ", ()),
    ],
)  # fmt: skip
def test_the_command_is_that_of_the_tool_that_was_timed_and_leaves_cpus_free(
    tmp_path: Path, best: Entrant, command: str, free: tuple[int, ...]
) -> None:
    found = advice(tmp_path, SimulatedRace([Entrant("unpinned", 2.0), best]))
    assert found.command.startswith(command)
    assert found.command.endswith("'/home/user/my app' -n 100")
    assert found.left_free == free


def test_a_shell_runs_the_command_as_it_stands(tmp_path: Path) -> None:
    echo = 'printf %s/%s/%s "$OMP_NUM_THREADS" "$OMP_PLACES" "$1"'
    fields = {"command": ["taskset", "-c", "0", "/bin/sh", "-c", echo, "sh", "it's {a b}"]}
    fast = replace(Entrant("pcores-pin", 1.0, threads=1), more_fields=fields)
    found = advice(tmp_path, SimulatedRace([Entrant("unpinned", 2.0), fast]))
    run = subprocess.run(["/bin/sh", "-c", found.command], capture_output=True, check=True)
    assert run.stdout.decode() == "1/{0}/it's {a b}"


def test_the_gain_is_of_the_trials_runs_alone(tmp_path: Path) -> None:
    found = advice(tmp_path, GAIN)
    assert found.confirmation and found.confirmation.difference and found.best
    best, reference = (
        logs_of(node_of(tmp_path), case_id, found.state.confirmation[case_id])
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
    assert gain and size
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


@pytest.mark.parametrize(
    ("slow", "every", "times", "time_s", "typical"),
    [
        # One run in ten of the only other case is 30 % longer, as much as the others are shorter.
        (1, 10, 1.3, 39.0, True),
        # One run in seven of the reference is 50 % longer, and the others are as long.
        (0, 7, 1.5, 40.0, False),
    ],
    ids=["typically", "by the mean"],
)
def test_a_gain_that_holds_in_one_way_alone_is_told_and_not_recommended(
    tmp_path: Path, slow: int, every: int, times: float, time_s: float, typical: bool
) -> None:
    def spoil(at: int, repetition: int) -> Mapping[str, Any]:
        longer = times if repetition % every == 3 else 1.0
        value = time_s * longer * (1 + 0.001 * math.sin(repetition))
        return {"elapsed_s": value, "race_value": value} if at == slow else {}

    entrants = (Entrant("unpinned", 40.0), Entrant("pcores-pin", time_s))
    found = advice(tmp_path, SimulatedRace(entrants, noise=0.003, spoil=spoil))
    assert (found.state.decision, found.recommended) == ("split", None)
    assert is_left(found)
    assert found.confirmation and found.confirmation.gain and found.gains
    assert (found.confirmation.gain.typical.low > 0) == typical == (found.gains.low > 0)
    assert (found.confirmation.gain.least_mean > 0) != typical
    if typical:
        slow_runs = found.caveat("slow runs")
        assert slow_runs and slow_runs.numbers == {
            "best": 7, "best_runs": 64, "reference": 0, "reference_runs": 64,
        }  # fmt: skip
    assert "not both typically and by the mean" in "\n".join(answer_texts(found))


def test_a_metric_where_higher_is_better_gains_more(tmp_path: Path) -> None:
    units = {"metric_units": {"rate": "Gflop/s"}}
    entrants = [replace(entrant, more_fields=units) for entrant in GAIN.entrants]
    found = advice(tmp_path, replace(GAIN, entrants=entrants, rule=Rule(of="rate", higher=True)))
    assert "% more Gflop/s (rate) than as you start it now (95 %: " in answer_texts(found)[0]
    assert all(case.ratio < 1 for case in found.eliminations if case.ratio)
    assert found.confirmation and found.confirmation.difference
    assert found.confirmation.difference.ratio > 1
    assert "time" in found.confirmation.other_objectives


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
    assert 0 <= advice_data(node_of(tmp_path))["confirmation"]["most_gain"] < 0.01


AGAIN = "`pinstudy advise -- '/home/user/my app' -n 100`"
PAIR = replace(GAIN, entrants=(GAIN.entrants[0], GAIN.entrants[3]))
NEAREST = "best tried: 4 threads, pcores-pin: "
HALF_AN_HOUR = Rule(time_budget_s=1800.0, runs=ANY)
RUNS = len(GAIN.records())
MOST = len(NOISY.records()) - 1


@pytest.mark.parametrize(
    ("race", "said"),
    [
        (replace(GAIN, failing=frozenset({0})),
         "no answer: as you start it now it had no good run (exit status 3"),
        (replace(NO_GAIN, failing=frozenset({1, 2, 3})),
         "as you start it now: no other case could be compared"),
        (NOISY, f"undecided: raise `--runs` (130 now) and go on with {AGAIN}"),
        (replace(NOISY, noise=0.2, rule=HALF_AN_HOUR), "raise `--time-budget` (30 min 00 s now)"),
        # A trial of too few runs recommends nothing.
        (replace(PAIR, rule=Rule(time_budget_s=210.0)), f"{NEAREST}no room for enough runs"),
        (replace(PAIR, rule=Rule(time_budget_s=400.0)),
         f"{NEAREST}time -12 % in 3 of 10 runs that are needed"),
        # A race that was stopped is unfinished, whatever its runs show. A warm-up does not count,
        # and of the last block one run is still to be made.
        *((replace(GAIN, stop=stop), "unfinished: ") for stop in (1, RUNS // 2, RUNS - 1)),
        (replace(NOISY, stop=MOST), f"unfinished: {MOST - 1} runs of at most {MOST}; go on with"),
        (replace(NOISY, rule=HALF_AN_HOUR, stop=9), "unfinished: 8 runs in 5 min "),
    ],
)  # fmt: skip
def test_without_enough_good_runs_nothing_is_recommended(
    race: SimulatedRace, said: str, tmp_path: Path
) -> None:
    found = advice(tmp_path, race)
    assert said in "\n".join(answer_texts(found))
    assert found.lines == ()


def test_what_was_not_compared_not_tried_or_not_typed_is_told(tmp_path: Path) -> None:
    failed = advice(tmp_path / "failed", replace(NO_GAIN, failing=frozenset({1})))
    assert failed.compared == 2
    assert [case.outcome for case in failed.eliminations].count("not compared") == 1
    short = advice(tmp_path / "short", replace(GAIN, rule=Rule(time_budget_s=1060.0)))
    assert short.no_time == 1
    assert "not tried, for want of time or runs: 1 case" in why_text(short)
    (node_of(tmp_path / "short") / "race.json").unlink()
    untold = advice_of(open_results(str(node_of(tmp_path / "short"))))
    assert untold and untold.next_command == "pinstudy advise"


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
def test_a_race_that_is_given_less_ends_by_that(now: str, decision: str, tmp_path: Path) -> None:
    folder = write_results(tmp_path, replace(NO_GAIN, noise=0.3, stop=66))
    (folder / "race.json").write_text(now)
    found = advice_of(open_results(str(folder)))
    assert found is not None
    assert found.state.decision == decision


def test_a_trial_without_spread_decides_nothing(tmp_path: Path) -> None:
    found = advice(tmp_path, replace(GAIN, noise=0.0))
    assert is_left(found)
    assert found.state.p == 1
    assert "(no interval: equal values)" in "\n".join(answer_texts(found))
    data = advice_data(node_of(tmp_path))["confirmation"]
    assert (data["ratio"]["ratio_low"], data["least_gain"], data["most_gain"]) == (None,) * 3


def test_what_is_ruled_out_is_worse_or_not_shown_to_be_better(tmp_path: Path) -> None:
    slow = [Entrant("ecores-pin", 90.0 + at, schedule=f"dynamic,{at}") for at in range(1, 41)]
    found = advice(tmp_path, SimulatedRace((GAIN.entrants[0], GAIN.entrants[3], *slow)))
    assert len(found.eliminations) == 40
    for case in found.eliminations:
        assert case.interval and case.ratio
        assert case.outcome == "worse"
        assert case.ratio == pytest.approx(90 / 35.2, rel=0.5)
        assert 1 < case.interval.low < case.ratio < case.interval.high
    alike = [Entrant("pcores-set", 35.2, schedule=f"dynamic,{at}") for at in range(1, 31)]
    for seed in range(3):
        race = SimulatedRace((GAIN.entrants[0], *alike), seed=seed)
        near = advice(tmp_path / str(seed), race).eliminations
        # With 30 intervals of 95 % each by itself, one would be above or below by chance.
        assert all(case.interval is None or case.interval.high >= 1 for case in near)
        assert sum(case.outcome == "worse" for case in near) <= 1


def test_the_interval_of_a_ruled_out_case_is_of_its_pairs_with_the_best(tmp_path: Path) -> None:
    found = advice(tmp_path, NO_GAIN)
    (case,) = (case for case in found.eliminations if case.candidate.name.endswith("pcores-pin"))
    assert found.best and found.state.noise is not None and case.interval
    mine, best = (
        logs_of(node_of(tmp_path), case_id, range(1, case.pairs + 1))
        for case_id in (case.candidate.case_id, found.best.case_id)
    )
    assert case.pairs == len(mine) >= 2
    differences = mine - best
    assert case.ratio == pytest.approx(np.exp(differences.mean()))
    # The variance of few pairs stands beside that of all cases, which counts as four values.
    own = ((differences - differences.mean()) ** 2).sum()
    df = 4 + case.pairs - 1
    error = np.sqrt((4 * 2 * found.state.noise**2 + own) / df / case.pairs)
    reach = stats.t.ppf(1 - 0.05 / 2 / 2, df) * error
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


def test_lines_set_a_governor_not_in_force_and_a_schedule_that_raced(tmp_path: Path) -> None:
    fast = Entrant("pcores-pin", 30.0, governor="performance")
    race = replace(GAIN, entrants=(GAIN.entrants[0], fast))
    found = advice(tmp_path / "a", race)
    assert {"governor", "governor by cpupower"} <= {line.tool for line in found.lines}
    assert answer_texts(found)[1] == "first, as root: pinstudy tune --governor performance"
    in_force = replace(fast, governor="powersave")
    lines = advice(tmp_path / "b", replace(race, entrants=(GAIN.entrants[0], in_force))).lines
    assert "governor" not in {line.tool for line in lines}
    assert "OMP_SCHEDULE" not in lines[0].text
    guided = Entrant("unpinned", 38.0, schedule="guided", threads=16)
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


def test_more_threads_than_cpus_and_variables_not_passed_on_are_told(tmp_path: Path) -> None:
    start = {"set": {"OMP_NUM_THREADS": "17"}, "removed": ["OMP_PLACES"]}
    now = Entrant("unpinned", 40.0, threads=17, more_fields={"environment": start})
    found = advice(tmp_path, replace(NO_GAIN, entrants=(now, *NO_GAIN.entrants[1:])))
    assert found.command == "env -u OMP_PLACES '/home/user/my app' -n 100"
    assert "17 threads on 16 CPUs: oversubscribed" in answer_texts(found)
    assert "measured without your OMP_PLACES" in answer_texts(found)


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
    assert "a spread needs two good runs" not in as_text(findings)
    assert any("the cases raced" in footnote for footnote in findings.footnotes)


def test_without_a_race_or_a_usable_record_of_it_there_is_no_advice(tmp_path: Path) -> None:
    write(tmp_path / "a", [record(1, repetition) for repetition in (1, 2, 3)])
    assert advice_of(open_results(str(tmp_path / "a"))) is None
    with pytest.raises(UserError, match="no race is recorded here"):
        advice_data(tmp_path / "a")
    write(tmp_path / "b", [run | {"elapsed_s": -5} for run in GAIN.records()])
    with pytest.raises(UserError, match="there is no run in its records"):
        open_results(str(tmp_path / "b"))


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


# The number of the last run but one.
LAST = len(GAIN.records()) - 1


def likwid_pinned(run: dict[str, Any]) -> dict[str, Any]:
    return {"mechanism": "likwid-pin"} if run["mapping"] == "pcores-pin" else {}


@pytest.mark.parametrize(
    ("race", "changed", "code"),
    [
        (replace(GAIN, noise=0.12), lambda _: {}, "noise"),
        (GAIN, lambda _: {"throttle": {"core_count": 3}}, "disturbed"),
        (GAIN, lambda run: {"attempt": 1 + (run["order"] >= LAST)}, "attempts"),
        (GAIN, likwid_pinned, "loaded"),
    ],
)
def test_what_casts_doubt_stands_in_the_advice(
    race: SimulatedRace, changed: Callable[[Any], Any], code: str, tmp_path: Path
) -> None:
    write(tmp_path, [run | changed(run) for run in race.records()])
    found = advice_of(open_results(str(tmp_path)))
    assert found is not None
    assert code in [caveat.code for caveat in found.caveats]
    assert not advice(tmp_path / "quiet", GAIN).caveats


@pytest.mark.parametrize("disturbed", [BUSY, HOT])
@pytest.mark.parametrize(("race", "decision"), [(GAIN, "gain"), (NO_GAIN, "no gain")])
def test_on_a_disturbed_node_the_answer_is_for_now(
    tmp_path: Path, disturbed: dict[str, Any], race: SimulatedRace, decision: str
) -> None:
    found = advice(tmp_path, replace(race, spoil=lambda _at, _repetition: disturbed))
    assert found.state.decision == decision
    runs = found.trial_runs
    mostly = found.caveat("mostly disturbed")
    assert mostly and mostly.numbers["count"] == mostly.numbers["runs"] == runs
    told = answer_texts(found)
    assert told[0].endswith("; the node was not quiet")
    assert told[-1].startswith(f"for now: {runs} of {runs} runs were dist")
    assert told[-1].endswith("`pinstudy advise --fresh -- '/home/user/my app' -n 100`")
    assert as_data(found)["quiet"] == {"runs": runs, "runs_disturbed": runs}


def test_half_of_the_runs_are_not_most_of_them(tmp_path: Path) -> None:
    spoiled = replace(GAIN, spoil=lambda _at, repetition: BUSY if repetition % 3 == 0 else {})
    found = advice(tmp_path, spoiled)
    assert found.caveat("mostly disturbed") is None
    assert 0 < 2 * found.disturbed_runs < found.trial_runs
    counts = f"{found.disturbed_runs} of {found.trial_runs} runs disturbed"
    assert answer_texts(found)[0].endswith(counts)
    cause = found.caveat("disturbed")
    assert cause and cause.names == (SHARED,)
    assert cause.numbers["count"] == found.disturbed_runs


@EITHER
def test_a_best_that_lost_many_runs_is_not_recommended(
    tmp_path: Path, lost: dict[str, Any]
) -> None:
    best = advice(tmp_path / "quiet", GAIN).best
    assert best is not None
    case_id = best.case_id

    def losing(every: int) -> SimulatedRace:
        def spoil(at: int, repetition: int) -> dict[str, Any]:
            hit = f"case{at + 1:012d}" == case_id and repetition % every == 2
            return lost if hit else {}

        return replace(GAIN, spoil=spoil, rule=replace(GAIN.rule, runs=200))

    found = advice(tmp_path / "lost", losing(3))
    assert found.recommended is None or found.recommended.case_id != case_id
    out = {case.candidate.case_id: case.eliminated.why for case in found.eliminations}
    assert out.get(case_id) == "not placed" or found.caveat("placement")
    # One may be lost, and is reported.
    found = advice(tmp_path / "one", losing(1000))
    assert found.state.decision == "gain"
    assert found.best and found.best.placed.usable and found.best.placed.lost == 1
    caveat = found.caveat("placement")
    assert caveat and caveat.names == (found.best.name,)
    assert (caveat.numbers["lost"], caveat.numbers["unproved"]) == (1, int(lost is UNPROVED))


def test_energy_of_cases_that_are_not_compared_was_measured_all_the_same(tmp_path: Path) -> None:
    found = advice(tmp_path, replace(GAIN, spoil=lambda _at, _repetition: UNPROVED))
    assert found.points == ()
    assert found.no_energy == (
        "every case that has it lost more than a tenth of its runs to placement"
    )


def test_a_drift_is_in_no_difference_where_nothing_was_tried(tmp_path: Path) -> None:
    # Every run takes 1 % longer than the one before it, and the race ends before its trial.
    def later(number: int) -> dict[str, Any]:
        return {"elapsed_s": 40.0 * 1.01**number}

    race = replace(GAIN, rule=replace(GAIN.rule, runs=200), entrants=NO_GAIN.entrants)
    folder = write_results(tmp_path, replace(race, stop=21))
    (shard,) = folder.glob("records/*.jsonl")
    records = [json.loads(line) for line in shard.read_text().splitlines()]
    write(folder, [run | later(number) for number, run in enumerate(records)])
    found = analyze(open_results(str(folder))).advice
    assert found is not None
    assert found.confirmation is None
    caveat = found.caveat("drift")
    assert caveat is not None
    assert caveat.names == ("time",)
    assert 0 < caveat.numbers["low"] < caveat.numbers["change"] < caveat.numbers["high"]
