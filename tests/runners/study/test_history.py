"""What an earlier attempt's records tell the next one, whatever stands in them."""

from __future__ import annotations

from typing import Any

import pytest

from runners.study.history import History

GOOD = {"case_id": "a", "status": "ok", "warmup": False, "repetition": 1, "elapsed_s": 2.5}


def history_of(**fields: Any) -> History:  # noqa: ANN401
    history = History()
    history.add(GOOD | fields)
    return history


def test_a_good_run_is_done_and_tells_its_time() -> None:
    assert ("a", False, 1) in history_of().done
    assert history_of().mean_s("a") == 2.5


@pytest.mark.parametrize("repetition", [True, "1", 1.0, None, [], {}])
def test_a_run_that_does_not_tell_its_repetition_is_not_done(repetition: object) -> None:
    assert ("a", False, 1) not in history_of(repetition=repetition).done
