"""Cases that race: what `race` becomes, and what a user is told of a wrong one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.repetitions import Race
from tests.configs.shelves import LU, STUDY, mistakes, study_of

RATED = {
    "lu": LU
    + b"metrics:\n"
    + b"  rate: {pattern: 'Rate: ([0-9.]+)', unit: Gflop/s}\n"
    + b"  steps: {pattern: 'Steps: ([0-9]+)', unit: '1'}\n"
}


def with_race(value: str) -> str:
    """Return a study whose race stands in line 9, its keys from column 22 on."""
    return STUDY.replace("repetitions: 10", f"repetitions: {{race: {value}}}")


def race_of(value: str) -> Race:
    race = study_of(with_race(value), RATED).race
    assert race is not None
    return race


@pytest.mark.parametrize(
    ("value", "race"),
    [
        ("{}", Race("time", False, 0.01, None, None)),
        ("{of: energy}", Race("energy")),
        ("{of: edp, better: lower}", Race("edp")),
        ("{of: rate, better: higher}", Race("rate", higher=True)),
        ("{of: steps}", Race("steps", higher=False)),
        ("{within: 30 min}", Race(within_s=1800.0)),
        ("{runs: 10}", Race(runs=10)),
        ("{runs: 1000000}", Race(runs=1_000_000)),
        (
            "{of: time, better: lower, margin: 2.5 %, within: 1.5 h, runs: 200}",
            Race("time", False, 0.025, 5400.0, 200),
        ),
    ],
)
def test_every_key_of_a_race_has_a_default(value: str, race: Race) -> None:
    assert race_of(value) == race


def test_a_study_that_races_has_no_precision_and_one_that_does_not_has_no_race() -> None:
    assert study_of(with_race("{}")).precision is None
    assert study_of(STUDY).race is None


@pytest.mark.parametrize(
    "value",
    ["{within: 30 min}", "{within: 1 h, runs: 40}", "{runs: 41, of: time}", "{margin: '1.0 %'}"],
)
def test_how_long_a_race_may_take_changes_no_digest(value: str) -> None:
    assert study_of(with_race(value)).digest == study_of(with_race("{}")).digest


def test_what_is_raced_for_is_part_of_what_a_study_asks_for() -> None:
    values = ["{}", "{of: energy}", "{of: rate}", "{of: rate, better: higher}", "{margin: 2%}"]
    digests = {study_of(with_race(value), RATED).digest for value in values}
    assert len(digests | {study_of(STUDY, RATED).digest}) == len(values) + 1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("{better: more}", "9:30: direction 'more' is not known (known: lower, higher)"),
        ("{better: higer}", "9:30: direction 'higer' is not known; did you mean 'higher'?"),
        ("{margin: 1}", "9:30: '1' is not a percentage, such as 1%"),
        ("{margin: 0%}", "9:30: '0%' is not more than 0% and less than 100%"),
        ("{margin: 100%}", "9:30: '100%' is not more than 0% and less than 100%"),
        ("{within: 30}", "9:30: '30' has no unit; write 30 s, 30 min or 30 h"),
        ("{within: 0 s}", "9:30: '0 s' is not longer than nothing and at most 31 days"),
        ("{runs: 9}", "9:28: '9' is not how many runs at most: a whole number from 10 to 1000000"),
        ("{of: [time, energy]}", "9:26: a list is not time, energy, edp or the name of a metric"),
        ("{of: a b}", "9:26: 'a b' is not time, energy, edp or the name of a metric: letters"),
        ("{of: tme}", "9:26: measure 'tme' is not known to app 'lu'; did you mean 'time'?"),
        ("{of: rate}", "9:26: measure 'rate' is not known to app 'lu' (known: time, energy, edp)"),
        ("{better: higher}", "9:30: less is better of time"),
        ("{of: edp, better: higher}", "9:39: less is better of edp"),
        ("{for: time}", "9:22: key 'for' is not known here"),
        ("", "9:21: 'race' is empty; expected a table with the keys of, better, margin"),
        ("time", "9:21: 'time' is not a table with the keys of, better, margin, within, runs"),
        ("{}, min: 3", "9:25: key 'min' is not known here (known: race)"),
    ],
)
def test_a_wrong_race_is_explained_where_it_stands(value: str, said: str) -> None:
    (line,) = mistakes(with_race(value))
    assert line.startswith(f"x.yaml:{said}")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("order: sequential\n", "11:8: cases race block by block; write order: randomised-blocks"),
        (
            "engine: batch\nbatch: {site: example-slurm}\n",
            "11:9: cases race on one node; write engine: local",
        ),
        (
            "engine: vm\nvm: {cpus: 2, memory: 1 GiB}\nvcpu_mapping: scheduler\n",
            "11:9: cases race on one node; write engine: local",
        ),
    ],
)
def test_cases_race_in_blocks_and_on_one_node(more: str, said: str) -> None:
    assert mistakes(with_race("{}") + more) == [f"x.yaml:{said}"]


@pytest.mark.parametrize("of", ["energy", "edp"])
def test_a_race_for_energy_needs_energy(of: str) -> None:
    text = with_race(f"{{of: {of}}}")
    assert mistakes(text + "collect: [perf, energy]\n") == []
    assert mistakes(text + "collect: perf\n") == [
        f"x.yaml:9:26: {of} is asked for, and 'collect' leaves energy out"
    ]
    assert mistakes(with_race("{of: time}") + "collect: perf\n") == []


@pytest.mark.parametrize("word", ["time", "energy", "edp"])
def test_a_metric_with_a_name_of_the_races_own_cannot_be_meant(word: str) -> None:
    named = LU + f"metrics: {{{word}: {{pattern: '(.)', unit: s}}}}\n".encode()
    said = f"app 'lu' has a metric named '{word}' as well; name that otherwise"

    assert mistakes(with_race(f"{{of: {word}}}"), {"lu": named}) == [f"x.yaml:9:26: {said}"]
    # It stands in nobody's way where something else is raced for.
    other = {"time": "energy", "energy": "edp", "edp": "time"}[word]
    assert mistakes(with_race(f"{{of: {other}}}"), {"lu": named}) == []


def test_a_program_that_runs_as_long_as_it_is_told_races_for_what_it_measures() -> None:
    apps = {"lu": RATED["lu"] + b"fixed_time: true\n"}
    said = "app 'lu' runs as long as it is told; name one of its metrics"

    assert mistakes(with_race("{of: edp}"), apps) == [f"x.yaml:9:26: {said}"]
    assert mistakes(with_race("{}"), apps) == [f"x.yaml:9:21: {said}"]
    assert mistakes(with_race("{of: rate, better: higher}"), apps) == []


def test_only_cases_that_do_the_same_work_can_race() -> None:
    other = LU.replace(b"title: LU", b"title: UL")
    said = (
        "x.yaml:{}:21: only cases that do the same work can race, one app and one size of it; the "
        "study has 'lu small' and '{}'"
    )

    sizes = with_race("{}").replace("[small]", "[small, large]")
    assert mistakes(sizes) == [said.format(9, "lu large")]
    more = "  - {app: ul, variants: serial, sizes: small, threads: 1}\nmappings:"
    assert mistakes(with_race("{}").replace("mappings:", more), {"ul": other}) == [
        said.format(10, "ul small")
    ]


def test_variants_threads_schedules_and_governors_can_race() -> None:
    text = with_race("{}").replace("[performance]", "[performance, powersave]")
    more = (
        "  - app: lu\n    variants: libgomp\n    sizes: small\n    threads: [2, 4]\n"
        "    schedules: [static, dynamic]\n    mappings: [scheduler, pcores-set]\nmappings:"
    )
    assert mistakes(text.replace("mappings:", more, 1)) == []


def test_a_size_that_silences_the_program_cannot_race_for_what_it_prints() -> None:
    text = with_race("{of: rate}").replace("[small]", "[large]")
    assert mistakes(text, RATED) == [
        "x.yaml:9:26: size 'large' silences app 'lu', which prints no metric then"
    ]
    assert mistakes(text.replace("of: rate", "of: time"), RATED) == []


KEYS = st.sampled_from(["of", "better", "margin", "within", "runs", "race", "x"])
VALUES = st.recursive(
    st.sampled_from(["time", "rate", "edp", "higher", "1%", "0%", "30 min", "30", "10", "~", "''"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(KEYS, inner, max_size=4).map(
            lambda items: "{" + ", ".join(f"{key}: {item}" for key, item in items.items()) + "}"
        )
    ),
    max_leaves=6,
)


@given(VALUES)
def test_whatever_a_race_holds_there_is_a_study_or_a_list_of_mistakes(value: str) -> None:
    lines = mistakes(with_race(value), RATED)
    assert all(line.startswith("x.yaml:9:") for line in lines)
    if not lines:
        race = race_of(value)
        assert 0 < race.margin < 1
        assert race.of in ("time", "rate", "edp")
