"""Power near or above the long-term limit is said in words."""

from __future__ import annotations

from typing import Any

import pytest

from runners.measure.energy.figures import power_limit_note


def limit(zone: str, domain: str, name: str, power_w: float | None) -> dict[str, Any]:
    return {"zone": zone, "domain": domain, "name": name, "power_w": power_w, "window_s": 28.0}


# An i5-13500: PL1 65 W, PL2 117 W.
CLIENT = [
    limit("intel-rapl:0", "package-0", "long_term", 65.0),
    limit("intel-rapl:0", "package-0", "short_term", 117.0),
    limit("intel-rapl:1", "psys", "long_term", 10.0),
]


@pytest.mark.parametrize(
    ("power_w", "words"),
    [
        (20.0, ""),
        (63.0, ""),
        (63.1, "at PL1"),
        (65.0, "at PL1"),
        (65.1, "burst above PL1"),
        (110.0, "burst above PL1"),
    ],
)
def test_what_is_said_of_a_power(power_w: float, words: str) -> None:
    # 97% of 65 W are 63.05 W.
    note = power_limit_note(power_w, CLIENT).fields["power_limit_note"]
    assert note.partition(":")[0] == words
    assert not words or "PL1 65.0 W" in note


def test_the_lowest_limit_of_a_package_holds() -> None:
    limits = [*CLIENT, limit("intel-rapl-mmio:0", "package-0", "long_term", 45.0)]
    assert power_limit_note(50.0, limits).fields["power_limit_note"].startswith("burst above PL1")


def test_packages_add_up() -> None:
    limits = [*CLIENT, limit("intel-rapl:2", "package-1", "long_term", 65.0)]
    assert power_limit_note(100.0, limits).fields == {"power_limit_note": ""}


@pytest.mark.parametrize(
    ("power_w", "limits", "reason"),
    [
        (None, CLIENT, "power was not measured"),
        (60.0, [], "PL1) is not known"),
        (60.0, [limit("intel-rapl:0", "package-0", "long_term", None)], "PL1) is not known"),
        (60.0, [limit("intel-rapl:0", "package-0", "long_term", 0.0)], "PL1) is not known"),
        (
            60.0,
            [*CLIENT, limit("intel-rapl:2", "package-1", "long_term", None)],
            "PL1) is not known",
        ),
        (60.0, [limit("intel-rapl:0", "psys", "long_term", 65.0)], "PL1) is not known"),
    ],
)
def test_what_is_not_known_is_not_judged(
    power_w: float | None, limits: list[dict[str, Any]], reason: str
) -> None:
    note = power_limit_note(power_w, limits)
    assert note.fields == {}
    assert reason in note.unavailable["power_limit_note"]
