"""The words on a power near the long-term limit, and why there are none."""

from __future__ import annotations

from typing import Any

import pytest

from base.reading import Reading
from runners.measure.energy.power_limit_note import power_limit_note


def pl1(zone: str, domain: str, power_w: float | None) -> dict[str, Any]:
    limit = {"zone": zone, "domain": domain, "name": "long_term"}
    return limit | {"power_w": power_w, "window_s": 28.0}


# An i5-13500: PL1 65 W, PL2 117 W.
CLIENT = [
    pl1("intel-rapl:0", "package-0", 65.0),
    pl1("intel-rapl:0", "package-0", 117.0) | {"name": "short_term"},
    pl1("intel-rapl:1", "psys", 10.0),
]
MMIO = pl1("intel-rapl-mmio:0", "package-0", 45.0)
OTHER = pl1("intel-rapl:2", "package-1", 65.0)


@pytest.mark.parametrize(
    ("power_w", "limits", "words"),
    [
        # 97% of 65 W are 63.05 W.
        (63.0, CLIENT, ""),
        (63.1, CLIENT, "at PL1"),
        (65.0, CLIENT, "at PL1"),
        (65.1, CLIENT, "burst above PL1"),
        # The lowest limit of a package holds, and packages add up.
        (50.0, [*CLIENT, MMIO], "burst above PL1"),
        (100.0, [*CLIENT, OTHER], ""),
    ],
)
def test_power_near_or_above_the_long_term_limit_is_said_in_words(
    power_w: float, limits: list[dict[str, Any]], words: str
) -> None:
    note = power_limit_note(power_w, limits).fields["power_limit_note"]
    assert note.partition(":")[0] == words


@pytest.mark.parametrize(
    ("power_w", "limits", "reason"),
    [
        (60.0, [], "PL1) is not known"),
        (60.0, [pl1("intel-rapl:0", "package-0", None)], "PL1) is not known"),
        (60.0, [pl1("intel-rapl:0", "package-0", 0.0)], "PL1) is not known"),
        (60.0, [*CLIENT, OTHER | {"power_w": None}], "PL1) is not known"),
        (60.0, [pl1("intel-rapl:0", "psys", 65.0)], "PL1) is not known"),
    ],
)
def test_what_is_not_known_is_not_judged(
    power_w: float, limits: list[dict[str, Any]], reason: str
) -> None:
    note = power_limit_note(power_w, limits)
    assert note.fields == {}
    assert reason in note.unavailable["power_limit_note"]


def test_without_the_power_there_is_no_note_and_the_power_has_the_reason() -> None:
    assert power_limit_note(None, CLIENT) == Reading()
