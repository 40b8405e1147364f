"""The keys of an app."""

from __future__ import annotations

import pytest

from pinstudy.base.errors import ConfigError
from pinstudy.configs.app import App, OwnPlacement, Size
from pinstudy.configs.load import parse_app
from tests.configs.shelves import LU, RATED, app_with


def app_of(*lines: str, base: bytes = LU) -> App:
    return parse_app(app_with(*lines, base=base), "some/where/lu.yaml")


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("name", "name", "lu"),
        ("timeout", "limit_s", 600.0),
        ("arguments", "arguments", ("{size}",)),
        ("metrics", "metrics", ()),
        ("placement", "placement", None),
        (
            "placement: {pin: [--pin, '{cpus}'], expect: '--expect={cpus}'}",
            "placement",
            OwnPlacement(("--pin", "{cpus}"), ("--expect={cpus}",)),
        ),
        ("c2c: true", "c2c", True),
        ("c2c", "c2c", False),
        ("fixed_time: yes", "fixed_time", True),
        ("fixed_time", "fixed_time", False),
        ("implementation: LU of ours", "implementation", "LU of ours"),
        ("implementation", "implementation", ""),
        ("algorithm: lu", "algorithm", "lu"),
        ("algorithm", "algorithm", None),
        ("obtain: make originals", "obtain", "make originals"),
        ("obtain", "obtain", ""),
    ],
)
def test_a_key_has_its_value_or_its_default(line: str, key: str, value: object) -> None:
    assert getattr(app_of(line), key) == value


def test_arguments_are_split_as_a_shell_splits_words_and_lists_are_kept() -> None:
    app = app_of('small: {arguments: -f "a b" 7, estimate: 10 ms}')

    assert app.sizes["small"] == Size("small", ("-f", "a b", "7"), estimate_s=0.01)
    assert app.sizes["large"] == Size("large", ("-q", "2000"), quiet=True)


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("[./verify.sh, 'a b', '']", ("./verify.sh", "a b", "")),
        ("./verify.sh --tolerance '1e-6' \"a b\"", ("./verify.sh", "--tolerance", "1e-6", "a b")),
    ],
)
def test_a_check_has_a_pattern_and_a_command(command: str, arguments: tuple[str, ...]) -> None:
    check = app_of(f"check:\n  pattern: ^done\n  command: {command}").check

    assert (check.command, check.pattern, check.failed_status) == (arguments, "^done", None)


def test_a_size_may_expect_numbers_and_ranges_of_metrics() -> None:
    sizes = app_of(
        "small: {arguments: '', expect: {rate: 1.5e3 to 2000, steps: 575}}", base=RATED
    ).sizes

    assert sizes["small"].expect == {"rate": (1500.0, 2000.0), "steps": (575.0, 575.0)}
    assert sizes["large"].expect == {}


def test_a_metric_says_what_is_better_of_it_or_is_a_column_only() -> None:
    asked = RATED.replace(b"unit: Gflop/s", b"unit: Gflop/s, better: higher")

    assert [metric.better for metric in app_of(base=asked).metrics] == ["higher", None]
    with pytest.raises(ConfigError, match="direction 'more' is not known"):
        app_of(base=asked.replace(b"higher", b"more"))


def test_an_app_s_file_must_have_a_name_that_can_name_an_app() -> None:
    with pytest.raises(ConfigError, match="'my app' is no name"):
        parse_app(LU, "my app.yaml")
