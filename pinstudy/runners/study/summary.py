"""What a study would do on a node, as lines and as data: cases, runs, time left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.text import plural, team_in_words
from pinstudy.base.units import duration
from pinstudy.configs.study import LATENCY_PLANS, LOADED, IdlePower, PowerGate, Study
from pinstudy.runners.measure.energy.source import measurement_count
from pinstudy.runners.measure.perf.events import too_many_events
from pinstudy.runners.plan.case import Case, SkippedCase, case_fields
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.plan.plan import Plan
from pinstudy.runners.plan.runs import Forecast, PlannedRun
from pinstudy.runners.records.race.race import describe_limit
from pinstudy.runners.study.agenda import Agenda, agenda_of, repetition_rule
from pinstudy.runners.study.history import History


@dataclass(frozen=True)
class PlanSummary:
    """A plan and its progress.

    `launch` gives a case's launch line; `energy` is whether the node can probably measure energy.
    """

    plan: Plan
    history: History
    launch: Callable[[Case], Launch]
    energy: bool = False

    @property
    def study(self) -> Study:
        """The study that is planned."""
        return self.plan.study

    @property
    def runs(self) -> int:
        """How many runs the study has on this node at most, warm-up runs included."""
        return self.done + self.left

    @property
    def done(self) -> int:
        """How many of them were made already."""
        return self.agenda.done

    @property
    def left(self) -> int:
        """How many runs are pending, at most; comparisons may be decided and a race end early."""
        return len(self._most)

    @property
    def left_least(self) -> int:
        """How many runs are pending at least."""
        return len(self._fewest)

    @property
    def left_s(self) -> float | None:
        """The expected seconds of the pending runs at most; None when some app has no estimate."""
        return self._seconds(self._most)

    @property
    def left_least_s(self) -> float | None:
        """The expected seconds of the pending runs at least; None when some app has no estimate."""
        return self._seconds(self._fewest)

    @property
    def idle_measurements(self) -> int:
        """How many idle measurements will be made among the pending runs, at most."""
        return self._idle_measurements(self.agenda.forecast(self._most))

    @cached_property
    def agenda(self) -> Agenda:
        """Which runs are left; raises StudyError for a race that cannot begin here."""
        return agenda_of(self.plan, self.history)

    # Not from `agenda`: a race that cannot begin has rows, too.
    @cached_property
    def _expected(self) -> Forecast:
        return Agenda(self.plan, self.history).forecast(())

    # Cached, because a race has to be simulated to find its pending runs.
    @cached_property
    def _most(self) -> list[PlannedRun]:
        return list(self.agenda.pending())

    @cached_property
    def _fewest(self) -> list[PlannedRun]:
        return self.agenda.needed(self._most)

    def _seconds(self, left: list[PlannedRun]) -> float | None:
        ahead = self.agenda.forecast(left)
        runs_s = self.agenda.at_most_s(ahead)
        one_s = self.study.idle_power.duration_s if self.study.idle_power else 0.0
        return None if runs_s is None else runs_s + self._idle_measurements(ahead) * one_s

    def _idle_measurements(self, ahead: Forecast) -> int:
        wanted = self.study.idle_power
        if wanted is None or not self._measures_energy:
            return 0
        return sum(
            measurement_count(runs, wanted.every) for runs in ahead.runs_by_settings.values()
        )

    @property
    def _measures_energy(self) -> bool:
        return self.energy and "energy" in self.study.collect

    def summary(self) -> list[str]:
        """Return in a few lines what will run, what is left out and how long it will take."""
        study, plan = self.study, self.plan
        boot = " in each boot" if plan.boots_take_turns else ""
        each = f"{self._repetitions} and {plural(study.warmup, 'warm-up run')} of each{boot}"
        if study.race:
            each = f"which race for {study.race.of}, {describe_limit(study.race, len(plan.cases))}"
        lines = [
            f"study {study.name}: {plural(len(plan.cases), 'case')}, {each}, {study.order}, "
            f"seed {study.seed}"
        ]
        reasons = Counter(item.reason for item in plan.skipped)
        lines += [f"left out: {plural(n, 'case')}: {reason}" for reason, n in reasons.items()]
        if warning := too_many_events(study.events):
            lines.append(f"warning: {warning}")
        if study.idle_power:
            lines.append(self._idle_line(study.idle_power))
        if study.prove:
            lines.append("before the runs the node's instruments are tested, once a boot")
        if gate := study.temperature_gate:
            lines.append(f"before each run up to {duration(gate.limit_s)} for packages to cool")
        if power := study.power_gate:
            lines.append(self._power_line(power))
        if study.latency:
            means = LATENCY_PLANS[study.latency]
            lines.append(f"before the runs the latency between CPUs, {means}")
        lines += self._co_runner_lines()
        if added := len(plan.added):
            which = "teams on all cores" if study.bound == LOADED else "one thread on a core"
            more = f"{plural(added, 'case')} more by `bound`: {which} of each kind"
            lines.append(f"{more}, which tell what other teams could do")
        if sampled := len(plan.sampled_cases):
            lines.append(f"after the runs {plural(sampled, 'case')} once more, under perf c2c")
        return [*lines, self._amount_line()]

    def as_json(self) -> dict[str, Any]:
        """Return the summary as plain data, tables and rows in the order of the study."""
        return {
            "study": self.study.name,
            "study_digest": self.study.digest,
            "repetitions": self.study.repetitions,
            "repetition_rule": repetition_rule(self.plan),
            "warmup": self.study.warmup,
            "order": self.study.order,
            "seed": self.study.seed,
            "cases": len(self.plan.cases),
            "skipped": len(self.plan.skipped),
            "runs": self.runs,
            "runs_left": self.left,
            "runs_left_least": self.left_least,
            "idle_measurements": self.idle_measurements,
            "expected_s": self.left_s,
            "expected_least_s": self.left_least_s,
            "tables": self.tables(),
        }

    def tables(self) -> list[dict[str, Any]]:
        """Return each table's title and rows as plain data, in the order of the study."""
        rows = [(item.case.table, _skipped_row(item)) for item in self.plan.skipped]
        rows += [(case.table, self._case_row(case)) for case in self.plan.cases]
        tables: dict[int, list[dict[str, Any]]] = {}
        for table, row in sorted(rows, key=lambda item: (item[0], item[1]["number"])):
            tables.setdefault(table, []).append(row)
        return [{"title": _title(some[0]), "rows": some} for some in tables.values()]

    @property
    def _repetitions(self) -> str:
        most = plural(self.study.repetitions, "repetition")
        if again := self.plan.again:
            more = [last - again.made for last in again.last.values()]
            return f"{_range(str(min(more)), plural(max(more), 'more repetition'))}"
        if decide := self.study.decide:
            within = (
                f" or {duration(decide.time_budget_s)} are over" if decide.time_budget_s else ""
            )
            return f"{_range(str(decide.first), most)}, until every comparison is decided{within},"
        return most

    def _amount_line(self) -> str:
        done, most_s = self.done, duration(self.left_s)
        runs = _range(str(done + self.left_least), plural(done + self.left, "run"))
        if self.study.race and self.study.race.timed:
            # How many more fit into its time nobody knows before they are made.
            runs = f"{plural(done + self.left_least, 'run')} or more"
        already = f", {done} of them done already" if done else ""
        time = _range(duration(self.left_least_s), most_s)
        if self.history.limit_s is not None:
            # Most races end long before, and so may other studies.
            time = f"at most {most_s}"
        return f"{runs}{already}; expected time: {time}"

    def _power_line(self, power: PowerGate) -> str:
        below = f"for power to fall to {power.below_w:g} W"
        if not self._measures_energy:
            return f"no wait {below}: no power can be read (see pinstudy doctor)"
        return f"before each run up to {duration(power.limit_s)} {below}"

    def _idle_line(self, wanted: IdlePower) -> str:
        if not self._measures_energy:
            return "no idle measurement: the packages' energy cannot be measured"
        count = plural(self.idle_measurements, "idle measurement")
        length = duration(wanted.duration_s)
        again = f" and every {plural(wanted.every, 'run')}" if wanted.every else ""
        asks_more = any(case.settings.asked for case in self.plan.cases)
        under = "combination of settings" if asks_more else "governor"
        return f"{count} of {length}: before the first run under each {under}{again}"

    def _co_runner_lines(self) -> list[str]:
        """Return which cases share CPUs with their co-runner, and which ones are co-runners alone.

        To share them may be what the study asks about.
        """
        lines = []
        conflicts = Counter(
            f"co-runner {case.co_runner.program_label} shares CPUs "
            f"{format_cpulist(case.shared_cpus)} with the program"
            for case in self.plan.cases
            if case.co_runner and case.shared_cpus
        )
        lines += [f"{conflict} in {plural(n, 'case')}" for conflict, n in conflicts.items()]
        alone = {case.co_runner.case_id for case in self.plan.cases if case.co_runner}
        own_tables = {case.table for case in self.plan.cases if case.co_runner}
        added = [c for c in self.plan.cases if c.case_id in alone and c.table not in own_tables]
        if added:
            lines.append(f"{plural(len(added), 'case')} more: co-runners alone, to compare with")
        return lines

    def _case_row(self, case: Case) -> dict[str, Any]:
        launch = self.launch(case)
        co_runner = (
            {"co_runner_shell_line": launch.co_runner.shell_line} if launch.co_runner else {}
        )
        return (
            case_fields(case)
            | co_runner
            | ({"added_by": "bound"} if case.case_id in self.plan.added else {})
            | {
                "number": case.number,
                "takes_schedule": case.takes_schedule,
                "case_id": case.case_id,
                "reason": "",
                "command": list(launch.command),
                "environment": launch.set_variables,
                "set_by": {set_.name: set_.by for set_ in case.variables},
                "removed": list(launch.removed_variables),
                "shell_line": launch.shell_line,
                "estimate_s": self._expected.program_s(case.case_id),
                "mask": format_cpulist(case.mask),
            }
        )


def _range(least: str, most: str) -> str:
    """Return `least to most`, or `most` alone when both are the same number."""
    return most if least in (most, most.split()[0]) else f"{least} to {most}"


def _skipped_row(item: SkippedCase) -> dict[str, Any]:
    return case_fields(item.case) | {
        "number": item.case.number,
        "takes_schedule": item.case.takes_schedule,
        "reason": item.reason,
    }


def _title(row: dict[str, Any]) -> str:
    team = team_in_words(row.get("ranks", {}).get("number"), row["threads"])
    head = f"{row['app']} ({row['build']}), size {row['size']}, {team}"
    schedule = f", schedule {row['schedule']}" if row["takes_schedule"] else ""
    return f"{head}{schedule}, wait policy {row['wait_policy']}"
