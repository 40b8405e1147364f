"""A search whose program does not work ends with why, and with what helps."""

from __future__ import annotations

from typing import Any

import pytest

from configs.errors import StudyError
from runners.advise.end import raise_problem
from tests.runners.advise.requests import request

TEAM = {"threads": [{"process": 0}, {"process": 0}, {"process": 1}]}
FEW = {"status": "placement-violated", "reason": "few ran", "threads": 8, "placement": TEAM}
NO_NUMBER = {"status": "ok", "unavailable": {"race_value": "no counters"}}
THREADS = ("/bin/sh", "-t{threads}")


@pytest.mark.parametrize(
    ("command", "options", "record", "told"),
    [
        ((), {}, FEW, "few ran; it starts 2 threads, whatever it is told"),
        (THREADS, {}, FEW, "it was told 8 by its arguments, and starts 2 threads"),
        ((), {"objective": "energy"}, NO_NUMBER, "no counters; without it nothing races for"),
        ((), {"metric": "x=(.)"}, NO_NUMBER, "no counters; mend --metric"),
        ((), {}, {"status": "timeout"}, "timeout; give it more time: --limit"),
        ((), {}, {"status": "failed", "reason": "exit status 3"}, "status 3; see that it works"),
        ((), {}, {"status": "failed", "repetition": 4}, "it had worked before"),
        ((), {}, {"status": "failed", "stderr_tail": "a\nno mesh\n"}, "(it said: no mesh); see"),
        ((), {}, {"status": "placement-violated", "threads": 0}, "left to pinstudy"),
    ],
)
def test_why_there_is_no_answer_comes_with_what_helps(
    command: tuple[str, ...], options: dict[str, str], record: dict[str, Any], told: str
) -> None:
    with pytest.raises(StudyError) as error:
        raise_problem(request(*command, **options), {"repetition": 1} | record)
    assert told in str(error.value)
    assert "\n" not in str(error.value)
