"""Which needs a machine does not meet, and which packages would meet them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.tools import NEEDS
from tests.tools_setup.fake_machine import DEBIAN, FakeMachine


def output_of(machine: FakeMachine, script: str) -> str:
    """Return the output of a script that uses the functions of packages.sh."""
    done = machine.run(str(machine.path / "bash"), "-uc", f". tools/packages.sh; {script}")
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("os_release", "family"),
    [
        pytest.param(DEBIAN, "debian", id="Debian"),
        pytest.param("ID=ubuntu\nID_LIKE=debian\n", "ubuntu", id="Ubuntu"),
        pytest.param('ID=linuxmint\nID_LIKE="ubuntu debian"\n', "ubuntu", id="Mint"),
        pytest.param("ID=raspbian\nID_LIKE=debian\n", "debian", id="Raspbian"),
        pytest.param("ID=fedora\n", "fedora", id="Fedora"),
        pytest.param('ID="rhel"\nID_LIKE="fedora"\n', "rhel", id="RHEL"),
        pytest.param('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "rhel", id="Rocky"),
        pytest.param('ID="centos"\nID_LIKE="rhel fedora"\n', "rhel", id="CentOS Stream"),
        pytest.param("ID=arch\n", "", id="one without packages here"),
        pytest.param("", "", id="empty"),
    ],
)
def test_a_distribution_is_known_by_its_name_or_its_nearest_relative(
    tmp_path: Path, os_release: str, family: str
) -> None:
    assert output_of(FakeMachine(tmp_path, os_release), "os_family") == family


def test_a_machine_that_has_everything_has_no_unmet_needs(tmp_path: Path) -> None:
    machine = FakeMachine(tmp_path).with_everything()

    assert output_of(machine, "lacking python build run") == ""


def test_only_missing_packages_are_requested(tmp_path: Path) -> None:
    machine = FakeMachine(tmp_path).with_everything()
    machine.remove("cmake", "likwid-pin")

    assert output_of(machine, "lacking build run | packages_of debian").split() == [
        "cmake",
        "likwid",
    ]


def test_a_bare_debian_machine_asks_for_each_package_once(tmp_path: Path) -> None:
    packages = output_of(FakeMachine(tmp_path), "lacking python build run | packages_of debian")

    assert packages.split() == [
        *("python3", "python3-venv", "g++", "make", "cmake", "libcli11-dev", "nlohmann-json3-dev"),
        *("clang", "libomp-dev", "linux-perf", "likwid", "numactl", "hwloc-nox"),
    ]


def test_the_perf_of_ubuntu_is_that_of_the_running_kernel(tmp_path: Path) -> None:
    machine = FakeMachine(tmp_path).with_everything()
    # The wrapper /usr/bin/perf is there, the tools of the kernel are not.
    machine.put("perf", "echo WARNING: perf not found for kernel >&2; exit 2")

    assert output_of(machine, "lacking run | packages_of ubuntu").split() == [
        f"linux-tools-{os.uname().release}",
        "linux-tools-generic",
    ]


def test_clang_without_its_openmp_library_is_an_unmet_need(tmp_path: Path) -> None:
    machine = FakeMachine(tmp_path).with_everything()
    machine.put("clang++", 'case "$*" in *-fopenmp*) exit 1 ;; esac')

    assert output_of(machine, "lacking build | packages_of fedora").split() == [
        "clang",
        "libomp-devel",
    ]


def test_a_header_below_a_prefix_of_cmake_is_found(tmp_path: Path) -> None:
    machine = FakeMachine(tmp_path).with_everything()
    machine.put("g++", 'case "$*" in *-E*) ! grep -q CLI ;; esac')
    machine.write("prefix/include/CLI/CLI.hpp", "")

    script = "lacking build | packages_of debian"
    assert output_of(machine, script) == "libcli11-dev"
    assert output_of(machine, f'export CMAKE_PREFIX_PATH="/nowhere:$PWD/prefix"; {script}') == ""


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_a_browser_is_known_by_each_of_its_names(tmp_path: Path, name: str) -> None:
    machine = FakeMachine(tmp_path)
    script = "lacking test | packages_of debian"
    assert "chromium" in output_of(machine, script).split()

    machine.put(name)

    assert "chromium" not in output_of(machine, script).split()


def test_an_interpreter_that_is_too_old_or_cannot_make_environments_is_passed_over(
    tmp_path: Path,
) -> None:
    machine = FakeMachine(tmp_path).with_everything()
    machine.put("python3", "exit 1")
    machine.put("python3.12")

    assert output_of(machine, "find_python") == str(machine.path / "python3.12")


def test_rhel_9_gets_a_newer_python_beside_its_own(tmp_path: Path) -> None:
    machine = FakeMachine(tmp_path).with_everything()
    machine.put("python3", "exit 1")

    assert output_of(machine, "lacking python | packages_of rhel") == "python3.12"


def test_every_need_is_complete() -> None:
    lines = [line.split() for line in NEEDS.read_text(encoding="utf-8").splitlines()]
    needs = [fields for fields in lines if fields and not fields[0].startswith("#")]

    parts = {"python", "build", "originals", "run", "test", "lint", "bench", "sanitize"}
    parts |= {"slurm", "vm", "vnode", "vnode-arm"}
    for fields in needs:
        need, part, must, probe = fields[:4]
        assert part in parts, need
        assert must in {"required", "optional"}, need
        kind = probe.partition(":")[0]
        assert kind in {
            *("command", "runs", "header", "python", "openmp", "sanitizer", "browser", "latex")
        }, need
        assert len(fields) > 8, need
    assert len({fields[0] for fields in needs}) == len(needs)
