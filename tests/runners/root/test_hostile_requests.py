"""What root's part refuses, whatever its user asks: the user may run other code than pinstudy's."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.host.processes import parse_task
from runners.measure.perf.events import read_core_pmus
from runners.root.perfs import check_events
from tests.runners.root.conftest import Asker
from tests.support.ordinary_user import NOBODY, open_folder
from tests.support.processes import alive, descendants, name_of, roots_part_of
from tests.support.wait import until

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
