"""Variables that files set for programs, and thread counts told in a program's own way."""

from __future__ import annotations

from pathlib import Path

from tests.support.cli import pinstudy, run_main
from tests.support.studies import records, write_app, write_program, write_study

# Prints what it was told, as a number for each.
PROGRAM = """\
#!/bin/sh
echo "threads $OPENBLAS_NUM_THREADS, OpenMP ${OMP_NUM_THREADS:-0}, own $OWN, arguments $*" >> told
"""


def written(folder: Path) -> str:
    """Write an app and a study that set variables; return the study's file."""
    program = write_program(folder / "tell.sh", PROGRAM)
    write_app(
        *(folder, "tell", program, {"default": {"arguments": ""}}),
        arguments=["{size}", "-t", "{threads}"],
        threads_by=["OPENBLAS_NUM_THREADS", "arguments"],
        variables={"OWN": "app {threads}", "OTHER": "of the app"},
    )
    write_study(
        *(folder, "told", "tell", "default"),
        variables={"OWN": "study {threads} on {cpus}"},
        mappings=[{"name": "first", "selection": "cores", "binding": "pin"}],
        collect="energy",
        warmup=0,
        repetitions=1,
    )
    return str(folder / "told.yaml")


def test_a_program_gets_its_variables_and_its_thread_count(tmp_path: Path) -> None:
    written(tmp_path)

    pinstudy(tmp_path, "run", "told.yaml", status=0, OPENBLAS_NUM_THREADS="9", OMP_NUM_THREADS="9")
    (record,) = records(tmp_path)
    cpus = record["cpus"]
    told = (tmp_path / "told").read_text()
    assert told == f"threads 1, OpenMP 0, own study 1 on {cpus}, arguments -t 1\n"
    set_variables = record["environment"]["set"]
    assert set_variables["OWN"] == f"study 1 on {cpus}"
    assert set_variables["OPENBLAS_NUM_THREADS"] == "1"
    assert record["environment"]["removed"] == ["OMP_NUM_THREADS"]


def test_the_plan_says_what_sets_each_variable(tmp_path: Path) -> None:
    study = written(tmp_path)

    plan = run_main(["plan", study]).stdout

    assert "'OWN=study 1 on " in plan
    assert "      OTHER: set by app tell\n      OWN: set by study told\n" in plan
