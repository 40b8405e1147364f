"""Scripts are given to bash as a batch system would, with a command that tells what it got."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.base.errors import UserError
from pinstudy.configs.site import BATCH_SYSTEMS
from pinstudy.runners.batch_systems.registry import open_system
from pinstudy.runners.batch_systems.script import WORKER, directive_path
from tests.runners.batch_systems.asked import job_of, queue_of
from tests.support.tools import need_tool
from tests.support.wait import HANG_S

# What each system tells the fourth worker of an array, whose number is 3.
FOURTH = {
    system: {open_system(system).index: "3"}
    for system in BATCH_SYSTEMS
    if open_system(system).takes_arrays
}
EVERY_FOURTH = {name: value for told in FOURTH.values() for name, value in told.items()}
TELL = "import os, sys; print(sys.argv[1:], os.getcwd()); print(os.environ['PATH'])"

every_system = pytest.mark.parametrize("system", BATCH_SYSTEMS)


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Return how bash ends that is given a script in a folder that is not the study's."""
    return subprocess.run(
        ["/bin/bash", "-s"],
        input=script,
        env={"PATH": "/usr/bin:/bin", "HOME": "/", **environment},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def said(system: str, logs: Path, done: subprocess.CompletedProcess[str], worker: int) -> str:
    """Return what the worker has printed: Slurm itself writes its log, else the script does."""
    if system == "slurm":
        return done.stdout
    assert done.stdout == ""
    return (logs / f"worker-{worker}.log").read_text()


@pytest.mark.parametrize("system", FOURTH)
def test_a_worker_gets_its_number_and_odd_arguments(system: str, tmp_path: Path) -> None:
    # A shell would take it apart.
    folder = tmp_path / "it's a $(study) & more"
    folder.mkdir()
    odd = ("a b", "it's", '"$HOME"', "", "*", "`id`", "a\nb", f"--worker={WORKER}.", "-n", "\\")
    job = job_of(folder, workers=5, logs=tmp_path, command=(sys.executable, "-c", TELL, *odd))
    done = run(open_system(system).script(queue_of(system), job), **FOURTH[system])
    assert (done.returncode, done.stderr) == (0, "")
    arguments = [word.replace(WORKER, "3") for word in odd]
    assert said(system, tmp_path, done, 3).startswith(f"{arguments} {folder}\n")


@every_system
def test_a_worker_alone_has_its_number_and_adds_to_its_log(system: str, tmp_path: Path) -> None:
    script = open_system(system).script(
        queue_of(system), job_of(tmp_path, first_worker=7, logs=tmp_path)
    )
    for times in (1, 2):
        done = run(script, **EVERY_FOURTH)
        text = "worker 7\n" * (1 if system == "slurm" else times)
        assert said(system, tmp_path, done, 7) == text


@every_system
def test_signals_reach_the_worker_in_the_scripts_place(system: str, tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(75))\n"
        "open('ready', 'w').write(str(os.getpid()))\n"
        "os.kill(os.getpid(), signal.SIGSTOP)\n"
        "signal.pause()\n"
    )
    job = job_of(tmp_path, logs=tmp_path, command=(sys.executable, "-c", program))
    path = tmp_path / "job.sh"
    path.write_text(open_system(system).script(queue_of(system), job))
    process = subprocess.Popen(["/bin/bash", str(path)], cwd="/")
    try:
        os.waitpid(process.pid, os.WUNTRACED)
        assert (tmp_path / "ready").read_text() == str(process.pid)
        process.send_signal(signal.SIGUSR1)
        process.send_signal(signal.SIGCONT)
        assert process.wait(HANG_S) == 75
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("system", "keys", "missing"),
    [
        *((system, {}, "no folder FOLDER") for system in BATCH_SYSTEMS),
        ("slurm", {"modules": ("gcc/99", "likwid")}, "cannot load the module gcc/99"),
        ("slurm", {"spack_view": "/no/view"}, "no Spack view /no/view/bin"),
    ],
)
def test_what_the_node_lacks_ends_the_job(
    system: str, tmp_path: Path, keys: dict[str, Any], missing: str
) -> None:
    folder = tmp_path / "not here" if "folder" in missing else tmp_path
    job = job_of(folder, logs=tmp_path, command=("/bin/touch", f"{tmp_path}/started"))
    script = open_system(system).script(queue_of(system, **keys), job)
    done = run('module() { [ "$2" != gcc/99 ]; }\n' + script)
    assert done.returncode == 72
    why = missing.replace("FOLDER", str(folder))
    assert f"pinstudy: {os.uname().nodename}: {why}" in done.stderr
    assert not (tmp_path / "started").exists()


def test_modules_are_loaded_and_the_view_comes_first_on_the_path(tmp_path: Path) -> None:
    view = tmp_path / "a view"
    (view / "bin").mkdir(parents=True)
    queue = queue_of("slurm", modules=("gcc/13.2", "likwid"), spack_view=str(view))
    # Who called sudo is not the worker's user.
    ends = "; sys.exit(4 if 'SUDO_UID' in os.environ else 3)"
    job = job_of(tmp_path, command=(sys.executable, "-c", TELL + ends))
    module = 'module() { echo "module $*"; }; export -f module\n'
    script = open_system("slurm").script(queue, job)
    done = run(module + script, PATH="/own/tools:/usr/bin:/bin", SUDO_UID="1")
    assert done.stdout.splitlines() == [
        "module load gcc/13.2",
        "module load likwid",
        f"[] {tmp_path}",
        f"{view}/bin:/own/tools:/usr/bin:/bin",
    ]
    # The worker's status is the job's.
    assert done.returncode == 3


def test_under_pbs_programs_are_found_as_where_the_study_was_submitted(tmp_path: Path) -> None:
    job = job_of(tmp_path, logs=tmp_path, command=(sys.executable, "-c", TELL))
    script = open_system("pbs").script(queue_of("pbs"), job)
    done = run(script, PATH="/usr/bin:/bin", PBS_O_PATH="/own tools:/usr/bin:/bin")
    assert said("pbs", tmp_path, done, 0).splitlines()[1] == "/own tools:/usr/bin:/bin"


@every_system
def test_scripts_are_shell_that_others_can_read(system: str, tmp_path: Path) -> None:
    queue = queue_of(
        system,
        **{"queue": "main", "account": "project", "modules": ("gcc/13.2",), "most_at_once": 2},
        **{"spack_view": "/opt/view", "directives": ("--reservation=x",)},
    )
    job = job_of(tmp_path, workers=4, feature="hybrid", after="12")
    script = open_system(system).script(queue, job)
    assert script.startswith("#!/bin/bash\n")
    assert script.isascii()
    assert script.splitlines()[-1] == 'exec /bin/echo worker "$worker"'
    shellcheck = [need_tool("shellcheck"), "--shell=bash", "--exclude=SC1091", "-"]
    for reader in (["/bin/bash", "-n"], shellcheck):
        subprocess.run(reader, input=script, text=True, check=True)


@every_system
@pytest.mark.parametrize("key", ["node", "feature"])
@pytest.mark.parametrize("name", ["n1\n#SBATCH -p all", "n 1", "-x", "$(id)", ""])
def test_names_that_are_more_are_refused(system: str, key: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"^{key} .*: expected letters, digits"):
        open_system(system).script(queue_of(system), job_of(tmp_path, **{key: name}))


@pytest.mark.parametrize(
    ("system", "odd"),
    [
        *((system, odd) for system in BATCH_SYSTEMS for odd in '"\\%\n{['),
        # qsub would take them apart.
        *(("pbs", odd) for odd in " :,"),
    ],
)
def test_folders_for_logs_that_a_directive_cannot_say_are_refused(system: str, odd: str) -> None:
    job = job_of(Path("/x"), logs=Path(f"/a{odd}b"))
    with pytest.raises(UserError, match="cannot be told to the batch system"):
        open_system(system).script(queue_of(system), job)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=20))
def test_a_path_in_a_directive_is_one_word_or_refused(text: str) -> None:
    path = Path("/logs") / text.replace("/", "_").replace("\0", "_")
    try:
        told = directive_path(path)
    except UserError as error:
        assert "\n" not in str(error)
        return
    assert told.isprintable()
    if told.startswith('"'):
        assert told[1:-1] == str(path)
        assert '"' not in told[1:-1]
    else:
        assert told == str(path)
        assert not set(told) & set(" #;&'$`\\*?()<>|!~")
