"""Whom pinstudy works for, and which rights it has when."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinstudy.base.errors import UserError
from pinstudy.runners.host.privileges import invoking_user, user_of
from tests.support.ordinary_user import NOBODY, open_folder, users_pinstudy
from tests.support.tools import missing, need_tool

UNKNOWN = "1987654321"


def test_the_caller_has_the_groups_and_the_home_of_his_account() -> None:
    for nobody in ({}, {"SUDO_UID": "0", "SUDO_GID": "0"}, {"DOAS_USER": "root"}):
        assert invoking_user(nobody) is None
    account = pwd.getpwuid(NOBODY)
    for environment in (
        {"SUDO_UID": str(NOBODY), "SUDO_GID": "0"},
        {"PKEXEC_UID": str(NOBODY)},
        {"DOAS_USER": account.pw_name},
    ):
        user = invoking_user(environment)
        assert user is not None, environment
        assert (user.uid, user.gid, user.home) == (NOBODY, account.pw_gid, account.pw_dir)
        assert 0 not in user.groups
        assert user.variables()["LOGNAME"] == account.pw_name
    # Without an account he has the one group that sudo tells.
    user = invoking_user({"SUDO_UID": UNKNOWN, "SUDO_GID": "77"})
    assert user is not None
    assert (user.uid, user.gid, user.groups, user.home) == (int(UNKNOWN), 77, (77,), "/")
    with pytest.raises(UserError, match="no account"):
        user_of(int(UNKNOWN))


@pytest.mark.parametrize(
    "environment",
    [
        *({"SUDO_UID": uid} for uid in ("", "-1", "1e3", " 7", "٣", "4294967295", "9" * 40)),
        {"SUDO_UID": UNKNOWN},
        {"SUDO_UID": UNKNOWN, "SUDO_GID": "x"},
        {"PKEXEC_UID": "root"},
        {"DOAS_USER": "no such user"},
        {"DOAS_USER": ""},
        {"SUDO_UID": str(NOBODY), "PKEXEC_UID": "0"},
    ],
)
def test_what_names_no_user_or_two_is_refused(environment: dict[str, str]) -> None:
    with pytest.raises(UserError) as refused:
        invoking_user(environment)
    assert "\n" not in str(refused.value)


@settings(max_examples=30)
@given(st.text(max_size=50), st.text(max_size=50))
def test_whatever_the_variables_hold_is_a_user_or_refused(uid: str, gid: str) -> None:
    try:
        user = invoking_user({"SUDO_UID": uid, "SUDO_GID": gid})
    except UserError:
        return
    assert user is None or 0 < user.uid < 2**32 - 1


# Tells what a process is after `drop_privileges`, what it can do, and what root's part does for it.
SCRIPT = """
import json, os, subprocess, sys
sys.path[0] = sys.argv[1]
from pinstudy.base.errors import UserError
from pinstudy.runners.host import privileges
from pinstudy.runners.root.server import serve
os.umask(0)
privileges.drop_privileges(serve)
def opens(path):
    try:
        return open(path).read()
    except OSError as error:
        return error.strerror
def tried(action, *arguments, **fields):
    try:
        return action(*arguments, **fields)
    except (OSError, UserError) as error:
        return f"{type(error).__name__}: {error}"
status = open("/proc/self/status").read()
report = {"ids": [os.getresuid(), os.getresgid()], "groups": os.getgroups()}
report["child"] = subprocess.run(["id", "-u"], capture_output=True, text=True).stdout.strip()
report["capabilities"] = [line.split()[1] for line in status.splitlines() if line[:4] == "CapP"]
report["secret"] = opens(sys.argv[2])
report["home"] = os.environ["HOME"]
report["root"] = tried(os.setresuid, 0, 0, 0)
report["other"] = tried(privileges.rights_of, 1)
report["umask"] = os.umask(0)
helper = privileges.root_helper()
report["roots"] = {
    "secret": tried(helper.ask, "open", path=sys.argv[2]),
    "link": tried(helper.ask, "open", path="/proc/self/root/etc/shadow"),
    "unknown": tried(helper.ask, "nonsense"),
    "setting": tried(helper.ask, "put", path="/proc/sys/kernel/nmi_watchdog", value="0"),
}
descriptor = helper.opened("/proc/self/status")
seen = os.pread(descriptor, 4096, 0).decode()
report["status"] = [line.split()[1] for line in seen.splitlines() if line[:4] == "Uid:"]
privileges.give_up_root()
report["given_up"] = [privileges.may_be_root(), privileges.root_helper()]
print(json.dumps(report, default=str))
"""


def started(command: list[Any], **how: Any) -> subprocess.CompletedProcess[str]:  # noqa: ANN401
    return subprocess.run(command, capture_output=True, text=True, check=False, **how)


@pytest.fixture(scope="module")
def command() -> Iterator[Path]:
    with open_folder() as folder:
        yield users_pinstudy(folder)


@pytest.fixture
def report(command: Path) -> Iterator[dict[str, Any]]:
    """Give what a process that was started by sudo tells of itself."""
    with open_folder() as folder:
        root = command.parents[1]
        secret = folder / "secret"
        secret.touch(mode=0o600)
        secret.write_text("of root")
        done = started(
            [root / ".venv/bin/python", "-c", SCRIPT, root, secret],
            env={"PATH": os.environ["PATH"], "HOME": "/root", "SUDO_UID": str(NOBODY)},
        )
        assert done.returncode == 0, done.stderr
        report: dict[str, Any] = json.loads(done.stdout)
        yield report


def test_files_and_programs_are_the_callers_and_no_right_of_roots_can_be_regained(
    report: dict[str, Any],
) -> None:
    expected = {
        "ids": [[NOBODY] * 3, [NOBODY] * 3],
        "groups": [NOBODY],
        "child": str(NOBODY),
        "secret": "Permission denied",
        "home": pwd.getpwuid(NOBODY).pw_dir,
        # Not everybody may write what is made.
        "umask": 0o002,
        "capabilities": ["0" * 16],
        "root": "PermissionError: [Errno 1] Operation not permitted",
        # Root's part: its own capabilities decide what perf may count, and it ends with the rights.
        "status": ["0"],
        "given_up": [False, None],
    }
    assert report | expected == report
    assert report["other"].startswith("UserError: only root and ")
    denied = "PermissionError: [Errno 13] Permission denied"
    roots = report["roots"]
    assert (roots["secret"], roots["link"]) == (denied, denied)
    assert "no such request" in roots["unknown"]
    assert "is not saved" in roots["setting"]


@pytest.mark.parametrize(("user", "kept"), [(0, 0o022), (NOBODY, 0o002)])
def test_what_a_login_makes_is_never_everybodys_to_write(
    command: Path, user: int, kept: int
) -> None:
    root = command.parents[1]
    script = (
        "import os; from pinstudy.runners.host.privileges import drop_privileges; os.umask(0); "
        "drop_privileges(print, {}); print(os.umask(0), os.getresuid())"
    )
    done = started(
        [root / ".venv/bin/python", "-c", script], cwd=root, user=user, group=user, extra_groups=()
    )
    assert done.stdout == f"{kept} {(user, user, user)}\n"


# Leaves a daemon of root's behind, and looks for it as nobody's process.
DAEMONS = """
import os, signal, sys
from pathlib import Path
sys.path[0] = sys.argv[1]
from pinstudy.runners.host import privileges
from pinstudy.runners.host.interference import find_daemons
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.root.server import serve
name = Path("/proc/self/comm")
name.write_text("irqbalance")
ours, daemons = os.pipe()
if not os.fork():
    os.close(daemons)
    os.read(ours, 1)
    os._exit(0)
name.write_text("python")
privileges.drop_privileges(serve)
print(os.path.exists("/proc/1"), "irqbalance" in find_daemons(Tree(Path("/"))))
"""


def test_daemons_are_found_where_their_caller_may_not_see_them(command: Path) -> None:
    root = command.parents[1]
    hides = 'mount -t proc -o hidepid=2 proc /proc || exit 77; exec "$@"'
    asking = (str(root / ".venv/bin/python"), "-c", DAEMONS, str(root))
    done = started(
        [need_tool("unshare"), "--mount", "sh", "-c", hides, "sh", *asking],
        env={"PATH": os.environ["PATH"], "SUDO_UID": str(NOBODY)},
    )
    if done.returncode == 77:
        missing(f"/proc cannot be mounted here: {done.stderr.strip()}")
    assert done.stdout == "False True\n", done.stderr


@pytest.mark.parametrize(
    ("caller", "mode", "said"),
    [
        ("x\x1b[2J", 0o755, "pinstudy: SUDO_UID in the environment is "),
        # A checkout that its caller may not read.
        (str(NOBODY), 0o700, "may not be read by"),
    ],
)
def test_a_command_says_in_one_line_why_it_cannot_work_for_its_caller(
    command: Path, caller: str, mode: int, said: str
) -> None:
    folder = command.parents[2]
    folder.chmod(mode)
    try:
        done = started([command, "apps"], env={"PATH": os.environ["PATH"], "SUDO_UID": caller})
    finally:
        folder.chmod(0o755)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1 and "\x1b" not in done.stderr
