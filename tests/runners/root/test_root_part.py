"""Root's part: what it refuses, whatever its user asks, and the settings that it changes for him.

The user may run other code than pinstudy's: the process that asks does so as a hostile one would.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinstudy.base.text import safe_name
from pinstudy.runners.host.processes import parse_task
from pinstudy.runners.measure.perf.events import read_core_pmus
from pinstudy.runners.root.perfs import check_events
from pinstudy.runners.settings.registry import POLICY_FILES
from tests.cli.hybrid_namespace import CPUFREQ, Namespace, hybrid_namespace
from tests.support.ordinary_user import NOBODY, open_folder, users_pinstudy
from tests.support.processes import alive, descendants, name_of, roots_part_of
from tests.support.tools import need_tool
from tests.support.wait import until

# Asks for each line of JSON, [request, fields], and prints the answer. The request `raw` sends the
# bytes of its field `data`, `file` sends an open file, `keep` starts a process that inherits the
# pipe of requests.
ASKING = """
import json, os, socket, subprocess, sys
sys.path[0] = sys.argv[1]
from pinstudy.base.errors import UserError
from pinstudy.runners.host import privileges
from pinstudy.runners.root.server import serve
privileges.drop_privileges(serve)
helper = privileges.root_helper()
for line in sys.stdin:
    request, fields = json.loads(line)
    try:
        if request == "file":
            socket.send_fds(helper._answers, [b"x"], [0])
        elif request == "keep":
            os.set_inheritable(helper._requests, True)
            kept = subprocess.Popen(["sleep", "60"], close_fds=False, stdout=subprocess.DEVNULL)
            answer = {"pid": kept.pid}
        elif request == "raw":
            os.write(helper._requests, bytes.fromhex(fields["data"]))
            answer = {"sent": True}
        else:
            answer, received = helper.ask(request, **fields)
            if received is not None:
                content = os.pread(received, 1 << 20, 0).decode(errors="replace")
                answer = answer | {"content": content, "owner": os.fstat(received).st_uid}
    except (OSError, UserError) as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
"""


class Asker:
    """A process of the user nobody with root's part; `folder` is one of nobody's."""

    def __init__(
        self, checkout: Path, folder: Path, enter: Sequence[str] = (), **variables: str
    ) -> None:
        """`enter` is the command that enters the namespaces of a node."""
        self.folder = folder
        self._process = subprocess.Popen(
            [*enter, checkout / ".venv/bin/python", "-c", ASKING, checkout],
            env={"PATH": os.environ["PATH"], "SUDO_UID": str(NOBODY)} | variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._started: list[subprocess.Popen[bytes]] = []

    @property
    def pid(self) -> int:
        """The process number."""
        return self._process.pid

    def ask(self, request: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return the answer to a request, or its `error`."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps([request, fields]) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def refusal(self, request: str, **fields: Any) -> str:  # noqa: ANN401
        """Return why a request is not answered."""
        answer = self.ask(request, **fields)
        return str(answer.get("error") or answer.get("problem"))

    def sleeper(self, user: int = NOBODY) -> int:
        """Return the number of a process of a user, nobody by default."""
        rights: dict[str, Any] = {"user": user, "group": user, "extra_groups": ()}
        started = subprocess.Popen(["sleep", "300"], **rights)
        self._started.append(started)
        return started.pid

    def perf(self, **changes: object) -> dict[str, Any]:
        """Ask for a perf that counts a process of nobody's, but for these fields."""
        rest = {"cat": False, "enabled": True, "recording": False}
        fields = {"command": self.stat("task-clock:u"), "target": ["-p", str(self.sleeper())]}
        return self.ask("perf", **{**fields, **rest, **changes})

    def stat(self, events: str) -> list[str]:
        """Return the command of a perf that counts these events."""
        perf = self.ask("program", name="perf")["path"]
        return [perf, "stat", "-x", ";", "-o", "{output}", "-e", events]

    def kill(self) -> None:
        """Kill the process that asks."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process and what was started for it."""
        assert self._process.stdin and self._process.stdout
        self.kill()
        for process in self._started:
            process.kill()
            process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


@pytest.fixture(scope="module")
def checkout() -> Iterator[Path]:
    with open_folder() as folder:
        yield users_pinstudy(folder).parents[1]


@pytest.fixture
def asker(checkout: Path) -> Iterator[Asker]:
    need_tool("perf")
    with open_folder() as folder:
        own = folder / "own"
        own.mkdir()
        os.chown(own, NOBODY, NOBODY)
        asking = Asker(checkout, own)
        try:
            yield asking
        finally:
            asking.close()


GOVERNOR = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
# A setting by its form that no node has.
NO_POLICY = GOVERNOR.replace("policy0", "policy99999")


def test_perf_counts_a_process_of_the_users_own(asker: Asker) -> None:
    made = asker.perf()
    assert made["problem"] == ""
    number = made["number"]
    assert asker.ask("perf-disable", number=number) == {"problem": ""}
    assert asker.ask("perf-enable", number=number) == {"problem": ""}
    counted = asker.ask("perf-finish", number=number)
    assert "task-clock:u" in counted["text"] and counted["problem"] == ""
    assert asker.ask("perf-close", number=number) == {}
    assert "no such perf" in asker.refusal("perf-finish", number=number)


def test_perf_attaches_to_no_process_that_is_not_the_users_own(asker: Asker) -> None:
    strangers = [1, asker.sleeper(user=0), asker.sleeper(user=1)]
    mine = asker.sleeper()
    for number in strangers:
        for option, target in (
            ("-p", f"{number}"),
            ("-p", f"{mine},{number}"),
            ("-t", f"{number}"),
        ):
            refused = asker.perf(target=[option, target])
            assert f"process {number} is not the user's own" in refused["error"]
    for nothing_else in (["-a"], ["-C", "0"], ["-p", "x"], ["-p"], ["-p", "-1"], []):
        assert "Error" in asker.perf(target=nothing_else)["error"]
    # Of whole CPUs energy alone is counted, and the kernel's memory for counters has a bound.
    cpu = asker.perf(command=asker.stat("cycles"), target=["-C", "0"], cat=True)
    assert "energy alone" in cpu["error"]
    many = ",".join(["task-clock"] * 256)
    crowd = asker.perf(command=asker.stat(many), target=["-p", ",".join([str(mine)] * 200)])
    assert "counters" in crowd["error"]


def test_a_process_that_has_a_privileged_programs_rights_is_not_its_users(asker: Asker) -> None:
    # As a process of the user's that executes a program with other saved ids.
    script = f"import os, time; os.setresuid({NOBODY}, {NOBODY}, 0); time.sleep(300)"
    process = os.spawnlp(os.P_NOWAIT, "python3", "python3", "-S", "-c", script)
    try:
        uids = f"Uid:\t{NOBODY}\t{NOBODY}\t0\t{NOBODY}"
        until(lambda: uids in Path(f"/proc/{process}/status").read_text())
        refused = asker.perf(target=["-p", str(process)])
        assert "is not the user's own" in refused["error"]
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


EVENTS = (
    *("prog.c", "prog.o", "prog.bpf", "cycles,/tmp/prog.o", "{cycles,instructions}"),
    *("mem:0xffffffff81000000:rw", "cycles -a", "", "-a", "cycles,", "cycles\n-a"),
    *("cpu/event=1/;id", "a" * 20_000, "tmp/r.c/inherit,percore/,task-clock/"),
    *("tmp/r.c/inherit", "cycles,tmp/r.c/x", "a.c", "a.o:u", "cpu/a.bpf/", "cpu/a.c,b/"),
    *("unc_cha_clockticks", "uncore_imc_0/event=1/", "task-clock,unc_m_cas_count.all"),
    *("../x/y/", "/x/y/", "x//", "cpu/a/b/c/", "task-clock,mem:1:w", "cpu/event=@x/"),
)


def test_no_event_loads_a_program_or_watches_the_kernel(asker: Asker) -> None:
    for events in EVENTS:
        assert "RefusedError" in asker.perf(command=asker.stat(events))["error"], events
        assert "RefusedError" in asker.refusal("perf-trial", events=events), events


def test_events_of_perf_list_and_of_this_nodes_cores_are_counted_and_no_others() -> None:
    check_events("task-clock,context-switches:u,cycles,LLC-load-misses,branch-misses:uk")
    check_events("sched:sched_switch,syscalls:sys_enter_openat:u,uops_executed.core,r01c0:u")
    pmus = read_core_pmus(Path("/"))
    for pmu in (*pmus, "kprobe", "uprobe", "breakpoint", "msr"):
        terms = "event=0x3c,umask=0x1", "mem_inst_retired.any,percore", "config2=0xffffffff81000000"
        for term in terms:
            events = f"task-clock,{pmu}/{term}/u"
            if pmu in pmus:
                check_events(events)
            else:
                with pytest.raises(ValueError, match=f"{pmu}: no PMU of this node's cores"):
                    check_events(events)


def test_the_words_of_perf_are_pinstudys_own(asker: Asker) -> None:
    perf, *stat = asker.stat("task-clock")
    shell = asker.folder / "perf"
    shell.write_text("#!/bin/sh\nid >/tmp/who\n")
    shell.chmod(0o755)
    for command in (
        [str(shell), *stat],
        [perf, "record", "-o", "/root/made", "-e", "task-clock"],
        [perf, "stat", "-x", ";", "-o", "/root/made", "-e", "task-clock"],
        [perf, "stat", "--control", "fd:1", "-o", "{output}", "-e", "task-clock"],
        [perf, "trace"],
        [],
    ):
        assert "RefusedError" in asker.perf(command=command)["error"]
    assert not Path("/root/made").exists()


def test_perf_records_into_no_file_that_its_user_names(asker: Asker) -> None:
    perf, *_ = asker.stat("task-clock")
    record = [perf, "c2c", "record", "-u", "--", "-B", "--no-bpf-event", "-o"]
    for place in ("/etc/passwd", "/proc/self/fd/0", str(asker.folder / "made")):
        assert "no such perf" in asker.perf(command=[*record, place], recording=True)["error"]
    made = asker.perf(command=[*record, "{output}"], recording=True)
    # The user's own, as soon as it is there; perf itself refuses where nothing can be sampled.
    assert made["owner"] == NOBODY
    assert list(asker.folder.iterdir()) == []


PATHS = (
    *("/etc/shadow", "/proc/1/environ", "/proc/kcore", "/dev/mem", "/dev/cpu/0/msr"),
    *("/sys/class/powercap/../../../etc/shadow", "/dev/cpu/0/cpuid/../../../etc/shadow"),
    "/sys/class/powercap/intel-rapl:0/../../../etc/energy_uj",
    *("/sys/class/hwmon/hwmon0/../../../../etc/power1_input", "/sys/class/hwmon/hwmon0/name"),
    *("/proc/self/status/../../1/environ", "/proc/self/status\n", "", "self/status"),
)
COMMAND_LINES = (
    *("sh -c id", "scx_../../bin/sh", "/bin/sh", "scx_lavd --log /etc/shadow", "kernel", ""),
    *("scx_chaos -- id", "scx_chaos id", "scx_layered -e layers.json", "scx_lavd --x=../y"),
    *("scx_lavd `id`", "scx_lavd\tx", "scx_nothing_of_this_name", "current"),
)


def test_no_other_file_is_opened_and_no_other_program_started(asker: Asker) -> None:
    for path in PATHS:
        assert asker.refusal("open", path=path).startswith("PermissionError"), path
    for line in COMMAND_LINES:
        assert "Error" in asker.refusal("scheduler", command_line=line), line


def test_no_setting_is_changed_that_is_not_saved(asker: Asker) -> None:
    for path in ("/etc/passwd", GOVERNOR, "/proc/sys/kernel/core_pattern"):
        assert "is not saved" in asker.refusal("put", path=path, value="performance")
        assert asker.ask("writable", path="/etc/passwd") == {"writable": False}
    none: dict[str, Any] = {"governor_by": [], "scheduler_by": []}
    secret = asker.folder.parent / "secret"
    secret.write_text("of root")
    secret.chmod(0o600)
    for path in ("/etc/passwd", "/proc/sys/kernel/core_pattern", str(secret)):
        refused = asker.refusal("save", purpose="study", paths=[path], **none)
        assert "no setting that pinstudy changes" in refused and "of root" not in refused
    for purpose in ("../../etc/passwd", "x", ""):
        assert "no such journal" in asker.refusal("save", purpose=purpose, paths=[], **none)
        assert "no such journal" in asker.refusal("forget", purpose=purpose)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xff\xff\xff",
        b"\x02\0\0\0[]",
        b"\x05\0\0\0\xff\xff\xff\xff\xff",
        b"\xa0\x86\x01\0" + b"[" * 100_000,
        b"\x00\0\0\0",
    ],
)
def test_what_is_no_request_ends_roots_part(asker: Asker, data: bytes) -> None:
    asker.ask("raw", data=data.hex())
    assert "root's part of pinstudy has ended" in asker.refusal("processes")


def test_fields_of_another_type_are_refused_and_more_can_be_asked(asker: Asker) -> None:
    rest = {"target": ["-p", "1"], "cat": False, "enabled": True, "recording": False}
    wrong: list[dict[str, Any]] = [
        *({"command": 7} | rest, {"command": [["x"]]} | rest, {"command": ["x\0y"]} | rest),
        *({"command": [], "target": {}, "cat": 1, "enabled": "yes"}, {}),
    ]
    requests = ("perf", "open", "put", "save", "restore", "scheduler", "perf-finish", "program")
    for fields in wrong:
        for request in requests:
            assert "error" in asker.ask(request, **fields), (request, fields)
    # No open file reaches root's part: its close may never end, as one of FUSE.
    assert asker.refusal("file").startswith("BrokenPipeError")
    assert asker.ask("writable", path="x") == {"writable": False}


def test_roots_part_keeps_nothing_of_its_users_session(asker: Asker) -> None:
    asker.ask("writable", path="x")
    helper = roots_part_of(asker.pid)
    folder = Path(f"/proc/{helper}")
    assert (folder / "cwd").readlink() == Path("/")
    assert {(folder / "fd" / str(number)).readlink() for number in range(3)} == {Path("/dev/null")}
    # Pipe, socket, the asking process, and the selector of the three.
    assert len(list((folder / "fd").iterdir())) <= 3 + 4
    assert os.getsid(helper) == helper
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        os.kill(helper, number)
    assert asker.ask("writable", path="x") == {"writable": False}


@pytest.mark.parametrize("ends", ["the process that asks", "root's part"])
def test_the_perfs_of_roots_part_end_with_it_and_it_with_its_user(asker: Asker, ends: str) -> None:
    assert asker.perf()["problem"] == ""
    helper = roots_part_of(asker.pid)
    (perf,) = [pid for pid in descendants(helper) if name_of(pid) == "perf"]
    if ends == "root's part":
        os.kill(helper, signal.SIGKILL)
    else:
        os.kill(perf, signal.SIGSTOP)
        asker.kill()
        until(lambda: not alive(helper))
    until(lambda: not alive(perf))


def test_processes_are_seen_by_name_and_time_alone(asker: Asker) -> None:
    texts = asker.ask("processes")["content"].split("\0")
    fields = {text.split()[0]: text.rpartition(") ")[2].split() for text in texts if text}
    assert str(asker.pid) in fields
    # proc_pid_stat(5), fields 26 to 30, 35 and 45 to 52.
    secret = (*range(23, 28), 32, *range(42, 50))
    assert {found[place] for found in fields.values() for place in secret} == {"0"}
    (mine,) = {parse_task(text) for text in texts if text.startswith(f"{asker.pid} (")}
    assert mine is not None and mine.parent == os.getpid() and mine.started > 0


REQUESTS = (
    *("open", "processes", "journal", "save", "put", "writable", "restore", "forget", "program"),
    *("perf", "perf-enable", "perf-disable", "perf-finish", "perf-close", "perf-trial"),
    *("c2c-trial", "scheduler", "scheduler-ended", "scheduler-end"),
)
FIELDS = (
    *("path", "value", "purpose", "paths", "governor_by", "scheduler_by", "name", "command"),
    *("target", "cat", "enabled", "number", "events", "modes", "command_line"),
)
_texts = st.sampled_from(
    ["study", "tune", "perf", "-p", "1", NO_POLICY, "/etc/shadow", "scx_x", ""]
)
_scalars = st.none() | st.booleans() | st.integers() | st.floats() | _texts | st.text(max_size=20)
_values = (
    _scalars
    | st.lists(_scalars | st.lists(_scalars, max_size=2), max_size=3)
    | st.dictionaries(_texts, _scalars, max_size=2)
)


def test_whatever_is_asked_is_answered_and_changes_no_file(checkout: Path) -> None:
    with open_folder() as folder:
        state = folder / "state"
        state.mkdir()
        asker = Asker(checkout, folder, PINSTUDY_STATE=str(state))

        @settings(max_examples=300, deadline=None)
        @given(st.sampled_from(REQUESTS), st.dictionaries(st.sampled_from(FIELDS), _values))
        def asked(request: str, fields: dict[str, Any]) -> None:
            assert isinstance(asker.ask(request, **fields), dict)

        try:
            asked()
            assert "error" not in asker.ask("processes")
            assert [path for path in state.rglob("*") if path.is_file()] == []
        finally:
            asker.close()


@pytest.mark.faults
def test_half_a_request_does_not_keep_roots_part_when_its_asker_is_gone(asker: Asker) -> None:
    asker.ask("writable", path="x")
    helper = roots_part_of(asker.pid)
    # A process that inherits the channel, and keeps it.
    keeper = asker.ask("keep")["pid"]
    try:
        asker.ask("raw", data=b"\xff\0\0\0 ".hex())
        asker.kill()
        until(lambda: not alive(helper))
    finally:
        os.kill(keeper, signal.SIGKILL)


NO_COMMANDS: dict[str, Any] = {"governor_by": [], "scheduler_by": []}


class Node:
    """A node with settings, and a process of nobody's with root's part there."""

    def __init__(self, namespace: Namespace, asker: Asker) -> None:
        self.namespace, self.asker = namespace, asker
        first = sorted(path.name for path in namespace.cpufreq.glob("policy*"))[0]
        self.governor = f"{CPUFREQ}/{first}/scaling_governor"
        self.epp = f"{CPUFREQ}/{first}/energy_performance_preference"

    def save(self, *paths: str, purpose: str = "study") -> dict[str, Any]:
        return self.asker.ask("save", purpose=purpose, paths=list(paths), **NO_COMMANDS)

    def put(self, path: str, value: str) -> dict[str, Any]:
        return self.asker.ask("put", path=path, value=value)

    def value(self, path: str) -> str:
        return (self.namespace.cpufreq / Path(path).relative_to(CPUFREQ)).read_text().strip()

    @property
    def journal(self) -> Path:
        return self.namespace.state / "study.json"

    def saved(self) -> dict[str, str]:
        return dict(json.loads(self.journal.read_text())["settings"])


@contextmanager
def asking(checkout: Path, namespace: Namespace, states: Path) -> Iterator[Asker]:
    """Give a process of nobody's with root's part in a namespace."""
    asker = Asker(checkout, namespace.folder, namespace.enter, PINSTUDY_STATE=str(states))
    try:
        yield asker
    finally:
        asker.close()


@pytest.fixture
def node(checkout: Path) -> Iterator[Node]:
    with (
        open_folder() as folder,
        hybrid_namespace(folder) as namespace,
        asking(checkout, namespace, namespace.states) as asker,
    ):
        yield Node(namespace, asker)


def test_one_process_of_roots_at_a_time_changes_settings(node: Node, checkout: Path) -> None:
    node.save(node.governor, purpose="tune")
    node.save(node.governor)
    with asking(checkout, node.namespace, node.namespace.states) as other:
        saves = {"paths": [node.epp]} | NO_COMMANDS
        for request, fields in (("save", saves), ("restore", {}), ("forget", {})):
            refused = other.refusal(request, purpose="study", **fields)
            assert "changes settings now" in refused
        assert node.put(node.governor, "performance") == {}
        # Root who logged in changes nothing either.
        root = node.namespace.run("restore")
        assert root.returncode == 1 and "changes settings now" in root.stderr
        assert node.saved()[node.governor] == "powersave"
        # Nor can users have the lock of root's journals.
        lock = node.namespace.state / ".lock"
        assert (lock.stat().st_uid, lock.stat().st_mode & 0o777) == (0, 0o600)
        # One journal that is done leaves the other locked.
        node.asker.ask("restore", purpose="study")
        assert "changes settings now" in other.refusal("restore", purpose="tune")

        node.asker.kill()
        until(lambda: "error" not in other.ask("restore", purpose="tune"))
        assert node.value(node.governor) == "powersave"
        assert list(node.namespace.state.iterdir()) == []


def test_what_was_saved_stays_saved_whatever_is_saved_after_it(node: Node) -> None:
    assert dict(node.save(node.governor)["entry"]["settings"])[node.governor] == "powersave"
    # All that changes with a governor is saved with it.
    names = {Path(path).name for path in node.saved()}
    policy = node.namespace.cpufreq / Path(node.governor).parent.name
    assert names == {path.name for path in policy.iterdir()} & set(POLICY_FILES)
    assert len(names) > 2
    assert node.put(node.governor, "performance") == {}
    assert "a study has settings changed" in node.save(node.governor, purpose="tune")["error"]
    epp = node.value(node.epp)
    for paths in ([node.epp], [], [node.governor]):
        node.save(*paths)
        assert node.saved()[node.governor] == "powersave", "not what it is now"
    assert node.saved()[node.epp] == epp


def test_what_a_study_has_changed_is_put_back_before_what_was_tuned(node: Node) -> None:
    node.save(node.governor, purpose="tune")
    node.put(node.governor, "performance")
    node.save(node.governor)
    later = "is put back after what a study has"
    assert later in node.asker.refusal("forget", purpose="tune")
    assert later in node.asker.ask("restore", purpose="tune")["problems"][node.governor]
    assert node.value(node.governor) == "performance"
    for purpose in ("study", "tune"):
        assert node.asker.ask("restore", purpose=purpose)["problems"] == {}
    assert node.value(node.governor) == "powersave"


def test_what_is_given_up_is_put_back_first(node: Node) -> None:
    node.save(node.governor)
    node.put(node.governor, "performance")
    assert node.asker.ask("forget", purpose="study") == {}
    assert node.value(node.governor) == "powersave"
    assert not node.journal.exists()
    assert "is not saved" in node.put(node.governor, "performance")["error"]


def test_what_another_has_changed_is_put_back_and_not_given_up(node: Node) -> None:
    node.save(node.governor)
    node.put(node.governor, "performance")
    entry = json.loads(node.journal.read_text())
    node.journal.write_text(json.dumps(entry | {"user": 0}))
    assert "of user 0, who alone" in node.asker.refusal("forget", purpose="study")
    assert node.journal.exists()
    assert node.asker.ask("restore", purpose="study")["problems"] == {}
    assert node.value(node.governor) == "powersave"


def test_a_journal_that_vanished_is_written_again_before_the_next_change(node: Node) -> None:
    node.save(node.governor)
    node.journal.unlink()
    assert node.put(node.governor, "performance") == {}
    assert node.saved()[node.governor] == "powersave"
    # Nothing is changed beside the journal of another study.
    entry = json.loads(node.journal.read_text()) | {"pid": 1, "command": ["another"]}
    node.journal.write_text(json.dumps(entry))
    assert "another study" in node.put(node.governor, "schedutil")["error"]
    assert node.value(node.governor) == "performance"


@pytest.mark.parametrize("size", [120_000, 3_000_000])
def test_no_command_makes_a_journal_that_nobody_can_read(node: Node, size: int) -> None:
    command = ["x" * 60_000] * (size // 60_000)
    answer = node.asker.ask(
        "save", purpose="study", paths=[node.governor], governor_by=command, scheduler_by=[]
    )
    assert "a command of more than" in answer["error"] or "without governor_by" in answer["error"]
    assert not node.journal.exists()


@pytest.mark.parametrize("works", [True, False])
def test_a_sites_command_in_the_journal_runs_as_the_user(node: Node, works: bool) -> None:
    told = node.asker.folder / "told"
    told.mkdir()
    os.chown(told, NOBODY, NOBODY)
    command = ["sh", "-c", f"id -u >>{told}/users; id -G >>{told}/groups", "{governor}"]
    fields = {"paths": [node.governor], "governor_by": command if works else ["true"]}
    node.asker.ask("save", purpose="study", **fields, scheduler_by=[])
    node.put(node.governor, "performance")
    # A command that does nothing leaves no setting changed either.
    assert node.asker.ask("restore", purpose="study")["problems"] == {}
    assert node.value(node.governor) == "powersave"
    if works:
        for name in ("users", "groups"):
            assert set((told / name).read_text().split()) == {str(NOBODY)}


def test_what_root_has_tuned_is_not_taken_over(node: Node) -> None:
    tuned = node.namespace.run("tune", status=0)
    assert "undo it with" in tuned.stdout
    assert "of user 0: restore it first" in node.save(node.epp, purpose="tune")["error"]
    assert json.loads((node.namespace.state / "tune.json").read_text())["user"] == 0


def test_a_folder_of_state_that_is_not_roots_is_not_used(checkout: Path) -> None:
    with open_folder() as folder, hybrid_namespace(folder) as namespace:
        state = folder / "others"
        journal = state / safe_name(os.uname().nodename) / "study.json"
        journal.parent.mkdir(parents=True)
        journal.write_text("precious")
        for owner in (NOBODY, 1):
            subprocess.run(["chown", "-R", str(owner), state], check=True)
            with asking(checkout, namespace, state) as asker:
                for request in ("restore", "forget", "journal"):
                    assert "is not root's" in asker.refusal(request, purpose="study")
        assert journal.read_text() == "precious"
        # Root makes no folder above that of the host.
        with asking(checkout, namespace, folder / "a" / "b") as asker:
            assert "No such file" in asker.refusal("forget", purpose="study")
        assert not (folder / "a").exists()
