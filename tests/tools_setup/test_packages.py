"""Installing system packages where that is allowed, and saying what to type where it is not."""

from __future__ import annotations

from pathlib import Path

from tests.tools_setup.fake_machine import FakeMachine

ROCKY = 'ID="rocky"\nID_LIKE="rhel centos fedora"\n'

# Knows every package but those in UNKNOWN, once its lists are there (LISTS: empty, until renewed).
APT_CACHE = """
shift
if [ -e lists-are-empty ]; then exit 0; fi
for package in "$@"; do
    case " ${UNKNOWN-} " in *" $package "*) continue ;; esac
    printf '%s:\\n  Installed: (none)\\n  Candidate: 1.0\\n' "$package"
done
"""

# Installs perf with linux-perf, and so on; refuses a transaction with a package of BROKEN.
APT_GET = """
provide() { cp "$bin/make" "$bin/$1"; }
if [ "$1" = update ]; then rm -f lists-are-empty; exit; fi
for package in "$@"; do
    case " ${BROKEN-} " in *" $package "*) exit 100 ;; esac
done
for package in "$@"; do
    case $package in
        linux-perf) provide perf ;;
        likwid) provide likwid-pin ;;
        numactl) provide numactl ;;
        munge) provide munged ;;
    esac
done
"""


def debian(directory: Path, *missing: str) -> FakeMachine:
    """Return a Debian machine whose user is root and that lacks these commands."""
    machine = FakeMachine(directory).with_everything()
    machine.remove(*missing)
    machine.put("id", "echo 0")
    machine.put("apt-cache", APT_CACHE)
    machine.put("apt-get", f'bin="{machine.path}"{APT_GET}')
    return machine


def test_root_installs_missing_packages_without_questions(tmp_path: Path) -> None:
    machine = debian(tmp_path, "perf", "numactl")

    done = machine.set_up()

    assert done.returncode == 0, done.stderr
    assert "installs system packages, for a minute or a few: linux-perf numactl\n" in done.stdout
    [install] = machine.calls("apt-get")
    assert install.startswith("apt-get install -y --no-install-recommends ")
    assert install.endswith(" linux-perf numactl")


def test_a_user_with_sudo_that_asks_no_password_installs_by_it(tmp_path: Path) -> None:
    machine = debian(tmp_path, "numactl")
    machine.put("id", "echo 1000")
    machine.put("sudo", '[ "$1" = -n ] || exit 1; shift; [ "$1" = true ] || "$@"')

    done = machine.set_up()

    assert done.returncode == 0, done.stderr
    assert "sudo -n env DEBIAN_FRONTEND=noninteractive" in machine.calls("sudo")[-1]
    assert (machine.path / "numactl").exists()


def test_a_user_who_may_not_gets_the_line_for_an_administrator_and_goes_on(tmp_path: Path) -> None:
    machine = debian(tmp_path, "perf", "likwid-pin")
    machine.put("id", "echo 1000")
    machine.put("sudo", "exit 1")

    done = machine.set_up()

    assert done.returncode == 0, done.stderr
    assert "\n  sudo apt-get install -y linux-perf likwid\n" in done.stdout
    assert "goes on without perf" in done.stdout
    assert "goes on without likwid: not available is mappings by likwid-pin" in done.stdout
    assert machine.calls("apt-get") == []
    assert [call for call in machine.calls() if "--editable" in call]


def test_a_variable_keeps_root_from_installing(tmp_path: Path) -> None:
    machine = debian(tmp_path, "perf")

    done = machine.set_up(PINSTUDY_NO_SYSTEM_PACKAGES="1")

    assert done.returncode == 0, done.stderr
    assert "\n  sudo apt-get install -y linux-perf\n" in done.stdout
    assert machine.calls("apt-get") == []

    assert "installs system packages, for a minute or a few: linux-perf" in machine.set_up().stdout


def test_a_missing_need_is_reported_once_and_noticed_when_it_comes(tmp_path: Path) -> None:
    machine = debian(tmp_path, "perf", "clang++")
    machine.put("id", "echo 1000")
    machine.set_up()

    assert machine.set_up().stdout == ""

    machine.put("clang++")
    later = machine.set_up().stdout
    assert "builds pinstudy and its programs" in later
    assert "goes on without perf" in later


def test_without_something_required_set_up_stops_and_is_not_done(tmp_path: Path) -> None:
    machine = debian(tmp_path, "cmake", "perf")
    machine.put("id", "echo 1000")

    for _ in range(2):
        done = machine.set_up()
        assert done.returncode == 2
        assert "\n  sudo apt-get install -y cmake linux-perf\n" in done.stdout
        assert done.stderr.splitlines()[-1] == "set-up: cannot go on without cmake"


def test_a_package_that_the_distribution_lacks_keeps_no_other_away(tmp_path: Path) -> None:
    machine = debian(tmp_path, "perf", "likwid-pin")

    done = machine.set_up(UNKNOWN="likwid")

    assert done.returncode == 0, done.stderr
    assert machine.calls("apt-get install")[-1].endswith(" linux-perf")
    assert "goes on without likwid" in done.stdout


def test_a_package_that_cannot_be_installed_keeps_no_other_away(tmp_path: Path) -> None:
    machine = debian(tmp_path, "perf", "likwid-pin")

    done = machine.set_up(BROKEN="likwid")

    assert done.returncode == 0, done.stderr
    assert (machine.path / "perf").exists()
    assert "goes on without likwid" in done.stdout


def test_lists_are_renewed_only_on_a_machine_whose_lists_lack_a_package(tmp_path: Path) -> None:
    machine = debian(tmp_path / "with-lists", "perf")
    machine.set_up()
    assert machine.calls("apt-get update") == []

    machine = debian(tmp_path / "without-lists", "perf")
    machine.write("lists-are-empty", "")
    machine.set_up()
    assert len(machine.calls("apt-get update")) == 1
    assert (machine.path / "perf").exists()


def test_the_line_names_all_packages_where_nothing_is_known_of_any(tmp_path: Path) -> None:
    machine = debian(tmp_path, "perf", "likwid-pin")
    machine.write("lists-are-empty", "")

    done = machine.set_up(PINSTUDY_NO_SYSTEM_PACKAGES="1")

    assert "\n  sudo apt-get install -y linux-perf likwid\n" in done.stdout


def test_daemons_that_tests_bring_are_stopped_and_those_that_were_there_are_not(
    tmp_path: Path,
) -> None:
    machine = debian(tmp_path)
    for name in ("slurmctld", "slurmd", "sbatch", "ip", "systemctl"):
        machine.put(name)

    done = machine.set_up("slurm")

    assert done.returncode == 0, done.stderr
    assert (machine.path / "munged").exists()
    assert machine.calls("systemctl") == ["systemctl disable --now munge"]

    machine.forget_calls()
    assert machine.set_up("slurm").returncode == 0
    assert machine.calls("systemctl") == []


def test_rhel_looks_into_epel_for_what_its_own_repositories_lack(tmp_path: Path) -> None:
    machine = FakeMachine(tmp_path, ROCKY).with_everything()
    machine.remove("perf", "likwid-pin")
    machine.put("id", "echo 0")
    machine.put(
        "dnf",
        f"""
case "$*" in
    *repoquery*)
        echo perf
        [ ! -e epel ] || echo likwid
        ;;
    *epel-release) touch epel ;;
    *install*) cp "{machine.path}/make" "{machine.path}/likwid-pin" ;;
esac""",
    )

    done = machine.set_up()

    assert "installs system packages, for a minute or a few: perf likwid\n" in done.stdout
    first, second = machine.calls("dnf install")
    assert first.endswith(" epel-release")
    assert second.endswith(" perf likwid")


def test_missing_needs_are_listed_on_an_unknown_distribution(tmp_path: Path) -> None:
    machine = FakeMachine(tmp_path, "ID=arch\n").with_everything()
    machine.remove("perf")

    done = machine.set_up()

    assert done.returncode == 0, done.stderr
    assert "does not know this distribution's packages" in done.stdout
    assert "goes on without perf" in done.stdout
