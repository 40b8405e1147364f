"""What the records of earlier attempts, and of other nodes, tell the next one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from base.errors import UserError
from configs.library import load_study
from runners.records.record import SCHEMA
from runners.records.shard import Shard
from runners.study.history import History, ShardLines, read_history

GOOD = {"case_id": "a", "status": "ok", "warmup": False, "repetition": 1, "elapsed_s": 2.5}


def history_of(**fields: Any) -> History:  # noqa: ANN401
    history = History()
    history.add(GOOD | fields)
    return history


def test_a_good_run_is_done_and_tells_its_time() -> None:
    assert ("a", False, 1) in history_of().done
    assert history_of().mean_s("a") == 2.5


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


def test_all_that_a_next_attempt_asks_of_earlier_runs_comes_from_one_reading(
    tmp_path: Path,
) -> None:
    timed = {"fixed_time": True, "metrics": {"rate": 40.0}}
    folder = write(
        tmp_path,
        record("n1", 1, energy_pkg_j=5.0, metrics={"n": 1.0}),
        record("n1", 2, status="failed"),
        record("n1", 3, status="interrupted"),
        record("n1", 1, warmup=True),
        record("n1", 1, case_id="timed", **timed),
    )
    with (folder / "records" / "n1-0005.jsonl").open("ab") as shard:
        shard.write(b'{"schema":5,"sta')

    history = read_history(folder, STUDY, "same")

    assert history.good == {
        "a": {1: {"elapsed_s": 1.0, "energy_pkg_j": 5.0}},
        "timed": {1: {"elapsed_s": 1.0, "metrics": {"rate": 40.0}}},
    }
    assert list(history.shards.values()) == [
        *(ShardLines(1, 0), ShardLines(1, 0), ShardLines(0, 0), ShardLines(1, 0)),
        ShardLines(1, 1),
    ]
