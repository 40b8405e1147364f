"""Which inherited variables count, what is kept of them, and how a difference is told."""

from __future__ import annotations

import pytest

from pinstudy.configs.inherited_variables import inherited_variables, variable_changes


def kept(set_variables: dict[str, str] | None = None, /, **environment: str) -> dict[str, str]:
    """Return what is kept of an environment in which a launch has set some variables."""
    set_ = set_variables or {}
    return inherited_variables(environment | set_, set_)


LOGIN = {
    "HOME": "/home/somebody",
    "LANG": "de_DE.UTF-8",
    "OMP_STACKSIZE": "16M",
    "PATH": "/usr/bin:/bin",
    "SOLVER_MODE": "fast",
}


@pytest.mark.parametrize(
    "session",
    [
        {"TERM": "xterm", "DISPLAY": ":0", "XDG_SESSION_ID": "4", "SHLVL": "1", "WINDOWID": "7"},
        {"TERM": "screen", "TMUX": "/tmp/x,1,0", "SSH_CONNECTION": "10.0.0.1 2 3 4", "_": "/x"},
        {"PWD": "/elsewhere", "OLDPWD": "/", "COLUMNS": "80", "VSCODE_IPC_HOOK_CLI": "/run/x"},
        {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1", "LC_ALL": "C", "KRB5CCNAME": "x"},
        {"SLURM_JOB_ID": "1", "SLURM_ARRAY_TASK_ID": "2", "SLURMD_NODENAME": "n1"},
        {"PBS_JOBID": "7.there", "PBS_NODEFILE": "/var/x", "TMPDIR": "/tmp/7", "NCPUS": "8"},
        {"LSB_JOBID": "9", "LSB_HOSTS": "n1 n1", "LS_JOBPID": "12", "HOSTNAME": "n1"},
        {"FLUX_JOB_ID": "f", "FLUX_URI": "local:///x", "PMI_RANK": "0", "PMIX_RANK": "0"},
        {"JOB_ID": "5", "SGE_TASK_ID": "1", "NSLOTS": "4", "MY_SITE_JOBID": "3"},
        {"CLOUD_API_TOKEN": "secret", "DB_PASSWORD": "secret", "AWS_SECRET_ACCESS_KEY": "secret"},
        {"LOADEDMODULES": "gcc/13", "_LMFILES_": "/x", "LMOD_SYSTEM_NAME": "x", "MODULEPATH": "x"},
        {"PATH": "/usr/bin:/bin:/usr/bin"},
        {"https_proxy": "http://proxy:3128", "NO_PROXY": "there", "SSL_CERT_FILE": "/etc/x"},
        {"SNAP_NAME": "x", "APPDIR": "/tmp/.mount_x", "MOZ_ENABLE_WAYLAND": "1", "TTY": "/dev/3"},
    ],
    ids=lambda session: next(iter(session)),
)
def test_another_terminal_or_job_is_the_same_environment(session: dict[str, str]) -> None:
    assert kept(**LOGIN | session) == kept(**LOGIN)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"OMP_STACKSIZE": "64M"}, "OMP_STACKSIZE was '16M', now '64M'"),
        ({"KMP_BLOCKTIME": "0"}, "KMP_BLOCKTIME was not set, now '0'"),
        ({"LD_PRELOAD": "/lib/x.so"}, "LD_PRELOAD was not set, now '/lib/x.so'"),
        ({"MALLOC_ARENA_MAX": "1"}, "MALLOC_ARENA_MAX was not set, now '1'"),
        ({"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}, "GLIBC_TUNABLES was not set, now 'glibc"),
        ({"NUMEXPR_NUM_THREADS": "2"}, "NUMEXPR_NUM_THREADS was not set, now '2'"),
        ({"OMPI_MCA_btl": "self"}, "OMPI_MCA_btl was not set, now 'self'"),
        ({"PATH": "/opt/bin:/usr/bin"}, "PATH lost '/bin' and got '/opt/bin'"),
        ({"PATH": "/bin:/usr/bin"}, "PATH has its folders in another order"),
        ({"SOLVER_MODE": "slow"}, "SOLVER_MODE has another value"),
        ({"FOO": "1"}, "FOO is set, and was not"),
    ],
)
def test_a_difference_is_told_with_both_values_of_a_setting(
    change: dict[str, str], told: str
) -> None:
    (line,) = variable_changes(kept(**LOGIN), kept(**LOGIN | change))
    assert line.startswith(told)


@pytest.mark.parametrize(
    "name",
    ["HISTOGRAM_BINS", "TERMINATE_AFTER", "N_TOKENS", "SOCKETS_PER_NODE", "FLUX_LIMITER",
     "CI_LEVEL", "BUILD_TREE", "HYDRA_HOST_FILE", "PYTHONPATH", "TZ", "GOMP_DEBUG", "G_SLICE",
     "LS_METHOD"],
)  # fmt: skip
def test_names_that_only_look_like_a_logins_or_jobs_count(name: str) -> None:
    assert kept(**{name: "1"}) != kept(**{name: "2"})


def test_a_variable_that_is_gone_is_told() -> None:
    fewer = {name: value for name, value in LOGIN.items() if name != "SOLVER_MODE"}
    assert variable_changes(kept(**LOGIN), kept(**fewer)) == ["SOLVER_MODE was set, and is not"]


def test_of_a_variable_that_is_no_known_setting_a_digest_is_kept() -> None:
    values = kept(SOLVER_MODE="of the house", ODD="\udc80", LONG="x" * 100_000)
    assert all(value.startswith("sha256:") and len(value) == 15 for value in values.values())
    assert values["SOLVER_MODE"] != kept(SOLVER_MODE="of the mouse")["SOLVER_MODE"]


def test_what_a_case_sets_itself_is_no_difference_but_for_nested_regions() -> None:
    assert kept({"OMP_PLACES": "{0}"}) == {}
    assert kept({"OMP_NUM_THREADS": "4,2"}) == {"OMP_NUM_THREADS": "4,2"}


def test_what_an_earlier_version_counted_is_no_difference() -> None:
    assert variable_changes({"TERM": "xterm", "A": "sha256:0"}, {"A": "sha256:0"}) == []


def test_files_from_anybody_are_told_on_one_line() -> None:
    (line,) = variable_changes({"A\nB": "x"}, {"A\nB": "y"})
    assert "\n" not in line
