"""Programs that write their results into files: each run works in a folder of its own."""

from __future__ import annotations

from pathlib import Path

from runners.execution.output_file import working_folder, written_text
from tests.support.cli import pinstudy
from tests.support.studies import records, write_app, write_program, write_study


def test_what_a_run_wrote_is_read_and_nothing_is_left(tmp_path: Path) -> None:
    program = write_program(
        tmp_path / "solver",
        "#!/bin/sh\npwd > where\necho rating=42.5 > result-1.txt\necho rating=1 > other.txt\n"
        "echo printed\n",
    )
    write_app(
        tmp_path,
        "solver",
        program,
        {"small": {"arguments": ""}},
        writes="result-*.txt",
        metrics={
            "rating": {"pattern": "rating=([0-9.]+)", "unit": "Gflop/s", "better": "higher"},
            "bandwidth": {"pattern": "B/W=([0-9.]+)", "unit": "GB/s"},
        },
        check={"command": ["/bin/sh", "-c", "grep -q printed"]},
    )
    write_study(tmp_path, "writes", "solver", "small")
    before = set(tmp_path.iterdir())
    pinstudy(tmp_path, "run", "writes.yaml", status=0)
    (run,) = records(tmp_path)
    assert run["metrics"] == {"rating": 42.5}
    assert list(run["metric_units"].items()) == [("rating", "Gflop/s"), ("bandwidth", "GB/s")]
    assert run["metric_better"] == {"rating": "higher"}
    assert "B/W" in run["unavailable"]["metrics.bandwidth"]
    assert set(tmp_path.iterdir()) - before == {tmp_path / "results"}


def test_only_files_of_the_folder_itself_are_read_and_the_folder_is_removed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    with working_folder("*.txt") as folder:
        assert folder is not None
        (folder / "b.txt").write_text("second")
        (folder / "a.txt").write_text("first\n")
        (folder / "c.txt").symlink_to(secret)
        (folder / "d.txt").mkdir()
        assert written_text(folder, "*.txt") == "first\nsecond\n"
    assert not folder.exists()
    with working_folder(None) as none:
        assert none is None
