"""A study that collects traces keeps the looks at each run, also at one that is interrupted."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.support.cli import pinstudy, started
from tests.support.held import WORK_UNTIL_LOOKED_AT, held_nap, looks_counted
from tests.support.processes import errors_of
from tests.support.studies import records, two_cpus, two_kinds, write_app, write_study
from tests.support.trace_format import Complete, File, checked

COLLECT = {"collect": ["trace"]}


def converted(folder: Path, study: str) -> File:
    (results,) = (folder / "results" / study).iterdir()
    pinstudy(folder, "trace", str(results), status=0)
    return checked((results / "trace.json").read_bytes())


def test_a_pinned_run_is_drawn_on_its_cpu_and_others_keep_no_looks(tmp_path: Path) -> None:
    work = WORK_UNTIL_LOOKED_AT.replace("LOOKS", str(tmp_path / "looks"))
    write_app(tmp_path, "work", "/bin/sh", {"some": {"arguments": ["-c", work]}})
    write_study(tmp_path, "traced", "work", "some", mappings="ecores-pin", **COLLECT)
    write_study(tmp_path, "plain", "work", "some", mappings="ecores-pin", collect=["perf"])
    with looks_counted(tmp_path / "looks"):
        pinstudy(tmp_path, "run", "traced.yaml", *two_kinds(), status=0)
        pinstudy(tmp_path, "run", "plain.yaml", *two_kinds(), status=0)

    (run,) = records(tmp_path, "traced")
    kept = (tmp_path / "results").glob("*/*/traces/*")
    assert [path.name for path in kept] == [f"{run['run_id']}.json.gz"]
    file = converted(tmp_path, "traced")
    about = file.otherData
    assert (about["run_id"], about["looks"]) == (run["run_id"], run["placement"]["looks"])
    assert about["elapsed_ms"] == round(run["elapsed_s"] * 1000, 3)
    names = {event.name for event in file.traceEvents if isinstance(event, Complete)}
    assert names == {f"E {two_cpus()[1]}"}


def test_an_interrupted_run_keeps_what_was_seen_of_it(tmp_path: Path) -> None:
    gate = held_nap(tmp_path / "nap.sh")
    write_app(tmp_path, "held", tmp_path / "nap.sh", {"short": {"arguments": "0.02"}})
    write_study(tmp_path, "held", "held", "short", **COLLECT)
    gate.close()
    with started(tmp_path, "run", "held.yaml") as process:
        gate.wait_for_run(process)
        process.send_signal(signal.SIGINT)
        errors_of(process, 130)
    gate.open()

    (run,) = records(tmp_path)
    assert run["status"] == "interrupted"
    about = converted(tmp_path, "held").otherData
    assert (about["run_id"], about["end"]) == (run["run_id"], "not seen: the run was interrupted")
