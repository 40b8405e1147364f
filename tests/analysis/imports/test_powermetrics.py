"""Text of powermetrics becomes runs with energy by core kind, and what it lacks is told.

The samples are made up, in the forms of macOS 12 and 13, and of Intel's Macs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pinstudy.analysis.imports.powermetrics import import_powermetrics
from pinstudy.base.errors import UserError
from pinstudy.runners.records.reader import read_records
from tests.support.cli import pinstudy


def sample(elapsed_ms: float, *lines: str) -> str:
    head = (
        f"*** Sampled system activity (Sat Nov 28 10:00:00 2026 +0100) ({elapsed_ms}ms elapsed) ***"
    )
    return "\n".join(["", head, "", "**** Processor usage ****", "", *lines, ""])


def cpu(number: int, mhz: int, active: str) -> str:
    tells = (f"frequency: {mhz} MHz", f"active residency:  {active}% (600 MHz: 1%)")
    return "\n".join(f"CPU {number} {text}" for text in tells)


def macos_12(elapsed_ms: float, e_mw: int, p_mw: tuple[int, int]) -> str:
    """Return a sample of one E-core and two clusters of P-cores, package of 100 mW more."""
    cores = e_mw + sum(p_mw)
    return sample(
        elapsed_ms,
        f"E-Cluster Power: {e_mw} mW\nE-Cluster HW active frequency: 1100 MHz",
        cpu(0, 1000, "50.00"),
        f"P0-Cluster Power: {p_mw[0]} mW",
        cpu(2, 3000, "75.00"),
        f"P1-Cluster Power: {p_mw[1]} mW",
        cpu(6, 2000, "25.00"),
        f"ANE Power: 0 mW\nDRAM Power: 40 mW\nCPU Power: {cores} mW\nGPU Power: 60 mW",
        f"Package Power: {cores + 100} mW\n\n**** GPU usage ****\n\nGPU Power: 60 mW",
    )


def macos_13(*clusters: str, cpu_mw: int = 400) -> str:
    total = f"Combined Power (CPU + GPU + ANE): {cpu_mw + 100} mW"
    return sample(
        2000, *clusters, f"CPU Power: {cpu_mw} mW\nGPU Power: 100 mW\nANE Power: 0 mW", total
    )


TEXT = "Machine model: Mac\n" + macos_12(1000, 200, (1000, 3000)) + macos_12(500, 400, (2000, 0))
INTEL = sample(1000, "Intel energy model derived package power (CPUs+GT+SA): 12.50W")


def bring(folder: Path, *texts: str, times: str = "") -> list[dict[str, Any]]:
    files = [folder / f"p-{number}.txt" for number in range(1, len(texts) + 1)]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    options: dict[str, str | int | None] = {"app": "solve", "threads": 8, "mapping": "unpinned"}
    if times:
        (folder / "times.csv").write_text(times)
        options["times"] = str(folder / "times.csv")
    import_powermetrics(files, folder / "results", options)
    return list(read_records(folder / "results" / "records"))


def test_energy_is_the_sum_of_power_times_elapsed_by_kind_and_part(tmp_path: Path) -> None:
    (run,) = bring(tmp_path, TEXT)

    # E: 0.2 W x 1 s + 0.4 W x 0.5 s; P: (1 + 3) W x 1 s + 2 W x 0.5 s.
    assert run["energy_by_kind_j"] == pytest.approx({"P": 5.0, "E": 0.4})
    assert run["energy_core_j"] == pytest.approx(5.4)
    assert run["energy_pkg_j"] == pytest.approx(5.4 + 0.1 * 1.5)
    assert (run["energy_uncore_j"], run["energy_dram_j"]) == pytest.approx((0.09, 0.06))
    assert (run["energy_window_s"], run["energy_samples"]) == (1.5, 2)
    assert run["energy_source"] == "powermetrics Package"
    assert run["power_pkg_w"] == pytest.approx(5.55 / 1.5)
    # P: 3 GHz for three parts of the time and 2 GHz for one.
    assert run["freq_ghz"] == pytest.approx({"P": 2.75, "E": 1.0})
    missing = run["unavailable"]
    assert missing["elapsed_s"] == "powermetrics tells no run's time; --times does"
    assert missing["residency"] == "powermetrics counts all tasks, not the program"
    assert "edp_js" not in run


def test_a_runs_time_comes_from_a_file_beside_it(tmp_path: Path) -> None:
    (run,) = bring(tmp_path, TEXT, times="file,elapsed_s\np-1.txt,1.25\nanother.txt,9\n")
    assert (run["elapsed_s"], run["energy_window_s"]) == (1.25, 1.5)
    assert run["edp_js"] == pytest.approx(5.55 * 1.25)


@pytest.mark.parametrize(
    ("text", "joules", "source"),
    [(macos_13(), 1.0, "powermetrics Combined"), (INTEL, 12.5, "powermetrics Intel")],
)
def test_newer_systems_and_intels_tell_no_power_of_clusters(
    tmp_path: Path, text: str, joules: float, source: str
) -> None:
    (run,) = bring(tmp_path, text)
    assert (run["energy_pkg_j"], run["energy_source"]) == (pytest.approx(joules), source)
    assert run["unavailable"]["energy_by_kind_j"].startswith("powermetrics told no power of P-")
    assert "freq_ghz" not in run


def test_clusters_of_unknown_kinds_and_cpus_without_power_are_told(tmp_path: Path) -> None:
    """M5 has S-clusters; macOS 27 tells 0 mW of CPUs at work, and a combined power of the rest."""
    clusters = ("S-Cluster Online: 100%", cpu(0, 4000, "90.0"), "P0-Cluster Online: 100%")
    (run,) = bring(tmp_path, macos_13(*clusters, cpu(4, 3000, "9.0"), cpu_mw=0))
    assert not {"freq_ghz", "energy_pkg_j", "energy_core_j", "power_pkg_w"} & set(run)
    assert run["unavailable"]["energy_pkg_j"] == "powermetrics told 0 mW of the CPUs"


@pytest.mark.parametrize(
    ("text", "times", "problem"),
    [
        ("hello\n", "", "p-1.txt: has no sample with a power; expected the text of `powermetrics"),
        ('<?xml version="1.0"?>\n<plist/>\n', "", "cpu_power`, without -f plist"),
        (TEXT.replace(" (1000ms elapsed)", ""), "", "p-1.txt:3: a sample without its time, such"),
        (TEXT[:-150], "", ":27: a sample without ANE power, which that in line 3 has; is it cut"),
        (
            TEXT.replace("CPU Power: 4200", "CPU Power: --"),
            "",
            ":19: 'CPU Power: -- mW' has no power",
        ),
        (TEXT, "file,elapsed_s\np-1.txt,9\n", "its samples last 1.5 s, and the run 9 s, so that"),
        (TEXT, "file,elapsed_s\np-2.txt,1\n", "times.csv: has no time of "),
        (TEXT, "file,elapsed_s\np-1.txt,fast\n", "times.csv:2:9: 'p-1.txt,fast': expected a file"),
        (
            TEXT,
            "file,elapsed_s\np-1.txt,1\n./p-1.txt,1\n",
            "times.csv:3:1: './p-1.txt' is there twice",
        ),
        (TEXT, "p-1.txt,1\n", "times.csv:1:1: begins with 'p-1.txt,1'; expected file,elapsed_s"),
    ],
)
def test_what_cannot_be_imported_is_refused_with_its_line(
    tmp_path: Path, text: str, times: str, problem: str
) -> None:
    with pytest.raises(UserError) as refused:
        bring(tmp_path, text, times=times)
    assert problem in str(refused.value)
    assert not (tmp_path / "results").exists()


def test_the_verdict_shows_energy_by_kind(tmp_path: Path) -> None:
    for name in ("unpinned_1", "unpinned_2", "ecores_1", "ecores_2"):
        (tmp_path / f"{name}.txt").write_text(f"{name}\n{TEXT}")
    files = sorted(path.name for path in tmp_path.glob("*.txt"))
    case = ("--app", "solve", "--threads", "8", "--pattern", "{mapping}_{repetition}.txt")
    done = pinstudy(tmp_path, "import", "powermetrics", *files, "-o", "r", *case, status=0)
    assert "r: 4 runs of 2 cases" in done.stderr
    shown = pinstudy(tmp_path, "verdict", "r", status=0).stdout
    assert "energy by core kind is of the cores" in shown
