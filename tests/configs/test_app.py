"""Apps: what their file says, and what is wrong with it."""

from __future__ import annotations

import pytest

from base.errors import ConfigError
from configs.app import App, OwnPlacement, Size
from configs.load import parse_app
from tests.configs.shelves import LU


def app_of(text: bytes, path: str = "lu.yaml") -> App:
    return parse_app(text, path)


def mistake(old: bytes, new: bytes) -> str:
    assert old in LU
    with pytest.raises(ConfigError) as error:
        app_of(LU.replace(old, new))
    (problem,) = error.value.problems
    return str(problem)


def test_an_app_is_named_as_its_file() -> None:
    assert app_of(LU, "some/where/lu.yaml").name == "lu"


def test_arguments_are_split_as_a_shell_splits_words_and_lists_are_kept() -> None:
    text = LU.replace(b"'100'", b"-f \"a b\" 'it''s'").replace(b"'it''s'", b"7")

    app = app_of(text)

    assert app.sizes["small"] == Size("small", ("-f", "a b", "7"), estimate_s=0.01)
    assert app.sizes["large"] == Size("large", ("-q", "2000"), quiet=True)


def test_limit_and_check_have_defaults() -> None:
    app = app_of(LU)

    assert (app.limit_s, app.arguments, app.metrics) == (600.0, ("{size}",), ())
    assert (app.check.failed_status, app.check.pattern) == (None, None)


@pytest.mark.parametrize(
    ("value", "command"),
    [
        ("[./verify.sh, 'a b', '']", ("./verify.sh", "a b", "")),
        ("./verify.sh --tolerance '1e-6' \"a b\"", ("./verify.sh", "--tolerance", "1e-6", "a b")),
    ],
)
def test_a_check_s_command_is_a_list_of_arguments(value: str, command: tuple[str, ...]) -> None:
    text = f"check: {{pattern: ^done, command: {value}}}\n".encode()
    if value.startswith("."):
        text = f"check:\n  pattern: ^done\n  command: {value}\n".encode()

    check = app_of(LU + text).check

    assert (check.command, check.pattern) == (command, "^done")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("''", "names no program; expected such as ./verify.sh"),
        ("[]", "names no program; expected such as ./verify.sh"),
        ("['', out.txt]", "names no program; expected such as ./verify.sh"),
        ("{a: b}", "a table of keys is not a command and its arguments, such as ./verify.sh"),
        ('"verify \'it"', '"verify \'it" has a quote that is not closed'),
        ("[verify, [x]]", "a list is not an argument; put an empty one in quotes"),
    ],
)
def test_a_check_without_a_program_to_run_is_a_mistake(value: str, said: str) -> None:
    problem = mistake(b"schedules:", f"check: {{command: {value}}}\nschedules:".encode())

    assert problem.startswith("lu.yaml:9:")
    assert said in problem


def with_metric(pattern: str) -> bytes:
    return f"metrics: {{t: {{unit: s, pattern: {pattern}}}}}\nschedules:".encode()


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("'Time: [0-9.]+'", "has no group; put parentheses around the number"),
        ("'Time: ([0-9.]+'", "is not a regular expression: missing ), unterminated subpattern"),
        ("'a{99999999999}(b)'", "is not a regular expression: the repetition number is too large"),
        ("'(" + "a" * 600 + ")'", "one line of 1 to 500 characters"),
        ("''", "'' is not a regular expression: one line of 1 to 500 characters"),
        ("[a]", "a list is not a regular expression"),
    ],
)
def test_a_pattern_must_compile_and_pick_a_number(pattern: str, said: str) -> None:
    problem = mistake(b"schedules:", with_metric(pattern))

    assert problem.startswith("lu.yaml:9:33: ")
    assert said in problem


def test_a_check_s_pattern_needs_no_group() -> None:
    app = app_of(LU.replace(b"schedules:", b"check: {pattern: '^Run completed'}\nschedules:"))

    assert app.check.pattern == "^Run completed"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"10 ms", b"10", "lu.yaml:7:39: '10' has no unit; write 10 s, 10 min or 10 h"),
        (b"'100'", b"'a \"b'", "lu.yaml:7:22: 'a \"b' has a quote that is not closed"),
        (b"runtime: none", b"runtime: nome", "did you mean 'none'?"),
        (b"'static,1'", b"guided", (
            "lu.yaml:10:19: 'guided' is not among the app's schedules (static, dynamic)"
        )),
        (b"[static, dynamic]", b"[static, dynamc]", (
            "lu.yaml:9:21: kind of schedule 'dynamc' is not known; did you mean 'dynamic'? "
            "(known: static, dynamic, guided, auto)"
        )),
        (b"schedules:", b"limit: 10\nschedules:", "'10' has no unit"),
        (b"schedules:", b"arguments: -x\nschedules:", (
            "lu.yaml:9:12: has no {size}, the place of the size's arguments"
        )),
        (b"schedules:", b"check: {failed_status: 0}\nschedules:", (
            "lu.yaml:9:24: '0' is not an exit status: a whole number from 1 to 255"
        )),
        (b"  small:", b"  a/b:", "lu.yaml:7:3: 'a/b' is not a name: letters, digits"),
        (b"quiet: yes", b"quiet: maybe", "'maybe' is not true or false"),
        (b"quiet: yes", b"quite: yes", "did you mean 'quiet'?"),
        (b"title: LU", b"title: LU\nname: ul", (
            "lu.yaml:3:7: app 'ul' stands in a file named 'lu'; name both alike"
        )),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(old: bytes, new: bytes, said: str) -> None:
    problem = mistake(old, new)

    assert problem.startswith("lu.yaml:")
    assert said in problem


def test_an_app_s_file_must_have_a_name_that_can_name_an_app() -> None:
    with pytest.raises(ConfigError, match="'my app' is no name"):
        app_of(LU, "my app.yaml")


def test_an_app_says_how_it_is_told_where_its_threads_are_to_be() -> None:
    text = LU + b"placement: {pin: [--pin, '{cpus}'], expect: '--expect={cpus}'}\n"

    assert app_of(text).placement == OwnPlacement(("--pin", "{cpus}"), ("--expect={cpus}",))
    assert app_of(LU).placement is None


def test_arguments_that_name_no_cpus_say_nothing_of_a_placement() -> None:
    said = mistake(b"schedules:", b"placement: {pin: --pin}\nschedules:")

    assert said.endswith("has no {cpus}, the place of the CPU of each thread")


def test_an_app_says_that_its_threads_share_cache_lines() -> None:
    assert app_of(LU + b"c2c: true\n").c2c is True
    assert app_of(LU).c2c is False
    assert mistake(b"schedules:", b"c2c: maybe\nschedules:").endswith(
        "'maybe' is not true or false"
    )


def test_an_app_may_run_as_long_as_it_is_told() -> None:
    assert app_of(LU + b"fixed_time: yes\n").fixed_time
    assert not app_of(LU).fixed_time


def test_a_size_may_expect_numbers_and_ranges_of_metrics() -> None:
    text = LU.replace(b"sizes:", b"metrics:\n  cycles: {pattern: '(.)', unit: '1'}\nsizes:")
    text = text.replace(b"small: {", b"small: {expect: {cycles: 1.5e3 to 2000}, ")

    assert app_of(text).sizes["small"].expect == {"cycles": (1500.0, 2000.0)}
    exact = app_of(text.replace(b"1.5e3 to 2000", b"575"))
    assert exact.sizes["small"].expect == {"cycles": (575.0, 575.0)}
    assert app_of(text).sizes["large"].expect == {}


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        (b"{cycles: many}", "'many' is not a number, such as 575, or a range"),
        (b"{cycles: 1 to}", "'1 to' is not a number"),
        (b"{cycles: 1e999}", "'1e999' is not a number"),
        (b"{cycles: 2 to 1}", "'2 to 1' ends below its beginning"),
        (b"{cycle: 1}", "metric 'cycle' is not known; did you mean 'cycles'?"),
        (b"575", "'575' is not a table from names to a number"),
    ],
)
def test_what_a_size_cannot_expect_is_a_mistake(expected: bytes, said: str) -> None:
    text = LU.replace(b"sizes:", b"metrics:\n  cycles: {pattern: '(.)', unit: '1'}\nsizes:")
    with pytest.raises(ConfigError) as error:
        app_of(text.replace(b"small: {", b"small: {expect: " + expected + b", "))
    (problem,) = error.value.problems
    assert said in str(problem)


def test_whose_program_it_is_and_how_it_is_obtained_is_told() -> None:
    more = b"implementation: LU of ours\nalgorithm: lu\nobtain: make originals\n"
    app = app_of(LU + more)
    assert (app.implementation, app.algorithm, app.obtain) == ("LU of ours", "lu", "make originals")
    assert (app_of(LU).implementation, app_of(LU).algorithm, app_of(LU).obtain) == ("", None, "")
