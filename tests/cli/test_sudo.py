"""A study that an ordinary user starts by sudo: its files are his, and root's are safe."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import stat
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from pinstudy.runners.host.lock import is_locked
from pinstudy.runners.records.reader import read_records
from tests.cli.hybrid_namespace import Namespace, hybrid_namespace
from tests.support.ordinary_user import AS_NOBODY, NOBODY, open_folder, users_pinstudy
from tests.support.processes import errors_of, roots_part_of
from tests.support.studies import two_kinds, write_app, write_program, write_study
from tests.support.tools import need_tool
from tests.support.wait import HANG_S, until

# The program, which is also the check's command, logs its user.
PROGRAM = """\
#!/bin/sh
{ grep -E '^(Uid|Gid|CapPrm):' /proc/self/status; echo "$HOME $USER $LOGNAME"; } >>"${0%/*}/users"
"""
SECRET = "this is of root\n"
# Lets the user nobody call sudo, in a mount namespace: the machine's own rules stay as they are.
SUDOERS = "nobody ALL=(ALL) NOPASSWD: ALL\nDefaults !use_pty\n"
IN_NAMESPACE = 'mount --bind "$1" /etc/sudoers && shift && umask 0 && exec "$@"'


class UsersWork:
    """A folder of the user nobody with a study, and root's files around it."""

    def __init__(self, folder: Path, command: Path) -> None:
        self.command = command
        self.folder = folder / "work"
        self.secret = folder / "secret"
        self.secret.touch(mode=0o600)
        self.secret.write_text(SECRET)
        self.sudoers = folder / "sudoers"
        self.sudoers.write_text(SUDOERS)
        self.sudoers.chmod(0o440)
        self.folder.mkdir()
        program = write_program(self.folder / "who.sh", PROGRAM)
        check = {"command": [str(program)]}
        write_app(self.folder, "who", program, {"short": {"arguments": ""}}, check=check)
        self.write_study("current")
        self.give_to_nobody()

    @property
    def results(self) -> Path:
        """The folder of results on the only node."""
        [folder] = self.folder.glob("results/who/*")
        return folder

    def write_study(self, governors: object) -> None:
        """Write the study, under these governors."""
        pinned = {"name": "one", "selection": "pcores", "binding": "set", "mechanism": "taskset"}
        mappings = ["unpinned", pinned]
        write_study(self.folder, "who", "who", "short", mappings=mappings, governors=governors)

    def give_to_nobody(self) -> None:
        """Make the user nobody the owner of all files in the folder."""
        subprocess.run(["chown", "-hR", f"{NOBODY}:{NOBODY}", self.folder], check=True)

    def by_sudo(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run pinstudy by sudo as the user nobody, with umask 0 and these variables."""
        namespace = ("unshare", "--mount", "sh", "-c", IN_NAMESPACE, "sh", str(self.sudoers))
        nobody = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
        user = ("env", *(f"{name}={value}" for name, value in variables.items()))
        by_sudo = ("/usr/bin/sudo", "-n", str(self.command), *arguments)
        return self._run(*namespace, *nobody, *user, *by_sudo)

    def as_root(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run pinstudy as root, with the variable that sudo sets."""
        return self._run(str(self.command), *arguments, SUDO_UID=str(NOBODY))

    def as_nobody(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return self._run(str(self.command), *arguments, rights=AS_NOBODY, **variables)

    def _run(
        self, *command: str, rights: dict[str, Any] | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command, again as long as other tests' killed pinstudy is in the node's way."""
        ended: list[subprocess.CompletedProcess[str]] = []

        def is_undisturbed() -> bool:
            ended.append(self._once(command, rights, variables))
            return "a pinstudy that was killed has left running" not in ended[-1].stderr

        until(is_undisturbed)
        return ended[-1]

    def _once(
        self, command: Sequence[str], rights: dict[str, Any] | None, variables: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PINSTUDY_REPORT": "0"}
        return subprocess.run(
            command,
            cwd=self.folder,
            env=environment | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
            **(rights or {}),
        )

    def records(self) -> list[dict[str, Any]]:
        return list(read_records(self.results / "records"))


@pytest.fixture(scope="module")
def command() -> Iterator[Path]:
    with open_folder() as folder:
        yield users_pinstudy(folder)


@pytest.fixture
def work(command: Path) -> Iterator[UsersWork]:
    """Give a user's folder, to one test of the machine at a time, and beside no real study.

    sudo drops $PINSTUDY_LOCK: such studies lock the node itself.
    """
    sudo = need_tool("sudo")
    with mock.patch.dict(os.environ):
        del os.environ["PINSTUDY_LOCK"]
        until(lambda: not is_locked(Path("/")))
    with open_folder() as folder, Path(sudo).open("rb") as turns:
        fcntl.flock(turns, fcntl.LOCK_EX)
        yield UsersWork(folder, command)


def below(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in sorted(folder.rglob("*")):
        yield path, path.lstat()


def test_a_study_by_sudo_is_its_users_and_goes_on_without_sudo(work: UsersWork) -> None:
    for tool in ("sudo", "unshare", "setpriv"):
        need_tool(tool)

    done = work.by_sudo("run", "who.yaml")

    assert done.returncode == 0, done.stderr
    users = (work.folder / "users").read_text().splitlines()
    ids = "\t".join([str(NOBODY)] * 4)
    assert len(users) == 4 * 2 * 2
    assert {*users[::4], *users[1::4], *users[2::4]} == {
        f"Uid:\t{ids}", f"Gid:\t{ids}", "CapPrm:\t" + "0" * 16,
    }  # fmt: skip
    for line in users[3::4]:
        assert line.split()[1:] == ["nobody", "nobody"] and line.split()[0] != "/root"
    assert [(r["status"], r["program_uid"]) for r in work.records()] == [("ok", NOBODY)] * 2
    # perf was root's: a user of a closed node could not have attached it.
    assert all("migrations" in record for record in work.records())
    for path, found in [*below(work.folder), *below(work.command.parents[1])]:
        assert found.st_uid == found.st_gid == NOBODY, path
        if not stat.S_ISLNK(found.st_mode):
            assert not found.st_mode & stat.S_IWOTH, path

    [shard] = (work.results / "records").iterdir()
    shard.write_bytes(b"".join(shard.read_bytes().splitlines(keepends=True)[:1]))
    again = work.as_nobody("run", "who.yaml")

    assert again.returncode == 0, again.stderr
    assert [r["status"] for r in work.records()] == ["ok", "ok"]
    assert "program_uid" not in work.records()[1]


def test_governors_are_roots_to_set_and_their_journal_is_roots(
    work: UsersWork, command: Path
) -> None:
    kinds = two_kinds()
    work.write_study(["performance", "powersave"])
    with open_folder() as around, hybrid_namespace(around) as node:
        node.folder = work.folder
        node.command = [str(command)]
        node.environment = {"SUDO_UID": str(NOBODY), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        program = work.folder / "who.sh"
        program.write_text(
            f"{PROGRAM}stat -c '%u %a' {node.state} {node.state}/study.json >&2\nexit 0\n"
        )
        before = node.settings()
        # The caller may not write the governor himself.
        assert (node.cpufreq / "policy0/scaling_governor").stat().st_mode & 0o777 == 0o644

        done = node.run("run", "who.yaml", *kinds)

        assert done.returncode == 0, done.stderr
        made = work.records()
        assert {(r["status"], r["governor"], r["governor_read"]) for r in made} == {
            ("ok", governor, governor) for governor in ("performance", "powersave")
        }
        assert "0 755\n0 644" in {r["stderr_tail"].strip() for r in made}
        assert node.settings() == before
        assert list(node.state.iterdir()) == []
        assert work.results.stat().st_uid == NOBODY

        # Root refuses a journal in a user's folder.
        node.environment["PINSTUDY_STATE"] = str(work.folder)
        refused = node.run("tune")

        assert refused.returncode == 1 and "is not root's" in refused.stderr
        assert node.settings() == before


# A sudo that keeps what it can: only LD_ variables never get through it.
KEEPING = """\
nobody ALL=(root) NOPASSWD: {command}
Defaults !use_pty, !secure_path
Defaults env_keep += "PATH HOME PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONINSPECT SPACK_ENV ENV"
Defaults env_keep += "BASH_ENV LD_PRELOAD LD_LIBRARY_PATH PINSTUDY_STATE PERF_CONFIG TMPDIR"
"""
PLANTED = (
    *("id", "python3", "python", "perf", "sh", "readlink", "env", "ldd", "cat", "true", "head"),
    *("dirname", "basename", "taskset", "lstopo", "numactl", "likwid-pin", "uname", "dash"),
)


def test_nothing_of_the_users_session_chooses_what_root_runs(work: UsersWork) -> None:
    need_tool("sudo")
    work.sudoers.unlink()
    work.sudoers.write_text(KEEPING.format(command=work.command))
    work.sudoers.chmod(0o440)
    proof = work.folder / "proof"
    tells = f"/usr/bin/id -u >>{proof}"
    programs = work.folder / "programs"
    programs.mkdir()
    for name in PLANTED:
        write_program(programs / name, f"#!/bin/sh\n{tells}\nexit 1\n")
    view = work.folder / ".spack-env/view/bin"
    view.mkdir(parents=True)
    write_program(view / "python3", f"#!/bin/sh\n{tells}\nexit 1\n")
    code = f"import os; os.system({tells!r})\n"
    packages = work.folder / "packages"
    for folder in (packages, *_user_sites(work.folder)):
        folder.mkdir(parents=True)
        for name in ("sitecustomize.py", "usercustomize.py", "click.py", "base.py", "json.py"):
            (folder / name).write_text(code)
        (folder / "planted.pth").write_text(code)
    (work.folder / "rc").write_text(f"{tells}\n")
    work.give_to_nobody()
    session = {
        "PATH": f"{programs}:.:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(work.folder),
        "PYTHONPATH": str(packages),
        "PYTHONSTARTUP": str(packages / "click.py"),
        "PYTHONINSPECT": "1",
        "SPACK_ENV": str(work.folder),
        "ENV": str(work.folder / "rc"),
        "BASH_ENV": str(work.folder / "rc"),
        "LD_PRELOAD": str(work.folder / "none.so"),
        "PINSTUDY_STATE": str(work.folder),
        "PERF_CONFIG": str(work.folder / "rc"),
    }

    for command in (["doctor"], ["plan", "who.yaml"], ["run", "who.yaml"], ["restore"], ["tables"]):
        done = work.by_sudo(*command, **session)
        assert "Traceback" not in done.stderr, done.stderr

    # Its own commands do run for the user's part of pinstudy: with the user's rights.
    assert set(proof.read_text().split()) == {str(NOBODY)}


def _user_sites(home: Path) -> list[Path]:
    """Return the folders of a home where any Python looks for packages."""
    return [home / f".local/lib/python3.{minor}/site-packages" for minor in range(10, 16)]


@pytest.fixture
def node(work: UsersWork, command: Path) -> Iterator[Namespace]:
    """Give a node with settings; nobody's study changes them, and waits in its first run."""
    held = f"while [ -e {work.folder}/hold ]; do sleep 0.02; done"
    write_program(work.folder / "who.sh", f"#!/bin/sh\ntouch {work.folder}/began\n{held}\n")
    (work.folder / "hold").touch()
    work.write_study(["performance"])
    work.give_to_nobody()
    with open_folder() as around, hybrid_namespace(around) as made:
        made.folder = work.folder
        made.command = [str(command)]
        made.environment = {"SUDO_UID": str(NOBODY), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        yield made


def begun(work: UsersWork, node: Namespace) -> subprocess.Popen[str]:
    """Start the study of settings; return when its first run waits."""
    before = node.settings()
    study = node.start("run", "who.yaml", *two_kinds())
    until((work.folder / "began").exists, during=study)
    assert node.settings() != before
    return study


@pytest.mark.parametrize("user", ["nobody", "root"])
def test_a_journal_that_vanishes_is_told_and_its_settings_are_put_back(
    work: UsersWork, node: Namespace, user: str
) -> None:
    if user == "root":
        del node.environment["SUDO_UID"]
    before = node.settings()
    study = begun(work, node)
    (node.state / "study.json").unlink()
    (work.folder / "hold").unlink()
    err = errors_of(study, 1)
    assert node.settings() == before
    assert "was removed or replaced while the study ran; the settings were put back" in err


@pytest.mark.parametrize("killed", ["study", "root's part"])
def test_what_a_killed_study_of_a_user_changed_is_put_back_by_the_next_command(
    work: UsersWork, node: Namespace, killed: str
) -> None:
    before = node.settings()
    study = begun(work, node)
    entry = json.loads((node.state / "study.json").read_text())
    assert (entry["user"], entry["pid"]) == (NOBODY, study.pid)
    if killed == "study":
        study.kill()
        study.wait()
    else:
        os.kill(roots_part_of(study.pid), signal.SIGKILL)
        (work.folder / "hold").unlink()
        assert "root's part of pinstudy has ended" in errors_of(study, 1)
    assert node.settings() != before
    done = node.run("doctor")
    assert "put back the settings that a study had left changed" in done.stderr
    assert node.settings() == before and list(node.state.iterdir()) == []


def test_a_user_tunes_and_restores_by_sudo(node: Namespace) -> None:
    before = node.settings()
    tuned = node.run("tune", status=0)
    assert "undo it with" in tuned.stdout
    assert node.settings() != before
    assert (node.state / "tune.json").stat().st_uid == 0
    assert node.run("tune", status=0).stderr == ""
    restored = node.run("restore", status=0)
    assert "put back and read back" in restored.stdout
    assert node.settings() == before and list(node.state.iterdir()) == []
    assert "nothing to put back" in node.run("restore", status=0).stdout


def test_links_in_results_lead_to_nothing_of_roots(work: UsersWork) -> None:
    assert work.as_root("run", "who.yaml").returncode == 0
    [shard] = (work.results / "records").iterdir()
    shard.unlink()
    kept = work.secret.with_name("kept")
    kept.mkdir(mode=0o700)
    (work.results / "study.yaml").unlink()
    (work.results / "study.yaml").symlink_to(work.secret)
    shard.symlink_to(work.secret)
    [node] = (work.results / "nodes").glob("*.json")
    node.unlink()
    node.symlink_to(work.secret)
    work.give_to_nobody()

    done = work.as_root("run", "who.yaml")

    assert "Traceback" not in done.stderr and SECRET.strip() not in done.stdout + done.stderr
    assert work.secret.read_text() == SECRET
    assert stat.S_IMODE(work.secret.stat().st_mode) == 0o600 and work.secret.stat().st_uid == 0

    (work.results / "records").rename(work.results / "before")
    (work.results / "records").symlink_to(kept)
    refused = work.as_root("run", "who.yaml")

    assert refused.returncode == 2 and refused.stderr.count("\n") == 1, refused.stderr
    assert list(kept.iterdir()) == []


def test_nothing_is_read_or_written_that_the_user_may_not(work: UsersWork) -> None:
    (work.folder / "link.yaml").symlink_to(work.secret)
    submission = work.secret.with_name("submission")
    submission.mkdir(mode=0o700)
    for arguments, message in (
        (("run", "link.yaml"), "Permission denied"),
        (("plan", "link.yaml"), "Permission denied"),
        (("run", str(work.secret)), "Permission denied"),
        (("worker", "--submission", str(submission), "--worker", "0"), "is not readable"),
        (("run", "who.yaml", "--results", str(work.secret.parent / "results")), "--results"),
    ):
        done = work.as_root(*arguments)
        assert done.returncode == 2, done.stderr
        assert message in done.stderr and SECRET.strip() not in done.stderr
    assert "cannot write results" in done.stderr
    assert not (work.secret.parent / "results").exists()


def test_the_program_of_a_worker_runs_as_its_user_too(work: UsersWork) -> None:
    (work.folder / "bin").mkdir()
    write_program(work.folder / "bin" / "sbatch", "#!/bin/sh\necho 4711\n")
    site = "title: a site\nbatch_system: slurm\ntime_limit: 10 min\n"
    (work.folder / "site.yaml").write_text(site)
    work.give_to_nobody()
    path = f"{work.folder}/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    submitted = work.as_nobody("submit", "who.yaml", "--site", "site.yaml", PATH=path)
    assert submitted.returncode == 0, submitted.stderr
    [submission] = work.folder.glob("results/who/submissions/0001")

    done = work.by_sudo("worker", "--submission", str(submission), "--worker", "0")

    assert done.returncode == 0, done.stderr
    users = {line for line in (work.folder / "users").read_text().splitlines() if "Uid" in line}
    assert users == {"Uid:\t" + "\t".join([str(NOBODY)] * 4)}
    assert all(found.st_uid == NOBODY for _, found in below(work.folder))


# What a co-runner writes into the pipe of its supervisor, whoever reads there.
IN_PLACE_OF_AN_ANSWER = """\
#!/usr/bin/python3 -S
import os, pickle, struct, sys, time
pid = os.getppid()
for line in open(f"/proc/{pid}/status"):
    if line.startswith("PPid"):
        pid = int(line.split()[1])
class Code:
    def __reduce__(self):
        text = "import os; os.setresuid(0, 0, 0); open(%r, 'w').close()" % sys.argv[1]
        return exec, (text,)
data = pickle.dumps(Code())
pipe = os.open(f"/proc/{pid}/fd/1", os.O_WRONLY)
os.write(pipe, struct.pack("=Q", len(data)) + data)
open(sys.argv[2], "w").close()
time.sleep(300)
"""


def test_what_a_co_runner_writes_is_not_executed(work: UsersWork) -> None:
    proof, written = work.folder / "proof", work.folder / "written"
    program = write_program(work.folder / "beside.py", IN_PLACE_OF_AN_ANSWER)
    arguments = {"short": {"arguments": [str(proof), str(written)]}}
    write_app(work.folder, "beside", program, arguments)
    none: dict[str, object] = {"short": {"arguments": []}}
    waits = f"#!/bin/sh\nwhile [ ! -e {written} ]; do sleep 0.02; done\n"
    write_app(work.folder, "who", write_program(work.folder / "who.sh", waits), none)
    beside = {"app": "beside", "build": "plain", "size": "short", "threads": 1}
    options = {"mappings": ["unpinned"], "governors": "current"}
    co_runner = [beside | {"mapping": "unpinned"}]
    write_study(work.folder, "who", "who", "short", **options, co_runners=co_runner)
    work.give_to_nobody()

    done = work.as_root("run", "who.yaml")

    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert written.exists() and not proof.exists()
    assert {record["status"] for record in work.records()} == {"failed"}
