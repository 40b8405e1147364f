"""What the records of earlier attempts, and of other nodes, tell the next one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from base.errors import UserError
from configs.library import load_study
from runners.records.record import SCHEMA
from runners.records.shard import Shard
from runners.study.history import History, read_history

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


STUDY = load_study("quick")


def record(node: str, repetition: int, **fields: object) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "study_digest": STUDY.digest,
        "node_digest": "same",
        "node_id": node,
        "case_id": "a",
        "status": "ok",
        "warmup": False,
        "repetition": repetition,
        "elapsed_s": 1.0,
        **fields,
    }


def write(folder: Path, *records: dict[str, Any]) -> Path:
    for each in records:
        shard = Shard(folder / "records", str(each["node_id"]))
        shard.append(each)
        shard.close()
    return folder


def test_runs_of_all_nodes_count_and_warm_up_runs_of_ones_own(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        record("n1", 1, warmup=True),
        record("n1", 1),
        record("n2", 1, warmup=True),
        record("n2", 2),
    )
    done = set(read_history(folder, STUDY, "same", "n1", "split-there").done)
    assert done == {("a", True, 1), ("a", False, 1), ("a", False, 2)}
    of_a_third = set(read_history(folder, STUDY, "same", "n3", "split-there").done)
    assert of_a_third == {("a", False, 1), ("a", False, 2)}


def test_a_node_that_is_not_like_the_others_is_refused_by_name(tmp_path: Path) -> None:
    folder = write(tmp_path, record("n1", 1))
    with pytest.raises(UserError, match=r"node n2 is not like 'n1'.*--spread per-node"):
        read_history(folder, STUDY, "other", "n2", "split-there")
