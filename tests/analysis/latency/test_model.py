"""What the samples of pairs say: medians, spread, rates with their intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.latency.model import Latency, rates
from analysis.latency.reading import read_latency
from tests.analysis.latency.made_latency import PLANTED, content_of, write_latency_file


def opened(folder: Path, content: dict[str, Any]) -> Latency:
    return read_latency(write_latency_file(folder, content))


def two_cpus(*runs: tuple[int, int, list[float]]) -> dict[str, Any]:
    content = content_of(PLANTED["two"])
    content["addresses"] = len(runs)
    content["pairs"] = [
        {
            "cpus": [0, 1],
            "runs": [
                {"from": a, "to": b, "address": n, "round_trips": 10, "one_way_ns": times}
                for n, (a, b, times) in enumerate(runs)
            ],
        }
    ]
    return content


def test_both_directions_are_reported_separately_and_together(tmp_path: Path) -> None:
    latency = opened(tmp_path, two_cpus((0, 1, [50.0, 52.0, 90.0]), (1, 0, [60.0, 61.0])))

    assert latency.matrix[0, 1] == 52.0
    assert latency.matrix[1, 0] == 60.5
    assert latency.both_ways[0, 1] == latency.both_ways[1, 0] == 60.0
    assert np.isnan(latency.matrix[0, 0])


def test_spread_is_sd_median_deviation_and_quantiles(tmp_path: Path) -> None:
    latency = opened(tmp_path, two_cpus((0, 1, [10.0, 20.0, 30.0, 40.0, 100.0])))

    (row,) = latency.pairs.to_dict("records")
    assert (row["n"], row["median_ns"], row["mad_ns"], row["mean_ns"]) == (5, 30.0, 10.0, 40.0)
    assert row["sd_ns"] == pytest.approx((900 + 400 + 100 + 0 + 3600) ** 0.5 / 2)
    assert (row["q25_ns"], row["q75_ns"]) == (20.0, 40.0)
    assert row["q95_ns"] == pytest.approx(88.0)


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([(0, 1, [40.0, 60.0, 40.0, 60.0])], id="of its times"),
        # With four runs of a pair its runs are what the interval rests on.
        pytest.param([(0, 1, [t - 1, t, t + 1]) for t in (40.0, 60.0, 40.0, 60.0)], id="of runs"),
    ],
)
def test_the_rate_is_the_harmonic_mean_with_students_interval_inverted(
    tmp_path: Path, runs: list[tuple[int, int, list[float]]]
) -> None:
    latency = opened(tmp_path, two_cpus(*runs))

    (row,) = latency.pairs.to_dict("records")
    # Mean 50 ns, sd sqrt(400 / 3), t(3; 0.975) = 3.182 (any table of it).
    reach = 3.182 * (400 / 3) ** 0.5 / 2
    assert row["rate_per_s"] == pytest.approx(2e7, rel=1e-3)
    assert row["rate_low_per_s"] == pytest.approx(1e9 / (50 + reach), rel=1e-3)
    assert row["rate_high_per_s"] == pytest.approx(1e9 / (50 - reach), rel=1e-3)


def test_a_single_time_has_no_interval_and_a_wide_one_no_upper_end() -> None:
    found = rates(np.array([0, 1, 1]), np.array([50.0, 1.0, 100.0]))

    assert np.isnan(found["rate_low_per_s"][0])
    assert np.isinf(found["rate_high_per_s"][1])


def test_the_interval_covers_the_true_rate_in_95_of_100_pairs() -> None:
    rng = np.random.default_rng(1)
    pairs, samples = 2000, 30
    times = rng.normal(60.0, 6.0, pairs * samples)

    found = rates(np.repeat(np.arange(pairs), samples), times)

    covered = (found["rate_low_per_s"] < 1e9 / 60) & (found["rate_high_per_s"] > 1e9 / 60)
    assert covered.mean() == pytest.approx(0.95, abs=0.015)


def test_cpus_of_pairs_that_were_left_out_have_a_row(tmp_path: Path) -> None:
    content = content_of(PLANTED["complexes"], cpus=[0, 1])
    content["left_out"] = [{"cpus": [0, 9], "reason": "the kernel refused CPU 9"}]

    latency = opened(tmp_path, content)

    assert latency.cpus == (0, 1, 9)
    assert np.isnan(latency.both_ways[2]).all()
