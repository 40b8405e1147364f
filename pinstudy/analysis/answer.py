"""From results to their answer: samples, comparisons, decisions, drift; of a race, its advice."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from pinstudy.analysis.advice.build import advice_of
from pinstudy.analysis.advice.model import Advice
from pinstudy.analysis.objectives import ENERGY, OBJECTIVES, TIME, Objective
from pinstudy.analysis.records.keys import TableKey
from pinstudy.analysis.records.runs import MADE_ON, good_runs, whole_runs
from pinstudy.analysis.results.baselines import alone_of, are_in_turn, baselines_of, only_alone
from pinstudy.analysis.results.bounds import bounds_in
from pinstudy.analysis.results.case import Case, grouped, objectives_of
from pinstudy.analysis.results.node_files import kinds_option, node_sheets
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.statistics.boots import boot_plan
from pinstudy.analysis.statistics.decision import ONLY_LOOK, Look, pareto_front
from pinstudy.analysis.statistics.drift import Drift, drift_of
from pinstudy.analysis.statistics.modes import Modes, modes_of, within_units
from pinstudy.analysis.statistics.sample import Sample, describe
from pinstudy.analysis.statistics.unlike import slow_runs
from pinstudy.analysis.tables.means import caption
from pinstudy.analysis.verdict.comparisons import (
    Key,
    compare_all,
    differences_from_baselines,
    other_reading,
    questions_by,
    with_shapes,
)
from pinstudy.analysis.verdict.costs import disturbed_against_others, slowdowns_of
from pinstudy.analysis.verdict.decisions import Rules, decisions_of, largest_gains
from pinstudy.analysis.verdict.model import (
    CaseBefore,
    CaseFinding,
    Comparison,
    Findings,
    Outlier,
    TableFindings,
)
from pinstudy.analysis.verdict.reach import reaches_of
from pinstudy.analysis.verdict.run_order import boot_costs_of, case_before_of
from pinstudy.analysis.verdict.values import (
    Values,
    by_objective,
    interim_analysis_of,
    sample_of_summary,
    share_no_attempt,
    unclear_between,
    units_in,
    values_by_case,
)
from pinstudy.analysis.words.advice import advice_headline
from pinstudy.base import PINSTUDY
from pinstudy.base.text import as_typed, one_line, word_as_typed
from pinstudy.configs.library import display_path
from pinstudy.configs.overrides import OF_ATTEMPTS, kept_options
from pinstudy.configs.repetitions import MAX_REPETITIONS
from pinstudy.configs.results_folder import STUDY_FILE

# Smaller differences do not matter, unless the user says otherwise.
MARGIN = 0.01
_UNKNOWN_RACE = "No answer: cases raced, and the records do not tell by which rule, or which."


@dataclass(frozen=True)
class Answer(Findings):
    """What results mean, with the `advice` of cases that raced.

    `advice` is None where none raced, or when the records lack the race's rule.
    """

    advice: Advice | None = None


def analyze(results: Results, margin: float = MARGIN, baseline: str | None = None) -> Answer:
    """Return what results mean.

    `margin` is the share up to which two cases count as equivalent; `baseline` names the mapping
    that others are compared with, by default the one that leaves threads to the OS scheduler. The
    comparisons of each question, a baseline and an objective, are tested together. Cases that raced
    are not compared in this way: their advice is the answer. Raises UserError when there is no case
    with a mapping of that name.
    """
    raced = results.runs is not None and results.runs.raced
    cases = results.cases
    by_table = grouped(cases, lambda case: case.key.table)
    objectives = _objectives(by_table)
    values = _values(results, objectives)
    fixed = results.fixed_time
    asked = _asked(objectives, fixed)
    pairs = alone_of(cases)
    emulated = _replaced_by_kvm(cases)
    bounds = bounds_in(results)
    with_baseline = baselines_of(cases, baseline)
    unanswered = emulated.union(
        rows[0].key.table
        for rows in by_table
        if only_alone(rows, pairs) or bounds.only_tell(rows, with_baseline)
    )
    baselines = {
        case_id: base
        for case_id, base in with_baseline.items()
        if asked[case_id] and base.key.table not in unanswered
    }
    differences = {} if raced else differences_from_baselines(cases, baselines, values, asked)
    look = _look(results)
    question = questions_by(baselines)
    comparisons = compare_all(
        differences, margin, question, _across_attempts(cases, baselines, values), look
    )
    reaches = reaches_of(bounds.by_case, values)
    comparisons = _with_boots(comparisons, results, margin)
    before = case_before_of(results.runs.frame, cases) if results.runs and not raced else None
    found = [
        replace(case, reaches=reaches.get(case.case_id, ()))
        for case in _findings(results, objectives, baselines, values, comparisons, before)
    ]
    rules = Rules(margin, values, look, _mixed(results), fixed, raced, baseline)
    tables = tuple(
        _table(rows, rules, answered=rows[0].summary.key.table not in unanswered)
        for rows in grouped(found, lambda case: case.summary.key.table)
    )
    footnotes = results.footnotes
    if results.deviations_unstated:
        footnotes += other_reading(cases, baselines, comparisons, asked, margin)
    drift = _drift(results.runs.frame) if results.runs else None
    advice = advice_of(results, drift)
    more = max((comparison.useful_repetitions for comparison in comparisons.values()), default=0)
    headline = advice_headline(advice) if advice else _UNKNOWN_RACE
    return Answer(
        margin,
        tables,
        drift,
        decision_lines=(headline,) if raced else (),
        largest_gains=tuple(largest_gains(tables)),
        comparisons=len(comparisons),
        questions=len({question(key) for key in comparisons}),
        look=look,
        footnotes=footnotes,
        raced=raced,
        advice=advice,
        next_command=command_for_more(results, more),
        units=units_in(results.runs.frame) if results.runs else 0,
        case_before=before,
    )


def _replaced_by_kvm(cases: Sequence[Case]) -> set[TableKey]:
    """Return the tables of emulated guests whose runs were made anew under KVM."""
    made = {case.key.table for case in cases if case.has_runs}
    return {
        table
        for table in made
        if table.is_emulated and table._replace(vm_accelerator="kvm") in made
    }


def is_decided(results: Results) -> bool:
    """Return whether every comparison of times is decided; False where nothing is compared.

    Programs of a given time are compared by what they print.
    """
    outcomes = [
        case.comparisons[objective].outcome
        for table in analyze(results).tables
        for objective in (table.compared_by if table.fixed_time else (TIME,))
        for case in table.cases
        if objective in case.comparisons
    ]
    return bool(outcomes) and "undecided" not in outcomes


def _with_boots(
    comparisons: Mapping[Key, Comparison], results: Results, margin: float
) -> dict[Key, Comparison]:
    """Return the comparisons, the undecided ones of several boots with those that cost least."""
    open_ones = {
        key for key, found in comparisons.items()
        if found.outcome == "undecided" and found.difference.units > 1
    }  # fmt: skip
    costs = boot_costs_of(results.runs.frame) if results.runs and open_ones else None
    if costs is None:
        return dict(comparisons)
    return {
        key: replace(found, boots=boot_plan(found.difference, margin, costs))
        if key in open_ones
        else found
        for key, found in comparisons.items()
    }


def _look(results: Results) -> Look:
    runs = results.runs
    if results.card is not None:
        return Look(results.card.look, results.card.planned_looks)
    if runs is None or runs.raced:
        return ONLY_LOOK
    frame = whole_runs(runs.frame)
    since = runs.look - 1 + interim_analysis_of(frame, runs.repeated_in)
    return Look(max(interim_analysis_of(frame), since), runs.planned_looks)


def _across_attempts(
    cases: Iterable[Case], baselines: Mapping[str, Case], values: Mapping[str, Values]
) -> set[str]:
    """Return the cases of which no attempt made runs together with their baseline's."""
    return {
        case_id
        for case_id, baseline in baselines.items()
        if case_id in values
        and baseline.key.case_id in values
        and share_no_attempt(values[case_id], values[baseline.key.case_id])
    } | {
        case.key.case_id
        for case in cases
        if any(stated.across_attempts for stated in case.circumstances.stated.values())
    }


def _mixed(results: Results) -> tuple[str, ...]:
    """Return the nodes and studies of imported means of several, which have no decision.

    It is empty for others. Runs of several are refused before this (analysis.results.sources).
    """
    named = {(case.key.study, case.key.node_id) for case in results.cases}
    known = {tuple(filter(None, names)) for names in named} - {()}
    return tuple(sorted(one_line("/".join(names)) for names in known)) if len(known) > 1 else ()


def _objectives(by_table: Iterable[Sequence[Case]]) -> dict[str, tuple[Objective, ...]]:
    """Return what is known of each case by case_id: what it and its table can be compared by."""
    known: dict[str, tuple[Objective, ...]] = {}
    for rows in by_table:
        known |= dict.fromkeys((case.key.case_id for case in rows), objectives_of(rows))
    return known


def _asked(
    objectives: Mapping[str, Sequence[Objective]], fixed: Collection[str]
) -> dict[str, list[Objective]]:
    """Return what each case is compared by; with a fixed time that is what its program prints."""
    return {
        case_id: [
            objective for objective in every if case_id not in fixed or objective not in OBJECTIVES
        ]
        for case_id, every in objectives.items()
    }


def _values(results: Results, objectives: Mapping[str, Sequence[Objective]]) -> dict[str, Values]:
    """Return the runs' values by case_id, of all that any case is compared by."""
    if results.runs is None:
        return {}
    every = dict.fromkeys(chain(OBJECTIVES, *objectives.values()))
    return values_by_case(results.runs.frame, list(every))


def _samples(
    cases: Sequence[Case],
    values: Mapping[str, Values],
    objectives: Mapping[str, Sequence[Objective]],
) -> dict[Key, Sample]:
    measured = {
        (case_id, objective): numbers
        for case_id, of_case in values.items()
        for objective, numbers in by_objective(of_case)
    }
    samples = dict(zip(measured, describe(list(measured.values())), strict=True))
    for case in cases:
        if case.key.case_id in values:
            continue
        for objective in objectives[case.key.case_id]:
            if (sample := sample_of_summary(case, objective)) is not None:
                samples[case.key.case_id, objective] = sample
    return samples


def _findings(
    results: Results,
    objectives: Mapping[str, Sequence[Objective]],
    baselines: Mapping[str, Case],
    values: Mapping[str, Values],
    comparisons: Mapping[Key, Comparison],
    before: CaseBefore | None,
) -> list[CaseFinding]:
    """Return each case with its samples, and with its comparisons and what else differs in them."""
    cases = results.cases
    samples = _samples(cases, values, objectives)
    slow = {
        case_id: counted
        for case_id, of_case in values.items()
        if (counted := slow_runs(of_case.measured(TIME))) is not None
    }
    modes = _modes(values)
    shaped = with_shapes(cases, comparisons, baselines, values, samples, slow)
    frame = results.runs.frame if results.runs else None
    slowdowns = slowdowns_of(cases, values, frame)
    disturbed = {} if frame is None else disturbed_against_others(frame)
    found = []
    for case in cases:
        case_id, names = case.key.case_id, objectives[case.key.case_id]
        baseline = baselines.get(case_id)
        mine: dict[str, Sample] = {
            name: samples[case_id, name] for name in names if (case_id, name) in samples
        }
        compared: dict[str, Comparison] = {
            name: shaped[case_id, name] for name in names if (case_id, name) in shaped
        }
        lacking = [
            name for name in names if name not in compared and case.lost_of(name.field).usable
        ]
        finding = CaseFinding(
            case,
            is_baseline=baseline is not None and baseline.key.case_id == case_id,
            samples=mine,
            comparisons=compared,
            outliers=_outliers(names, mine, values[case_id]) if case_id in values else (),
            slow=slow.get(case_id),
            modes={name: modes[case_id, name] for name in names if (case_id, name) in modes},
            unclear=_unclear(case, baseline, values, lacking),
            slowdown=slowdowns.get(case_id),
            out_of_turn=_is_out_of_turn(case, baseline, values),
            disturbed_against_others=disturbed.get(case_id, {}),
            case_before=before if before and before.found else None,
        )
        found.append(finding)
    return found


def _is_out_of_turn(case: Case, baseline: Case | None, values: Mapping[str, Values]) -> bool:
    if baseline is None:
        return False
    mine, theirs = values.get(case.key.case_id), values.get(baseline.key.case_id)
    if mine is None or theirs is None:
        return case.circumstances.out_of_turn
    return not are_in_turn(mine.made, theirs.made)


def _modes(values: Mapping[str, Values]) -> dict[Key, Modes]:
    return {
        (case_id, objective): modes
        for case_id, of_case in values.items()
        for objective, _ in by_objective(of_case)
        if (modes := modes_of(within_units(*of_case.logs(objective)))) is not None
    }


def _unclear(
    case: Case, baseline: Case | None, values: Mapping[str, Values], lacking: Sequence[Objective]
) -> Mapping[str, Modes | None]:
    """Return the objectives, of those that lack a comparison, in which modes are why."""
    mine = values.get(case.key.case_id)
    theirs = values.get(baseline.key.case_id) if baseline else None
    if mine is None or theirs is None:
        return dict.fromkeys(case.circumstances.unclear)
    return {} if mine is theirs else unclear_between(mine, theirs, lacking)


def _outliers(
    objectives: Sequence[Objective], samples: Mapping[str, Sample], values: Values
) -> tuple[Outlier, ...]:
    return tuple(
        Outlier(
            objective,
            int(np.nan_to_num(values.repetition[values.known(objective)][at])),
            float(values.measured(objective)[at]),
            score,
        )
        for objective in objectives
        if objective in samples
        for at, score in samples[objective].outliers
    )


def _table(cases: Sequence[CaseFinding], rules: Rules, *, answered: bool) -> TableFindings:
    """Return what is found of a table; without an answer where co-runners alone stand in it."""
    comparable = [] if rules.mixed else [c for c in cases if c.case_id not in rules.fixed_time]
    points = {
        case.case_id: (case.samples[TIME].mean, case.samples[ENERGY].mean)
        for case in comparable
        if case.has_time_and_energy
    }
    front = pareto_front(points)
    marked = tuple(replace(case, on_front=case.case_id in front) for case in cases)
    summaries = [case.summary for case in cases]
    objectives = objectives_of(summaries)
    decisions = decisions_of(marked, objectives, rules) if answered else ()
    fixed = any(case.case_id in rules.fixed_time for case in cases)
    key, title = summaries[0].key.table, caption(summaries)
    return TableFindings(title, key, marked, decisions, objectives, fixed, answered)


def _drift(frame: pd.DataFrame) -> Drift:
    good = whole_runs(good_runs(frame))
    numbers, _ = pd.factorize(good["case_id"])
    times = good["elapsed_s"].to_numpy(dtype=float)
    hours = good["started_s"].to_numpy(dtype=float) / 3600
    kelvins = good["temperature_c"].to_numpy(dtype=float)
    attempts = good["attempt"].to_numpy(dtype=float)
    drift = drift_of(numbers, attempts, times, hours, kelvins)
    if MADE_ON not in good:
        return drift
    # The footnote on the pool covers differences between attempts of two nodes.
    nodes = good.groupby("attempt")[MADE_ON].first()
    steps = [step for step in drift.steps if nodes[step.before] == nodes[step.after]]
    return replace(drift, steps=tuple(steps))


def command_for_more(results: Results, more: int) -> str:
    """Return the command that repeats what is undecided; empty where there is none.

    `more` repetitions would help. There is none where `more` is 0, where a batch system made the
    runs, where a race ends its cases, where a study cannot have so many repetitions,
    and where the folder is not named as `pinstudy run` names it, so that the command would begin
    anew in another folder. Where no run was good, it shows the command lines, to start one by hand.
    """
    if results.runs is None or results.folder is None or results.runs.raced:
        return ""
    frame = results.runs.frame
    studies = [str(name) for name in frame["study_file"].dropna().unique()]
    if len(studies) != 1:
        return ""
    study = studies[0]
    named = display_path(Path(study)) if "/" in study else study
    if good_runs(frame).empty:
        return f"{PINSTUDY} plan {as_typed(named)}"
    if not more or not frame["repetition"].max() + more <= MAX_REPETITIONS:
        return ""
    kept = kept_options(results.folder / STUDY_FILE, OF_ATTEMPTS)
    options = (word_as_typed(_shown_file(word)) for word in kept)
    parts = [f"{PINSTUDY} run {as_typed(named)}", *options, "--undecided"]
    below = _results_of(results.folder, frame)
    if below is None:
        return ""
    if below != Path(os.environ.get("PINSTUDY_RESULTS") or "results").absolute():
        parts.append(f"--results {as_typed(display_path(below))}")
    parts.append(kinds_option(node_sheets(results)))
    if results.has_emulated_guests:
        parts.append("--allow-emulation")
    return " ".join(filter(None, parts))


def _shown_file(word: str) -> str:
    """Return a word of a command, the path of a site's file as messages show it."""
    return display_path(Path(word)) if word.startswith("/") else word


def _results_of(folder: Path, frame: pd.DataFrame) -> Path | None:
    """Return the folder of all results, in which this one is `<study>/<node>`; None of others."""
    place = Path(os.path.normpath(folder.absolute()))
    names = zip(place.parts[-2:], ("study", "node_id"), strict=False)
    is_named_so = all((frame[column] == part).any() for part, column in names)
    return place.parents[1] if is_named_so and len(place.parts) > 2 else None
