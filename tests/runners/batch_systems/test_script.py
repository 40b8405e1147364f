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

from base.errors import UserError
from configs.site import BATCH_SYSTEMS
from runners.batch_systems.registry import open_system
from runners.batch_systems.script import WORKER, directive_path
from tests.runners.batch.asked import job_of, queue_of
from tests.support.tools import need_tool
from tests.support.wait import HANG_S

# What each system tells the fourth worker of an array, whose number is 3.
FOURTH = {
    system: {open_system(system).index: "3"}
    for system in BATCH_SYSTEMS
    if open_system(system).takes_arrays
}
EVERY_FOURTH = {name: value for told in FOURTH.values() for name, value in told.items()}
TELL = "import os, sys; print(repr(sys.argv[1:])); print(os.environ['PATH'])"


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


def told(system: str, folder: Path, done: subprocess.CompletedProcess[str], worker: int) -> str:
    """Return what the worker has printed: Slurm itself writes its log, else the script does."""
    if system == "slurm":
        return done.stdout
    assert done.stdout == ""
    return (folder / "logs" / f"worker-{worker}.log").read_text()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study's folder whose name a shell would take apart."""
    path = tmp_path / "it's a $(study) & more"
    (path / "logs").mkdir(parents=True)
    return path


@pytest.mark.parametrize("system", FOURTH)
def test_a_worker_of_an_array_gets_its_number_and_its_arguments_as_they_are(
    system: str, tmp_path: Path, folder: Path
) -> None:
    odd = ("a b", "it's", '"$HOME"', "", "*", "`id`", "a\nb", f"--worker={WORKER}.", "-n", "\\")
    job = job_of(
        folder,
        workers=5,
        logs=tmp_path,
        command=(sys.executable, "-c", "import os, sys; print(sys.argv[1:], os.getcwd())", *odd),
    )
    script = open_system(system).script(queue_of(system), job)
    done = run(script, **FOURTH[system])
    assert (done.returncode, done.stderr) == (0, "")
    log = tmp_path / "worker-3.log"
    said = done.stdout if system == "slurm" else log.read_text()
    expected = [each.replace(WORKER, "3") for each in odd]
    assert said == f"{expected} {folder}\n"


@pytest.mark.parametrize("system", BATCH_SYSTEMS)
def test_a_worker_that_is_alone_has_its_number_whatever_array_submits_it(
    system: str, tmp_path: Path
) -> None:
    (tmp_path / "logs").mkdir()
    script = open_system(system).script(queue_of(system), job_of(tmp_path, first_worker=7))
    done = run(script, **EVERY_FOURTH)
    assert told(system, tmp_path, done, 7) == "worker 7\n"


@pytest.mark.parametrize("system", ["pbs", "flux"])
def test_what_is_printed_is_appended_to_the_log(system: str, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    script = open_system(system).script(queue_of(system), job_of(tmp_path))
    run(script)
    run(script)
    assert (tmp_path / "logs" / "worker-0.log").read_text() == "worker 0\nworker 0\n"


@pytest.mark.parametrize("system", BATCH_SYSTEMS)
def test_a_folder_that_the_node_lacks_ends_the_job(system: str, tmp_path: Path) -> None:
    missing = tmp_path / "not here"
    job = job_of(missing, logs=tmp_path, command=("/bin/touch", str(tmp_path / "started")))
    done = run(open_system(system).script(queue_of(system), job))
    assert done.returncode == 72
    assert f"pinstudy: {os.uname().nodename}: no folder {missing}" in done.stderr
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("system", BATCH_SYSTEMS)
def test_the_worker_is_the_script_s_own_process_so_that_signals_reach_it(
    system: str, tmp_path: Path
) -> None:
    (tmp_path / "logs").mkdir()
    program = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(75))\n"
        "open('ready', 'w').write(str(os.getpid()))\n"
        "os.kill(os.getpid(), signal.SIGSTOP)\n"
        "signal.pause()\n"
    )
    job = job_of(tmp_path, command=(sys.executable, "-c", program))
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


def test_the_worker_s_status_is_the_job_s(tmp_path: Path) -> None:
    job = job_of(tmp_path, command=("/bin/sh", "-c", "exit 3"))
    assert run(open_system("slurm").script(queue_of("slurm"), job)).returncode == 3


def test_modules_are_loaded_and_the_view_comes_first_on_the_path(tmp_path: Path) -> None:
    view = tmp_path / "a view"
    (view / "bin").mkdir(parents=True)
    queue = queue_of("slurm", modules=("gcc/13.2", "likwid"), spack_view=str(view))
    script = open_system("slurm").script(
        queue, job_of(tmp_path, command=(sys.executable, "-c", TELL))
    )
    module = 'module() { echo "module $*"; }; export -f module\n'
    done = run(module + script, PATH="/own/tools:/usr/bin:/bin")
    assert done.stdout.splitlines() == [
        "module load gcc/13.2",
        "module load likwid",
        "[]",
        f"{view}/bin:/own/tools:/usr/bin:/bin",
    ]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"modules": ("gcc/99", "likwid")}, "cannot load the module gcc/99"),
        ({"spack_view": "/no/view"}, "no Spack view /no/view/bin"),
    ],
)
def test_what_the_node_lacks_ends_the_job(tmp_path: Path, keys: dict[str, Any], said: str) -> None:
    script = open_system("slurm").script(queue_of("slurm", **keys), job_of(tmp_path))
    done = run('module() { [ "$2" != gcc/99 ]; }\n' + script)
    assert (done.returncode, done.stdout) == (72, "")
    assert said in done.stderr


def test_under_pbs_programs_are_found_as_where_the_study_was_submitted(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    script = open_system("pbs").script(
        queue_of("pbs"), job_of(tmp_path, command=(sys.executable, "-c", TELL))
    )
    done = run(script, PATH="/usr/bin:/bin", PBS_O_PATH="/own tools:/usr/bin:/bin")
    assert told("pbs", tmp_path, done, 0).splitlines()[1] == "/own tools:/usr/bin:/bin"


@pytest.mark.parametrize("system", BATCH_SYSTEMS)
def test_scripts_are_shell_that_others_can_read(system: str, tmp_path: Path) -> None:
    queue = queue_of(
        system,
        queue="main",
        account="project",
        modules=("gcc/13.2",),
        spack_view="/opt/view",
        directives=("--reservation=x",),
        most_at_once=2,
    )
    job = job_of(tmp_path, workers=4, feature="hybrid", after="12")
    script = open_system(system).script(queue, job)
    assert script.startswith("#!/bin/bash\n")
    assert script.isascii()
    assert script.splitlines()[-1] == 'exec /bin/echo worker "$worker"'
    subprocess.run(["/bin/bash", "-n"], input=script, text=True, check=True)
    subprocess.run(
        [need_tool("shellcheck"), "--shell=bash", "--exclude=SC1091", "-"],
        input=script,
        text=True,
        check=True,
    )


@pytest.mark.parametrize("system", BATCH_SYSTEMS)
@pytest.mark.parametrize("key", ["node", "feature"])
@pytest.mark.parametrize("name", ["n1\n#SBATCH -p all", "n 1", "-x", "$(id)", ""])
def test_names_that_would_be_more_than_a_name_are_refused(
    system: str, key: str, name: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=f"^{key} .*: expected letters, digits"):
        open_system(system).script(queue_of(system), job_of(tmp_path, **{key: name}))


@pytest.mark.parametrize("system", BATCH_SYSTEMS)
@pytest.mark.parametrize("odd", ['"', "\\", "%", "\n", "{", "["])
def test_folders_for_logs_that_a_directive_cannot_say_are_refused(system: str, odd: str) -> None:
    logs = Path(f"/a{odd}b")
    with pytest.raises(UserError, match="cannot be told to the batch system"):
        open_system(system).script(queue_of(system), job_of(Path("/x"), logs=logs))


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=20))
def test_a_path_in_a_directive_is_one_word_or_refused(text: str) -> None:
    path = Path("/logs") / text.replace("/", "_").replace("\0", "_")
    try:
        said = directive_path(path)
    except UserError as error:
        assert "\n" not in str(error)
        return
    assert said.isprintable()
    if said.startswith('"'):
        assert said[1:-1] == str(path)
        assert '"' not in said[1:-1]
    else:
        assert said == str(path)
        assert not set(said) & set(" #;&'$`\\*?()<>|!~")
