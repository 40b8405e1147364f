"""The variables of its shell by which a program may run otherwise. Pure.

A program gets all variables that pinstudy was started with, but those that a case decides
(pinstudy/runners/plan/openmp_variables.py). Any of them may change its time: a runtime's setting, a
switch of the program's own, a folder of libraries. So all count, except those below: they tell of
the login, the terminal, the desktop, the job or the user, have other values at every login or in
every job, and say nothing of how a program computes; or what they stand for shows in other
variables (a module's name beside PATH and LD_LIBRARY_PATH). To count them would refuse a study that
goes on in another terminal or as the next job.

Values of variables that are known to be settings are kept as they are; of any other only a digest,
because it may be a secret.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache

from pinstudy.base.text import shown
from pinstudy.configs.variables import OMP_NUM_THREADS

OPENMP_PREFIXES = ("OMP_", "KMP_", "GOMP_")
# Inherited variables that are kept, because a program may need them, and recorded, because they
# affect the run: those of OpenMP, the loader, the allocator (ld.so(8), mallopt(3)), libraries with
# threads, and MPI.
RECORDED_PREFIXES = (
    # TCM_ENABLE lets Intel's runtimes share out threads among them.
    *(*OPENMP_PREFIXES, "LIBOMP_", "OMPX_", "TCM_"),
    *("LD_", "GLIBC_TUNABLES", "MALLOC_", "OPENBLAS_", "GOTO_", "MKL_", "BLIS_"),
    *("OMPI_", "PMIX_MCA_", "PRTE_", "MPICH_", "HYDRA_", "UCX_"),
)
PATH = "PATH"
# Lists of folders: a folder that stands in one again is searched in vain.
_LISTS = frozenset({PATH, "LD_LIBRARY_PATH"})
_THREADS = "_NUM_THREADS"

_IGNORED_NAMES = frozenset(
    {
        # The shell's own: where it is, how deep, what it shows and remembers.
        *("PWD", "OLDPWD", "SHLVL", "_", "PS1", "PS2", "PS3", "PS4", "PROMPT", "PROMPT_COMMAND"),
        *("COLUMNS", "LINES", "RANDOM", "SECONDS", "LS_COLORS", "LSCOLORS", "SHELL", "FPATH"),
        *("MANPATH", "INFOPATH", "PAGER", "MORE", "EDITOR", "VISUAL", "BROWSER", "MAIL", "FCEDIT"),
        *("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "DEBUGINFOD_URLS", "ZDOTDIR", "PS0"),
        *("HISTFILE", "HISTSIZE", "HISTFILESIZE", "HISTCONTROL", "HISTIGNORE", "HISTTIMEFORMAT"),
        *("EXA_COLORS", "EZA_COLORS", "BAT_THEME", "G_FILENAME_ENCODING", "G_BROKEN_FILENAMES"),
        *("BASHRCSOURCED", "PROFILEREAD", "MOTD_SHOWN", "which_declare", "TTY", "CONSOLE"),
        # Who is logged in, where. Records have the user if root measures for one (`program_uid`).
        *("HOME", "USER", "LOGNAME", "USERNAME", "HOST", "HOSTNAME", "HOSTTYPE", "MACHTYPE"),
        *("OSTYPE", "DOAS_USER", "PKEXEC_UID"),
        # Every program's messages are in English: LC_ALL is set.
        *("LANG", "LANGUAGE"),
        # Folders for files that nobody keeps; batch systems make one for each job.
        *("TMPDIR", "TMP", "TEMP", "TEMPDIR"),
        # Terminal and desktop.
        *("TERM", "TERMCAP", "TERMINFO", "TERMINFO_DIRS", "TERMINAL", "TERMINAL_EMULATOR"),
        *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "WINDOWID", "WINDOWPATH", "WINDOW", "STY"),
        *("COLORTERM", "COLORFGBG", "VTE_VERSION", "SESSION_MANAGER", "SESSIONTYPE"),
        *("CHROME_DESKTOP", "INSIDE_EMACS", "I3SOCK", "SWAYSOCK", "WSLENV", "WINDOWMANAGER"),
        *("GNUPGHOME", "VNCDESKTOP", "SESSION"),
        # Programs that started the terminal: an AppImage, a snap.
        *("APPDIR", "APPIMAGE", "ARGV0", "OWD", "SNAP", "SNAP_ARCH", "SNAP_COMMON", "SNAP_CONTEXT"),
        *("SNAP_DATA", "SNAP_EUID", "SNAP_INSTANCE_KEY", "SNAP_INSTANCE_NAME", "SNAP_NAME"),
        *("SNAP_LIBRARY_PATH", "SNAP_REAL_HOME", "SNAP_REVISION", "SNAP_UID", "SNAP_VERSION"),
        *("SNAP_USER_COMMON", "SNAP_USER_DATA"),
        # What started it: make, systemd, sudo, a test.
        *("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES"),
        *("INVOCATION_ID", "JOURNAL_STREAM", "MANAGERPID", "SYSTEMD_EXEC_PID", "MAINPID"),
        *("EXECUSER", "ENVIRONMENT", "NCPUS", "NSLOTS", "NHOSTS", "QUEUE", "JOB_NAME"),
        *("LS_JOBPID", "LS_SUBCWD", "LS_EXEC_T"),
        *("BUILD_ID", "BUILD_NUMBER", "BUILD_TAG", "BUILD_URL"),
        # Devices that a batch system gives a job.
        *("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"),
        *("ZE_AFFINITY_MASK", "GPU_DEVICE_ORDINAL", "KRB5CCNAME"),
        # Which modules are loaded; what they do shows in PATH and others.
        *("LOADEDMODULES", "_LMFILES_", "MODULEPATH", "MODULESHOME", "MODULESHOME_modshare"),
        *("VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT"),
    }
)
_IGNORED_PREFIXES = (
    *("LC_", "TERM_", "LESS", "GREP_COLOR", "BASH_FUNC_", "ZSH", "SUDO_", "PINSTUDY_"),
    # Logins, agents and desktops.
    *("SSH_", "XDG_", "GPG_", "DBUS_", "GNOME_", "GTK", "QT_", "KDE_", "PLASMA_", "MATE_", "XFCE"),
    *("GDM", "DESKTOP_", "GIO_", "GJS_", "AT_SPI", "XMODIFIERS", "IM_CONFIG", "IBUS_", "FCITX"),
    *("WSL_", "HYPRLAND_", "UBUNTU_", "CLUTTER_", "SELINUX_", "PAM_", "MOZ_"),
    *("NX_", "XRDP_", "DCV_", "ALSA_", "PULSE_", "SDL_"),
    # Terminals and editors.
    *("TMUX", "ZELLIJ", "BYOBU", "KITTY_", "WEZTERM_", "ALACRITTY_", "ITERM_", "KONSOLE_"),
    *("GHOSTTY_", "TILIX_", "GUAKE_", "TERMINATOR_", "VSCODE_", "ELECTRON_", "IDEA_", "PYCHARM_"),
    *("JETBRAINS_", "NVIM", "VIM", "EMACS", "GIT_", "XTERM_", "STARSHIP_", "ATUIN_", "P9K_"),
    *("_P9K_", "POWERLEVEL9K", "FZF_", "DIRENV_"),
    # Jobs of batch systems, and processes of what starts ranks.
    *("SLURM", "SBATCH_", "SRUN_", "SALLOC_", "SQUEUE_", "PBS_", "LSB_", "LSF_", "BSUB_"),
    *("FLUX_URI", "FLUX_JOB_", "FLUX_TASK_", "FLUX_KVS_", "FLUX_PMI", "FLUX_TERMINUS_"),
    *("FLUX_EXEC_PATH", "FLUX_CONNECTOR_PATH", "FLUX_MODULE_PATH", "FLUX_RPC", "COBALT_", "OAR_"),
    *("SGE_", "PE_HOST", "CONDOR_", "_CONDOR_", "PMI_", "PMIX_", "ALPS_", "PALS_"),
    # Services and continuous integration.
    *("LISTEN_", "NOTIFY_", "WATCHDOG_", "MEMORY_PRESSURE_", "CREDENTIALS_"),
    *("CI_JOB_", "CI_COMMIT_", "CI_PIPELINE_", "CI_RUNNER_", "CI_SERVER_", "CI_PROJECT_"),
    *("GITHUB_", "GITLAB_", "RUNNER_", "JENKINS_", "PYTEST_"),
    # Package managers that describe what they have activated.
    *("CONDA_", "MAMBA_", "_CE_", "SPACK_", "PYENV_", "NVM_", "SDKMAN_", "RBENV_"),
    *("LMOD_", "__LMOD", "_ModuleTable", "MODULES_", "__MODULES", "MODULERCFILE"),
)
# Open MPI's launcher has numbers of the ranks beside its settings.
_OPEN_MPI, _OPEN_MPI_SETTINGS = "OMPI_", "OMPI_MCA_"
# Secrets, addresses of the login's processes and of the network's, and what a job, its node and its
# tasks are called.
_IGNORED_WORDS = re.compile(
    r"TOKEN(?:$|_)|SECRET|PASSW|CREDENTIAL|COOKIE|(?:API|ACCESS|PRIVATE)_?KEY"
    r"|_SOCKET(?:$|_(?:PATH|DIR|ADDRESS)$)|_(?:SOCK|PID|TTY|SESSION|SESSION_ID|AUTH|PROXY)$|(?:^|_)SSL_|CA_(?:BUNDLE|CERT)|LICENSE_FILE"
    r"|(?:JOB|TASK|PROC|NODE)_?ID(?:$|_)|(?:NODE|HOST)_?(?:NAME|LIST|FILE)(?:$|_)",
    re.IGNORECASE,
)
# A longer value is no setting that anybody reads.
_MAX_CHARACTERS = 10_000
_DIGEST = "sha256:"
# Enough to notice another value, too few to find a long one by.
_DIGITS = 8


def inherited_variables(
    environment: Mapping[str, str], set_variables: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables that a launch inherits and that count, with their values or digests.

    `environment` is all that it has, `set_variables` are those that it sets itself.
    OMP_NUM_THREADS is among them as it is set: it has the counts of nested regions of the
    inherited one.
    """
    counted = {
        name: value
        for name, value in environment.items()
        if name == OMP_NUM_THREADS or (name not in set_variables and _counts(name))
    }
    return {name: _kept(name, value) for name, value in sorted(counted.items())}


def variable_changes(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return in a sentence each how variables differ, as `inherited_variables` keeps them."""
    return [
        _change(name, then.get(name), now.get(name))
        for name in sorted({*then, *now})
        if then.get(name) != now.get(name) and _counts(name)
    ]


@lru_cache(maxsize=4096)
def _counts(name: str) -> bool:
    if _is_setting(name):
        return not name.startswith(_OPEN_MPI) or name.startswith(_OPEN_MPI_SETTINGS)
    return not (
        name in _IGNORED_NAMES or name.startswith(_IGNORED_PREFIXES) or _IGNORED_WORDS.search(name)
    )


def _is_setting(name: str) -> bool:
    return name == PATH or name.startswith(RECORDED_PREFIXES) or name.endswith(_THREADS)


def _kept(name: str, value: str) -> str:
    if name in _LISTS:
        value = ":".join(dict.fromkeys(value.split(":")))
    if _is_setting(name) and len(value) <= _MAX_CHARACTERS:
        return value
    digest = hashlib.sha256(value.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{_DIGEST}{digest[:_DIGITS]}"


def _change(name: str, then: str | None, now: str | None) -> str:
    told = shown(name)[1:-1]
    if any(value and value.startswith(_DIGEST) for value in (then, now)):
        if then is None:
            return f"{told} is set, and was not"
        return f"{told} was set, and is not" if now is None else f"{told} has another value"
    if name in _LISTS and then is not None and now is not None:
        return f"{told} {_list_change(then.split(':'), now.split(':'))}"
    was, is_now = ("not set" if value is None else shown(value) for value in (then, now))
    return f"{told} was {was}, now {is_now}"


def _list_change(then: list[str], now: list[str]) -> str:
    """Return in words how a list of folders changed."""
    gone, new = ([name for name in a if name not in b] for a, b in ((then, now), (now, then)))
    parts = (f"{word} {shown(':'.join(of))}" for word, of in (("lost", gone), ("got", new)) if of)
    return " and ".join(parts) or "has its folders in another order"
