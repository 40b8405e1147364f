"""The steps of set-up run once, again if needed, and an interrupted step does not count."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tools_setup.fake_machine import FakeMachine


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path).with_everything()


LOCKS = ["requirements.txt", "requirements-build.txt"]


def steps(machine: FakeMachine) -> list[str]:
    """Return the steps since forget_calls: pip's lock files, and "build"."""
    found = []
    for call in machine.calls():
        words = call.split()
        if "--require-hashes" in words:
            found.append(words[-1])
        elif "--editable" in words:
            found.append("build")
    return found


def test_a_first_set_up_does_every_step(machine: FakeMachine) -> None:
    done = machine.set_up()

    assert done.returncode == 0, done.stderr
    assert steps(machine) == [*LOCKS, "build"]
    assert (machine.root / ".venv/bin/python").exists()


def test_the_schema_of_studies_is_written_again_only_after_a_change(machine: FakeMachine) -> None:
    schema = machine.root / "pinstudy/configs/schema.json"
    machine.set_up()
    assert schema.exists()
    os.utime(schema, (0, 0))

    machine.set_up()
    assert schema.stat().st_mtime > 0
    written = schema.stat().st_mtime_ns
    machine.set_up()

    assert schema.stat().st_mtime_ns == written


def test_packages_are_installed_by_their_hashes(machine: FakeMachine) -> None:
    machine.set_up()

    assert "--require-hashes" in next(
        call for call in machine.calls() if " -r requirements.txt" in call
    )


def test_a_second_set_up_does_nothing_and_says_nothing(machine: FakeMachine) -> None:
    machine.set_up()
    machine.forget_calls()

    done = machine.set_up()

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert steps(machine) == []
    # The compilers are not even started: that would take most of the time.
    assert machine.calls("g++") == machine.calls("clang++") == []


def change_lock(machine: FakeMachine) -> None:
    machine.write("requirements.txt", "click==9 --hash=sha256:11\n")


def change_source(machine: FakeMachine) -> None:
    machine.write("apps/lu/main.cpp", "int main() { return 0; }\n")


def add_source(machine: FakeMachine) -> None:
    machine.write("apps/lu/lu.hpp", "")


def remove_source(machine: FakeMachine) -> None:
    (machine.root / "apps/lu/main.cpp").unlink()


def change_compiler(machine: FakeMachine) -> None:
    machine.put("g++", ": another version")


def remove_environment(machine: FakeMachine) -> None:
    shutil.rmtree(machine.root / ".venv")


def change_interpreter(machine: FakeMachine) -> None:
    python = machine.root / ".venv/bin/python"
    python.write_text(python.read_text().replace("3.11", "3.12"))


@pytest.mark.parametrize(
    ("change", "again"),
    [
        # A new environment lacks pinstudy, too.
        (change_lock, [*LOCKS, "build"]),
        (change_interpreter, [*LOCKS, "build"]),
        (remove_environment, [*LOCKS, "build"]),
        (change_source, ["build"]),
        (add_source, ["build"]),
        (remove_source, ["build"]),
        (change_compiler, ["build"]),
    ],
)
def test_a_change_redoes_the_step_that_depends_on_it_and_no_other(
    machine: FakeMachine, change: Callable[[FakeMachine], None], again: list[str]
) -> None:
    machine.set_up()
    machine.forget_calls()
    change(machine)

    assert machine.set_up().returncode == 0
    assert steps(machine) == again

    machine.forget_calls()
    machine.set_up()
    assert steps(machine) == []


def test_a_changed_list_of_needs_is_looked_at_again(machine: FakeMachine) -> None:
    machine.set_up()
    needs = machine.root / "tools/needs.txt"
    with needs.open("a", encoding="utf-8") as file:
        file.write("gdb run optional command:gdb gdb gdb gdb gdb a debugger\n")

    assert "goes on without gdb: not available is a debugger" in machine.set_up().stdout


def test_a_compiler_that_went_away_is_noticed(machine: FakeMachine) -> None:
    machine.set_up()
    machine.remove("clang++")

    done = machine.set_up()

    assert done.returncode == 0, done.stderr
    assert "goes on without clang" in done.stdout


def test_a_moved_checkout_is_built_from_scratch(machine: FakeMachine) -> None:
    machine.set_up()
    machine.root = machine.root.rename(machine.root.parent / "elsewhere")
    machine.write("build/gcc/of-the-old-place", "")
    machine.forget_calls()

    machine.set_up()

    assert steps(machine) == ["build"]
    assert not (machine.root / "build/gcc/of-the-old-place").exists()


def test_going_back_to_older_sources_builds_again(machine: FakeMachine) -> None:
    machine.set_up()
    machine.set_up("test")
    original = (machine.root / "apps/lu/main.cpp").read_text()
    change_source(machine)
    machine.set_up()
    machine.write("apps/lu/main.cpp", original)
    machine.forget_calls()

    machine.set_up("test")

    assert steps(machine) == ["build"]


def test_a_study_after_the_tests_sets_nothing_up_again(machine: FakeMachine) -> None:
    machine.set_up("test")
    assert steps(machine) == [
        "requirements.txt",
        "requirements-dev.txt",
        "requirements-build.txt",
        "build",
    ]
    machine.forget_calls()

    machine.set_up()

    assert steps(machine) == []


def test_the_tests_after_a_study_add_to_what_is_there(machine: FakeMachine) -> None:
    machine.set_up()
    machine.forget_calls()

    machine.set_up("test")

    assert steps(machine) == ["requirements-dev.txt", "build"]
    [with_tests] = [call for call in machine.calls() if "--editable" in call]
    assert "cmake.define.PINSTUDY_TESTS=ON" in with_tests


def test_a_failed_installation_is_shown_and_started_anew(machine: FakeMachine) -> None:
    failed = machine.set_up(PIP_SCRIPT="touch .venv/half; echo no such host; exit 1")

    assert failed.returncode == 2
    assert "cannot install the Python packages of requirements.txt" in failed.stderr
    assert "  | no such host" in failed.stderr
    assert "build/setup.log" in failed.stderr
    machine.forget_calls()
    assert machine.set_up().returncode == 0
    assert steps(machine) == [*LOCKS, "build"]
    assert not (machine.root / ".venv/half").exists()


def test_a_killed_installation_is_started_anew(machine: FakeMachine) -> None:
    machine.set_up(PIP_SCRIPT="touch .venv/half; kill -KILL $PPID")

    assert machine.set_up().returncode == 0
    assert not (machine.root / ".venv/half").exists()


def test_an_interruption_is_reported_and_set_up_can_continue(machine: FakeMachine) -> None:
    interrupted = machine.set_up(PIP_SCRIPT="touch .venv/half; kill -TERM $PPID")

    assert interrupted.returncode == 2
    assert interrupted.stderr.endswith("set-up: interrupted; the same command goes on\n")

    assert machine.set_up().returncode == 0
    assert not (machine.root / ".venv/half").exists()


def test_a_failed_build_leaves_the_packages_installed(machine: FakeMachine) -> None:
    failed = machine.set_up(BUILD_SCRIPT="echo error: no semicolon; exit 1")
    machine.forget_calls()

    assert failed.returncode == 2
    assert machine.set_up().returncode == 0
    assert steps(machine) == ["build"]


def test_a_failed_build_is_shown_and_done_again(machine: FakeMachine) -> None:
    failed = machine.set_up(BUILD_SCRIPT="touch build/gcc/good.o; echo error: no semicolon; exit 1")

    assert failed.returncode == 2
    assert "  | error: no semicolon" in failed.stderr

    machine.forget_calls()
    assert machine.set_up().returncode == 0
    assert steps(machine) == ["build"]
    assert (machine.root / "build/gcc/good.o").exists()


def test_an_unwritable_checkout_is_one_line(machine: FakeMachine) -> None:
    machine.write("build", "a file where a directory should be")

    done = machine.set_up()

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"set-up: cannot write {machine.root}/build"


def test_an_outer_make_and_a_loaded_module_do_not_reach_the_steps(machine: FakeMachine) -> None:
    machine.set_up(
        MAKEFLAGS="-j8 --jobserver-auth=3,4",
        PYTHONPATH="/module",
        BUILD_SCRIPT='echo "$MAKEFLAGS$PYTHONPATH" >seen',
    )

    assert (machine.root / "seen").read_text() == "\n"


@pytest.mark.parametrize(("target", "lock"), [("lint", "dev"), ("docs", "docs")])
def test_linting_and_documentation_need_no_programs(
    machine: FakeMachine, target: str, lock: str
) -> None:
    machine.remove("g++", "clang++", "cmake")

    assert machine.set_up(target).returncode == 0
    assert steps(machine) == ["requirements.txt", f"requirements-{lock}.txt"]


# `id` tells whether setpriv has made an ordinary user of root, and notes what is there by then.
CALLER = '[ -n "${IS_CALLER-}" ] && echo 1000 || echo 0'
SETPRIV = """
ls -A >found
while [ "${1#--}" != "$1" ]; do shift; done
export IS_CALLER=1
exec "$@"
"""


@pytest.fixture
def by_sudo(machine: FakeMachine) -> FakeMachine:
    """Give root on a machine without likwid, in a checkout of user 1000."""
    machine.put("id", CALLER)
    machine.put("setpriv", SETPRIV)
    machine.put(
        "stat", 'case $* in "-c %u .") echo "${OWNER-1000}" ;; *) /usr/bin/stat "$@" ;; esac'
    )
    machine.put("getent", "echo alice:x:1000:100::/home/alice:/bin/sh")
    machine.put("apt-cache", 'shift; for p in "$@"; do printf "%s:\\n  Candidate: 1\\n" $p; done')
    machine.put("apt-get", "echo installing")
    machine.remove("likwid-pin")
    return machine


SUDO = {"SUDO_UID": "1000", "SUDO_GID": "100", "SUDO_USER": "alice"}


def test_by_sudo_root_installs_packages_and_the_caller_does_the_rest(by_sudo: FakeMachine) -> None:
    before = {path.name for path in by_sudo.root.iterdir()}
    done = by_sudo.set_up(PIP_SCRIPT='echo "$HOME $USER ${SUDO_UID-}" >seen', **SUDO)

    assert done.returncode == 0, done.stderr
    calls = by_sudo.calls()
    [handed] = by_sudo.calls("setpriv --reuid=1000 --regid=100 --init-groups ")
    [first, *_] = by_sudo.calls("apt-get")
    assert "likwid" in first
    assert calls.index(first) < calls.index(handed)
    assert not [
        call for call in calls[: calls.index(handed)] if "-m venv" in call or "cmake" in call
    ]
    # Root made no file in the checkout.
    assert set((by_sudo.root / "found").read_text().split()) - {"found"} == {
        word for name in before for word in name.split()
    }
    assert (by_sudo.root / "seen").read_text() == "/home/alice alice \n"
    assert steps(by_sudo) == [*LOCKS, "build"]


def test_by_sudo_what_could_not_be_installed_is_not_tried_again(by_sudo: FakeMachine) -> None:
    assert by_sudo.set_up(**SUDO).returncode == 0
    by_sudo.forget_calls()

    assert by_sudo.set_up(**SUDO).returncode == 0
    assert by_sudo.calls("apt-get") == []
    assert steps(by_sudo) == []


def test_by_sudo_an_installation_leaves_nothing_of_roots_in_the_checkout(
    by_sudo: FakeMachine, tmp_path: Path
) -> None:
    by_sudo.put("chown")

    done = by_sudo.set_up("install", PREFIX=str(tmp_path / "p"), **SUDO)

    assert done.returncode == 0, done.stderr
    assert by_sudo.calls("chown") == ["chown -hR 1000 build", "chown -hR 1000 .venv"]


def test_by_sudo_a_checkout_of_roots_stays_roots(by_sudo: FakeMachine) -> None:
    assert by_sudo.set_up(OWNER="0", **SUDO).returncode == 0
    assert by_sudo.calls("setpriv") == []
    assert steps(by_sudo) == [*LOCKS, "build"]


def test_by_sudo_a_caller_who_is_no_number_is_refused(by_sudo: FakeMachine) -> None:
    done = by_sudo.set_up(SUDO_UID="1000; reboot", SUDO_GID="1")
    assert done.returncode == 2
    assert "are no numbers" in done.stderr
    assert by_sudo.calls("setpriv") == []
