"""A request is checked before anything else: each mistake is one line that says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.errors import UserError
from tests.runners.advise.requests import request
from tests.support.studies import write_program


def test_what_is_not_said_is_what_most_want() -> None:
    made = request()
    assert (made.of, made.higher, made.margin, made.time_budget_s, made.runs) == (
        *("time", False, 0.01),
        *(1800, None),
    )
    assert (made.threads, made.schedules, made.governors) == (None, None, None)
    assert made.limit_s == 3600
    assert made.directory == str(Path.cwd())


def test_every_option_is_taken() -> None:
    made = request(
        metric=r"GFLOP/s: (\S+)",
        better="higher",
        time_budget="5 min",
        runs="40",
        margin="2%",
        threads="8, 2",
        schedules="static, dynamic,4",
        governors="current,performance",
        check="residual < 1e-9",
        timeout="90 s",
    )
    assert (made.of, made.pattern, made.higher) == ("metric", r"GFLOP/s: (\S+)", True)
    assert (made.time_budget_s, made.runs, made.margin, made.limit_s) == (300, 40, 0.02, 90)
    assert made.threads == (8, 2)
    assert made.schedules == ("static", "dynamic,4")
    assert made.governors == ("current", "performance")
    assert (made.check_pattern, made.check_command) == ("residual < 1e-9", ())


def test_a_time_that_is_given_limits_alone_unless_runs_are_given_too() -> None:
    assert (request(time_budget="5 min").time_budget_s, request(time_budget="5 min").runs) == (
        300,
        "any",
    )
    assert (request(runs="40").time_budget_s, request(runs="40").runs) == (1800, 40)
    with pytest.raises(UserError, match="--time-budget"):
        request(time_budget="")


def test_variables_for_every_run_are_taken_and_the_later_of_a_name_counts() -> None:
    made = request(variables=("OMP_STACKSIZE=64M", "MODE=a=b", "OMP_STACKSIZE=1G", "EMPTY="))
    assert dict(made.variables) == {"OMP_STACKSIZE": "1G", "MODE": "a=b", "EMPTY": ""}


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("OMP_STACKSIZE", "expected a name and a value"),
        ("", "''"),
        ("=64M", "no name of a variable"),
        ("9X=1", "no name of a variable"),
        ("A=two\nlines", "one line"),
        ("OMP_PLACES=cores", "OMP_PLACES is set by pinstudy"),
        ("MKL_NUM_THREADS=2", "it has the thread count"),
    ],
)
def test_what_cannot_be_set_is_told_with_the_option(setting: str, told: str) -> None:
    with pytest.raises(UserError) as problem:
        request(variables=(setting,), threads_by="MKL_NUM_THREADS")
    assert "--set" in str(problem.value) and told in str(problem.value)
    assert "\n" not in str(problem.value)


def test_no_schedules_are_something_else_than_none_said() -> None:
    assert request(schedules="none").schedules == ()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"objective": "time", "metric": "(x)"}, "--objective and --metric are two questions"),
        ({"better": "higher"}, "--better says what is better of --metric"),
        ({"metric": "x"}, "--metric: 'x' has no group"),
        ({"metric": "("}, "--metric: '(' is not a regular expression"),
        ({"check": "("}, "--check: '(' is not a regular expression"),
        ({"threads": "2,0"}, "--threads: '0' is not a thread count"),
        ({"threads": "4097"}, "from 1 to 4096"),
        ({"threads": "2,2"}, "'2' is repeated"),
        ({"threads": ""}, "--threads: '' is not a thread count"),
        ({"time_budget": "30"}, "--time-budget: '30' has no unit"),
        ({"timeout": "0 s"}, "--timeout: '0 s' is not longer than nothing"),
        ({"margin": "1"}, "--margin: '1' is not a percentage, such as 1%"),
        ({"margin": "0%"}, "--margin: '0%' is not more than 0%"),
        ({"runs": "9"}, "--runs: '9' is not a number of runs"),
        ({"helpers": "0"}, "--helpers: '0' is not a number of processes"),
        ({"threads_by": "openblas"}, "--threads-by: 'openblas' is not a variable such as"),
        ({"threads_by": "A,OMP_PLACES"}, "--threads-by: OMP_PLACES is set by pinstudy"),
        ({"threads_by": "arguments"}, "--threads-by arguments: no argument of the program has"),
        ({"schedules": "dynamc"}, "did you mean 'dynamic'?"),
        ({"governors": "powersafe"}, "did you mean 'powersave'?"),
    ],
)
def test_a_mistake_in_an_option_is_told_with_its_name(options: dict[str, str], told: str) -> None:
    with pytest.raises(UserError) as error:
        request(**options)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ((), "no program"),
        (("",), "no program"),
        (("no-such-program-here",), "no such program on the PATH"),
        (("./none",), "no such program; expected the path"),
        (("./data",), "may not be executed; `chmod \\+x`"),
        (("own",), "there is ./own here: write it so"),
        (("./own", "a\0b"), "is not an argument; expected UTF-8 text without NUL"),
        (("./own", "\udcff"), "is not an argument; expected UTF-8 text without NUL"),
        (("./own", *["x"] * 1001), "at most 1000 arguments"),
        (("./odd\nname",), "a path that a study can name"),
    ],
)
def test_a_command_that_cannot_be_studied_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("own", "data", "odd\nname"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o644 if name == "data" else 0o755)
    from runners.advise.request import make_request

    with pytest.raises(UserError, match=told):
        make_request(command)


def test_a_program_is_found_as_a_shell_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The build has a program of this name, which is not meant.
    for folder in ("here", "path"):
        (tmp_path / folder).mkdir()
        write_program(tmp_path / folder / "lu-serial", "#!/bin/sh\n")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert request("lu-serial").program == tmp_path / "path/lu-serial"
    assert request("./lu-serial", "-n").program == tmp_path / "here/lu-serial"


def test_a_check_that_names_a_program_by_a_path_is_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    verify = tmp_path / "verify.sh"
    verify.write_text("#!/bin/sh\n")
    for path, told in (("./verify.sh", "may not be executed"), ("../none -q", "no such program")):
        with pytest.raises(UserError, match=told):
            request(check=path)
    assert request(check="GFLOP/s: 1").check_pattern == "GFLOP/s: 1"
    verify.chmod(0o755)
    assert request(check="./verify.sh 'a b'").check_command == (str(verify), "a b")
    # Without a slash it is a pattern, even where there is such a program.
    assert request(check="sort of").check_pattern == "sort of"
    assert request(check="it's done").check_pattern == "it's done"
