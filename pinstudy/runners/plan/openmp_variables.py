"""Which of the OpenMP variables that a shell has a program gets. Pure.

A program gets those that say nothing of what a case asks: the stack of its threads, nested regions,
reductions, tasks, devices. Those that place threads, count them, schedule loops or, where the study
asks how threads wait, decide that, would make another case of it.

Sources: OpenMP 6.0, chapter 4 (environment variables); GCC's libgomp manual, "Environment
Variables"; LLVM's openmp/docs/design/Runtimes.rst and openmp/runtime/src/kmp_settings.cpp.
"""

from __future__ import annotations

import re

from pinstudy.configs.inherited_variables import OPENMP_PREFIXES
from pinstudy.configs.mechanisms import mechanisms_by_variable
from pinstudy.configs.study import RUNTIME_DEFAULT
from pinstudy.configs.variables import OMP_NUM_THREADS
from pinstudy.runners.plan.mechanisms import MECHANISMS

# Variables of a launcher that has to be asked by a mapping.
_OF_LAUNCHERS = tuple(mechanism.own_prefix for mechanism in MECHANISMS if mechanism.own_prefix)
# These place threads, and a runtime that complains about binding names one of them.
BINDING_VARIABLES = tuple(dict.fromkeys((*mechanisms_by_variable(), "GOMP_CPU_AFFINITY")))
_PLACING = (
    *BINDING_VARIABLES,
    # The name of KMP_HW_SUBSET before LLVM 4.
    "KMP_PLACE_THREADS",
    *("KMP_HIDDEN_HELPER_AFFINITY", "KMP_TEAMS_PROC_BIND"),
    # Where libomp finds the cores that it binds to.
    *("KMP_TOPOLOGY_METHOD", "KMP_CPUINFO_FILE"),
    # It hides what libomp says of a binding that it did not do.
    "KMP_WARNINGS",
)
_COUNTING = (
    *(OMP_NUM_THREADS, "OMP_DYNAMIC", "OMP_THREAD_LIMIT"),
    *("KMP_ALL_THREADS", "KMP_MAX_THREADS", "KMP_DEVICE_THREAD_LIMIT", "KMP_DYNAMIC_MODE"),
)
_SCHEDULING = ("OMP_SCHEDULE",)
WAITING = "OMP_WAIT_POLICY"
_WAITING_OF_RUNTIMES = (
    *("GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY", "KMP_USE_YIELD"),
    *("KMP_SPIN_BACKOFF_PARAMS", "KMP_USER_LEVEL_MWAIT", "KMP_TPAUSE"),
)
_DECIDED = frozenset((*_PLACING, *_COUNTING, *_SCHEDULING, WAITING))
# OpenMP 6.0, section 4.2: a variable for the host and all devices, and for devices alone.
_FOR_ALL, _FOR_DEVICES = re.compile(r"_ALL$"), re.compile(r"_DEV(?:_[0-9]+)?$")


def is_removed(name: str, wait_policy: str) -> bool:
    """Whether a program does not get this variable of the shell under a study's wait policy."""
    if name.startswith(_OF_LAUNCHERS):
        return True
    if not name.startswith(OPENMP_PREFIXES) or _FOR_DEVICES.search(name):
        return False
    base = _FOR_ALL.sub("", name)
    return base in _DECIDED or (base in _WAITING_OF_RUNTIMES and wait_policy != RUNTIME_DEFAULT)
