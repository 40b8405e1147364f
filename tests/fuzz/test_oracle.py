"""Numbers written in any known form are read as they are, or refused: never as others.

What is cut off may be refused, and what is left is what was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinstudy.analysis.imports.perf_log import localised, read_log
from pinstudy.analysis.results.summaries import FILE, read_summaries
from pinstudy.base.errors import UserError
from pinstudy.base.units import MAX_DURATION_S

# What stands between thousands, and before decimals (localedata of glibc).
LOCALES = [(",", "."), (".", ","), ("'", "."), ("\u2019", "."), ("\u202f", ","), ("\xa0", ","),
           ("", "."), ("", ",")]  # fmt: skip
COUNTS = st.integers(0, 2**64 - 1)
HUNDREDTHS = st.integers(0, 10**12)
# Of a run, which takes some time; more would be refused.
ELAPSED = st.integers(1, round(MAX_DURATION_S) * 100)


def grouped(number: int, sign: str) -> str:
    return f"{number:,}".replace(",", sign)


def log_of(rows: Sequence[tuple[str, str]], elapsed: str) -> str:
    counted = "".join(f"  {value:>20}      {event}\n" for value, event in rows)
    return (
        "\n Performance counter stats for './prog':\n\n"
        f"{counted}\n       {elapsed} seconds time elapsed\n\n"
    )


EVENTS = ("cycles", "instructions", "cache-misses", "branches", "context-switches")


@given(st.lists(COUNTS, min_size=1, max_size=5), ELAPSED, st.sampled_from(LOCALES), st.data())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_counts_of_a_log_are_those_that_perf_wrote_in_any_locale(
    tmp_path: Path, counts: list[int], time: int, locale: tuple[str, str], data: st.DataObject
) -> None:
    thousands, decimal = locale
    elapsed = f"{time // 100}{decimal}{time % 100:02d}0000000"
    rows = [
        (grouped(count, thousands), event) for count, event in zip(counts, EVENTS, strict=False)
    ]
    text = log_of(rows, elapsed)
    path = tmp_path / "log"

    path.write_text(text, encoding="utf-8")
    (block,) = read_log(path)

    assert {row.event: row.value for row in block.rows} == {
        event: float(count) for count, event in zip(counts, EVENTS, strict=False)
    }
    assert block.elapsed_s == pytest.approx(time / 100, rel=1e-12)

    raw = text.encode()
    path.write_bytes(raw[: data.draw(st.integers(0, len(raw)))])
    try:
        cut = read_log(path)
    except UserError:
        return
    assert [row.value for row in cut[0].rows] == [row.value for row in block.rows]
    assert cut[0].elapsed_s == block.elapsed_s


@given(HUNDREDTHS, st.sampled_from(LOCALES))
def test_a_clock_s_decimals_are_no_thousands(hundredths: int, locale: tuple[str, str]) -> None:
    thousands, decimal = locale
    text = f"{grouped(hundredths // 100, thousands)}{decimal}{hundredths % 100:02d}"

    assert localised(text) == float(f"{hundredths // 100}.{hundredths % 100:02d}")


@given(st.lists(st.tuples(st.integers(1, 10**9), st.integers(0, 10**6)), min_size=1, max_size=4))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_means_of_a_table_are_those_that_stand_in_it(
    tmp_path: Path, numbers: list[tuple[int, int]]
) -> None:
    lines = ["app,threads,mapping,n,elapsed_mean_s,elapsed_sd_s"]
    lines += [
        f"lu,{at},pcores-pin,10,{mean}e-3,{sd}e-4" for at, (mean, sd) in enumerate(numbers, 1)
    ]
    (tmp_path / FILE).write_text("\n".join(lines))

    cases = read_summaries(tmp_path / FILE, "")

    assert [(case.key.table.threads, case.time.mean, case.time.sd) for case in cases] == [
        (at, float(f"{m}e-3"), float(f"{sd}e-4")) for at, (m, sd) in enumerate(numbers, 1)
    ]
