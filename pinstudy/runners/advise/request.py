"""A request to `pinstudy advise`: its checked options, and its program."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pinstudy.base import PINSTUDY
from pinstudy.base.errors import UserError
from pinstudy.base.text import shown
from pinstudy.configs.app import THREADS_PLACE, HelperCount, Schedule
from pinstudy.configs.repetitions import ANY, MAX_RACE_RUNS, MIN_RACE_RUNS
from pinstudy.configs.settings import Governor
from pinstudy.configs.study import ThreadCount, WaitPolicy
from pinstudy.configs.values import (
    RegionName,
    command_line,
    count,
    option_value,
    regex,
    share_option,
    text,
    time_option,
)
from pinstudy.configs.variables import BY_ARGUMENTS, Assignments, ThreadsBy, Variables
from pinstudy.runners.host.software import find_program

# The objective when a pattern picks a value from the output.
METRIC = "metric"
# Without --time-budget a search ends after so long, and after few runs.
DEFAULT_TIME_BUDGET = "30 min"
# Without --timeout a longer run counts as hanging.
DEFAULT_TIMEOUT = "1 h"
NONE = "none"
# A text that begins like this is meant as a path, though a pattern may have slashes, too.
_PATHS = ("/", "./", "../")


@dataclass(frozen=True)
class Request:
    """A checked request.

    `of` is what cases race for, METRIC, which `pattern` picks, or a word of
    configs.repetitions.RACE_OF. Times are in seconds, `margin` is a share. `threads`, `schedules`,
    `wait_policies` and `governors` are None where pinstudy chooses; empty `schedules` or
    `wait_policies` mean that none race. At most one of `check_pattern` and `check_command` is set.
    `runs` is ANY where the user gave a time and no number of runs: the time alone then limits.
    `directory` is the working directory. `threads_by` are the variables that tell the program its
    thread count, or BY_ARGUMENTS; None where pinstudy chooses. `starts` is the thread count of a
    program that ignores the requested count; None for others. `region` is the region that they
    race for; None for the whole run. `variables` are environment variables for every run. `helpers`
    is how many of its processes may work beside the one whose threads are placed. `resumed_by` is
    the command that continues the search.
    """

    program: Path
    arguments: tuple[str, ...]
    directory: str
    of: str
    higher: bool
    pattern: str | None
    margin: float
    time_budget_s: float | None
    runs: int | str | None
    limit_s: float
    threads: tuple[int, ...] | None
    schedules: tuple[str, ...] | None
    wait_policies: tuple[str, ...] | None
    governors: tuple[str, ...] | None
    check_pattern: str | None
    check_command: tuple[str, ...]
    threads_by: tuple[str, ...] | None = None
    starts: int | None = None
    region: str | None = None
    variables: Assignments = ()
    helpers: int = 0
    resumed_by: str = ""

    @property
    def takes_threads(self) -> bool:
        """Whether an argument contains `{threads}`, the thread count."""
        return any(THREADS_PLACE in argument for argument in self.arguments)

    @property
    def shell_line(self) -> str:
        """The program and its arguments as a shell reads them."""
        return shlex.join([str(self.program), *self.arguments])

    def check_variables(self, threads_by: Iterable[str]) -> None:
        """Raise UserError where a variable of --set tells the program its thread count."""
        for name in threads_by:
            if name in dict(self.variables):
                raise UserError(f"--set {name}: it has the thread count; say how many in --threads")


def make_request(
    command: Sequence[str],
    *,
    objective: str | None = None,
    metric: str | None = None,
    better: str | None = None,
    time_budget: str | None = None,
    runs: str | None = None,
    margin: str = "1%",
    threads: str | None = None,
    schedules: str | None = None,
    wait_policies: str | None = None,
    governors: str | None = None,
    check: str | None = None,
    timeout: str = DEFAULT_TIMEOUT,
    threads_by: str | None = None,
    region: str | None = None,
    variables: Sequence[str] = (),
    helpers: str | None = None,
) -> Request:
    """Return the request of a command and the options of `pinstudy advise`, as typed.

    Raises UserError for the first mistake, with the option, what it expects and what to do.
    """
    if objective and metric:
        raise UserError("--objective and --metric are two questions; ask one of them at a time")
    if better and not metric:
        raise UserError("--better says what is better of --metric, which is not given")
    if region and metric:
        raise UserError("--region and --metric: a metric is of the whole run; ask for one of them")
    measure = METRIC if metric else objective or "time"
    check_pattern, check_command = _check(check)
    request = Request(
        program=_program(command),
        arguments=_arguments(command[1:]),
        directory=_directory(),
        of=measure,
        higher=better == "higher",
        pattern=option_value("--metric", metric, Annotated[str, regex(picks=True)]),
        margin=share_option("--margin", margin),
        time_budget_s=time_option(
            "--time-budget", DEFAULT_TIME_BUDGET if time_budget is None else time_budget
        ),
        runs=ANY if time_budget is not None and runs is None else _runs(runs),
        limit_s=time_option("--timeout", timeout) or 0.0,
        threads=_list("--threads", threads, ThreadCount),
        # The comma before a chunk size is part of a schedule.
        schedules=_list_or_none("--schedules", schedules, Schedule, r",(?!\d)"),
        wait_policies=_list_or_none("--wait-policies", wait_policies, WaitPolicy),
        governors=_list("--governors", governors, Governor),
        check_pattern=check_pattern,
        check_command=check_command,
        threads_by=_list("--threads-by", threads_by, ThreadsBy),
        region=option_value("--region", region, RegionName),
        variables=_variables(variables),
        helpers=option_value("--helpers", helpers, HelperCount) or 0,
    )
    request.check_variables(request.threads_by or ())
    if BY_ARGUMENTS in (request.threads_by or ()) and not request.takes_threads:
        raise UserError(
            f"--threads-by {BY_ARGUMENTS}: no argument of the program has {THREADS_PLACE}; write "
            "it where the program takes its thread count, such as: -t {threads}"
        )
    return request


def _variables(settings: Sequence[str]) -> Assignments:
    """Return the variables of --set; of two that set the same one, the later counts."""
    pairs = [setting.partition("=") for setting in settings]
    if lacking := next((name for name, equals, _ in pairs if not equals), None):
        raise UserError(
            f"--set {shown(lacking)}: expected a name and a value; write --set OMP_STACKSIZE=64M, "
            "or --set NAME= for an empty value"
        )
    if not pairs:
        return ()
    table = {name: value for name, _, value in pairs}
    assignments: Assignments = option_value("--set", table, Variables)
    return assignments


def _runs(text: str | None) -> int | None:
    most = Annotated[int, count("a number of runs", MIN_RACE_RUNS, MAX_RACE_RUNS)]
    runs: int | None = option_value("--runs", text, most)
    return runs


def _program(command: Sequence[str]) -> Path:
    """Return the absolute path of the program, found as a shell finds it."""
    if not command or not command[0]:
        raise UserError(f"no program; write it after two dashes: {PINSTUDY} advise -- ./my_app 100")
    name = command[0]
    file = find_program(name, ()) if "\0" not in name else None
    if file is None:
        raise UserError(_no_program(name))
    option_value("the program", str(file), Annotated[str, text("a path that a study can name")])
    return file


def _no_program(name: str) -> str:
    # Path.is_file raises OSError for names that are too long.
    is_file = os.path.isfile(name)  # noqa: PTH113
    if "/" not in name:
        near = f"; there is ./{name} here: write it so" if is_file else ""
        return f"{shown(name)}: no such program on the PATH{near}"
    if not is_file:
        return f"{shown(name)}: no such program; expected the path of an executable file"
    return f"{shown(name)}: may not be executed; `chmod +x` makes it a program"


def _arguments(arguments: Sequence[str]) -> tuple[str, ...]:
    expected = command_line("a command line that a study can hold: at most 1000 arguments of text")
    form = Annotated[tuple[str, ...], expected]
    checked: tuple[str, ...] = option_value("the program's arguments", list(arguments), form)
    return checked


def _directory() -> str:
    try:
        return str(Path.cwd())
    except OSError as error:
        raise UserError(f"the working directory is not there any more: {error.strerror}") from None


def _check(text: str | None) -> tuple[str | None, tuple[str, ...]]:
    """Return the pattern, or the command, of --check."""
    if text is None:
        return None, ()
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    if words and "/" in words[0]:
        file = find_program(words[0]) if "\0" not in text else None
        if file:
            return None, (str(file), *_arguments(words[1:]))
        if words[0].startswith(_PATHS):
            raise UserError(
                f"--check {_no_program(words[0])}; a pattern that begins so can begin with (?:)"
            )
    return option_value("--check", text, Annotated[str, regex(picks=False)]), ()


def _list_or_none(
    option: str,
    text: str | None,
    form: Any,  # noqa: ANN401 - a type
    separator: str = ",",
) -> tuple[Any, ...] | None:
    """Return the values that an option lists, or no value where it says `none`."""
    return () if text == NONE else _list(option, text, form, separator)


def _list(
    option: str,
    text: str | None,
    form: Any,  # noqa: ANN401 - a type
    separator: str = ",",
) -> tuple[Any, ...] | None:
    """Return the values that an option lists, joined by commas, each of them once."""
    items = None if text is None else [item.strip() for item in re.split(separator, text)]
    values: tuple[Any, ...] | None = option_value(option, items, tuple[form, ...])
    return values
