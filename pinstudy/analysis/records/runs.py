"""The runs of a results folder: one row a run, hostile or torn lines counted and left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pinstudy.analysis.measures import COMPARED_ENERGY, ENERGY_BY_KIND, MEASURES
from pinstudy.analysis.records.flat import REGION
from pinstudy.analysis.records.frame import METER, REASONS, FrameBuilder
from pinstudy.analysis.records.gathered import FirstRecords, SettingsSeen, TeamLooks
from pinstudy.analysis.records.keys import ROW_KEYS, TABLE_KEYS
from pinstudy.analysis.records.race_records import RaceReader
from pinstudy.base import PINSTUDY
from pinstudy.base.errors import UserError
from pinstudy.configs.repetitions import MAX_REPETITIONS, looks_of
from pinstudy.runners.records.energy import SCOPES
from pinstudy.runners.records.line import InvalidLine
from pinstudy.runners.records.reader import read_lines, shards_of
from pinstudy.runners.records.status import IDLE, INTERRUPTED, OK, SKIPPED

# The column of the node that made a run, where several divide a study.
MADE_ON = "made_on"
_MIXED = "measured by {meter}, and most runs here by {most}: energies of two meters are not mixed"
_OF_METERS = [
    column
    for measure in MEASURES
    for column in measure.columns
    if measure.field != ENERGY_BY_KIND and measure.unit in ("J", "W", "J s", "J s²")
]
# What makes a run the same one in another record.
_RUN = ("case_id", "warmup", "repetition")


@dataclass(frozen=True)
class Runs:
    """The records of a results folder: one row a record, oldest attempt first.

    `frame` has the columns COLUMNS, those of measures by core kind of which any run has a number,
    and where any record has them `team_cpu_s_<thread> <kind>`, `course_<quarter> <kind>` and
    `metric_<name>`, the app's own numbers; `more_metrics` tells that there were more names than the
    32 that are kept. Texts are categoricals (which may have categories that no row uses), lists
    tuples, numbers floats and NaN where nothing was measured, `threads` and `case_number` integers.
    `started_s` is in seconds since 1970, `temperature_c` that of the hottest package before the
    run. Of interchangeable nodes that divide a study `node_id` is the name of their pool, and
    MADE_ON has the node. `raced` tells that a race ended cases; `planned_looks` is how often
    results may have been looked at, to end the study when they decide. `look` is the number of
    this look at them, as far as what was undecided was repeated, last in the attempt `repeated_in`.

    `reasons` has the reasons for missing fields of good runs: `case_id`, `field`,
    `reason`, each combination once. `refused` counts the lines that are no records, by why (words
    of runners.records.status), `unusable` those that do not say which row they belong to.
    `repeated` has the records, with the frame's columns, of repetitions of which several records
    tell the end. `firsts` has what all runs of a case in an attempt agree in and no column has,
    `race_reader` what they tell of a race, `team_looks` where threads were seen, `settings` what
    was in force.
    """

    frame: pd.DataFrame
    reasons: pd.DataFrame
    refused: Mapping[str, int] = field(default_factory=dict)
    unusable: int = 0
    more_metrics: bool = False
    raced: bool = False
    planned_looks: int = 1
    look: int = 1
    repeated_in: int = 0
    repeated: pd.DataFrame = field(default_factory=pd.DataFrame)
    firsts: FirstRecords = field(default_factory=FirstRecords)
    race_reader: RaceReader = field(default_factory=RaceReader)
    team_looks: TeamLooks = field(default_factory=TeamLooks)
    settings: SettingsSeen = field(default_factory=SettingsSeen)

    @property
    def node_digests(self) -> list[str]:
        """The digests of the nodes that made runs, each once."""
        return [str(digest) for digest in self.frame["node_digest"].dropna().unique()]


def read_runs(folder: Path) -> Runs:
    """Return the records below `folder` (its `records/*.jsonl`), each run once.

    Raises UserError when there are none, when the folder or a file cannot be read, or when a record
    was written by another version of pinstudy.
    """
    shards = shards_of(folder / "records")
    if not shards:
        raise UserError(
            f"{folder}: no results here (expected records/*.jsonl); make some with "
            f"`{PINSTUDY} run quick`"
        )
    seen = _Seen()
    for shard in shards:
        for line in read_lines(shard):
            seen.add(line)
    frame = _by_pool(seen.rows.frame())
    repeated = _repeated(frame)
    frame = _each_run_once(frame)
    # Popped, because to drop a column would copy all others.
    numbers = frame.pop(REASONS)
    good = are_good(frame)
    reasons = seen.rows.reasons.by_case(frame["case_id"][good], numbers[good])
    frame, mixed = _with_one_meter(frame)
    return Runs(
        frame,
        pd.concat([reasons, mixed], ignore_index=True) if len(mixed) else reasons,
        refused=seen.refused,
        unusable=seen.rows.unusable,
        more_metrics=seen.rows.metrics.more,
        raced=seen.raced,
        planned_looks=seen.planned_looks,
        look=seen.look + seen.went_on,
        repeated_in=seen.repeated_in,
        repeated=repeated,
        firsts=seen.firsts,
        race_reader=seen.race_reader,
        team_looks=seen.team_looks,
        settings=seen.settings,
    )


class _Seen:
    """What is gathered while records are read."""

    def __init__(self) -> None:
        self.rows = FrameBuilder()
        self.refused: Counter[str] = Counter()
        self.raced = False
        self.planned_looks = 1
        self.look, self.went_on, self.repeated_in = 1, False, 0
        self.firsts = FirstRecords()
        self.race_reader = RaceReader()
        self.team_looks = TeamLooks()
        self.settings = SettingsSeen()

    def add(self, line: dict[str, Any] | InvalidLine) -> None:
        """Add a line of a shard; idle measurements are no runs."""
        if isinstance(line, InvalidLine):
            self.refused[line.why] += 1
        elif line.get("status") != IDLE:
            self._take_look(line)
            if not self.raced and line.get("repetition_rule"):
                self._take_rule(line["repetition_rule"])
            for gatherer in (self.firsts, self.race_reader, self.team_looks, self.settings):
                gatherer.add(line)
            self.rows.add(line)

    def _take_look(self, line: Mapping[str, Any]) -> None:
        """Take the number of a look; where all cases went on after it, there is one more."""
        again = (line.get("repetition_rule") or {}).get("undecided")
        number = again.get("look") if isinstance(again, dict) else None
        if type(number) is int and 1 < number <= MAX_REPETITIONS:
            self.look, self.went_on = max(self.look, number), False
            self.repeated_in = line.get("attempt") or 0
        else:
            self.went_on = self.look > 1

    def _take_rule(self, rule: Mapping[str, Any]) -> None:
        if "undecided" in rule:
            return
        looks = _planned_looks(rule.get("decide"))
        if looks is not None:
            self.planned_looks = max(self.planned_looks, looks)
            return
        self.raced = rule.get("race") is not None


def _planned_looks(decide: object) -> int | None:
    """Return how many looks a record's rule allows; None where it is not that of such a study."""
    first, most = (decide.get("first"), decide.get("max")) if isinstance(decide, dict) else (0, 0)
    if type(first) is not int or type(most) is not int:
        return None
    return len(looks_of(first, most)) if 1 <= first <= most <= MAX_REPETITIONS else None


def _by_pool(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with the pool in place of the node where nodes divide a study."""
    pools = frame["pool"]
    if not pools.notna().any():
        return frame
    nodes = frame["node_id"].astype(object)
    name = pools.astype(object).where(pools.notna(), nodes)
    return frame.assign(**{MADE_ON: frame["node_id"], "node_id": name.astype("category")})


def are_good(frame: pd.DataFrame) -> pd.Series[bool]:
    """Return which of the runs are averaged: those with status ok that are no warm-ups."""
    return (frame["status"] == OK) & ~frame["warmup"]


def whole_runs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of runs without those of their regions."""
    return frame[frame[REGION].isna()]


def good_runs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that are averaged."""
    return frame[are_good(frame)]


def _with_one_meter(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the frame with the energies of one meter, that of most runs, and why others have none.

    Meters take in different things and are wrong in different ways: means and ratios over several
    would show the change of the meter.
    """
    counts = good_runs(frame)[METER].value_counts()
    if (counts > 0).sum() < 2:
        return frame, pd.DataFrame(columns=["case_id", "field", "reason"])
    most = counts.index[0]
    other = frame[METER].notna() & (frame[METER] != most)
    reasons = [
        (case_id, SCOPES[str(most).rpartition(", ")[2]], _MIXED.format(meter=meter, most=most))
        for case_id, meter in frame.loc[other & are_good(frame), ["case_id", METER]]
        .drop_duplicates()
        .itertuples(index=False, name=None)
    ]
    columns = [COMPARED_ENERGY, METER, *(name for name in _OF_METERS if name in frame)]
    frame = frame.copy(deep=False)
    frame[columns] = frame[columns].mask(other)
    return frame, pd.DataFrame(reasons, columns=["case_id", "field", "reason"])


def _identities(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what makes each run the same one in another record.

    Where nodes divide a study each of them makes the warm-up runs, which are not the others'.
    """
    runs = frame[list(_RUN)]
    if MADE_ON not in frame:
        return runs
    return runs.assign(**{MADE_ON: frame[MADE_ON].astype(object).where(frame["warmup"])})


def _repeated(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the records of repetitions that have more than one record of their end."""
    runs = whole_runs(frame)
    ended = _identities(runs[~runs["status"].isin([INTERRUPTED, SKIPPED])])
    return frame.loc[ended.index[ended.duplicated(keep=False)]]


def _each_run_once(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with one row for each run.

    A run that was interrupted is made again, and the new one counts. Of several that ended, which
    only two runners at the same time can leave behind, the first counts whatever its status: to
    prefer good ones would choose by outcome. A case that a later attempt could run after all is
    not left out.
    """
    skipped = frame["status"] == SKIPPED
    runs = _identities(frame[~skipped])
    interrupted = frame.loc[runs.index, "status"] == INTERRUPTED
    runs = runs.loc[interrupted.sort_values(kind="stable").index].drop_duplicates()
    chosen = np.zeros(len(frame), dtype=bool)
    chosen[runs.index] = True
    if skipped.any():
        keys = [*TABLE_KEYS, *ROW_KEYS]
        row = frame.groupby(keys, observed=True, sort=False, dropna=False).ngroup()
        last = row[skipped].drop_duplicates(keep="last")
        chosen[last.index[~last.isin(row[runs.index])]] = True
    return frame if chosen.all() else frame[chosen].reset_index(drop=True)
