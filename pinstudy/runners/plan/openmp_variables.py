"""Which of the OpenMP variables that a shell has a program gets. Pure.

A program gets those that say nothing of what a case asks: the stack of its threads, nested regions,
reductions, tasks, devices. Those that place threads, count them, schedule loops or, where the study
asks how threads wait, decide that, would make another case of it.

OMP_THREADS_RESERVE of OpenMP 6.0 makes free agents: threads beside all teams, which take tasks that
allow it (`threadset(omp_pool)`). Intel's runtime (libiomp5) 2026.2 has them: it binds none to a
place of OMP_PLACES, binds them to the CPUs of KMP_AFFINITY from the first on, and takes what is
reserved for teams and is in none as free agents, too. libomp up to 23 and libgomp up to 16 have
none, and ignore the variable (seen with their packages).

Sources: OpenMP 6.0, chapter 4 (environment variables); GCC's libgomp manual, "Environment
Variables"; LLVM's openmp/docs/design/Runtimes.rst and openmp/runtime/src/kmp_settings.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

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
    *("KMP_HIDDEN_HELPER_AFFINITY", "KMP_TEAMS_PROC_BIND", "KMP_INITIAL_THREAD_BIND"),
    # Where libomp finds the cores that it binds to.
    *("KMP_TOPOLOGY_METHOD", "KMP_CPUINFO_FILE"),
    # It hides what libomp says of a binding that it did not do.
    "KMP_WARNINGS",
)
THREADS_RESERVE = "OMP_THREADS_RESERVE"
_COUNTING = (
    *(OMP_NUM_THREADS, "OMP_DYNAMIC", "OMP_THREAD_LIMIT", THREADS_RESERVE),
    *("OMP_NUM_TEAMS", "OMP_TEAMS_THREAD_LIMIT", "KMP_TEAMS_THREAD_LIMIT"),
    *("KMP_ALL_THREADS", "KMP_MAX_THREADS", "KMP_DEVICE_THREAD_LIMIT", "KMP_DYNAMIC_MODE"),
)
_SCHEDULING = ("OMP_SCHEDULE", "KMP_SCHEDULE", "KMP_FORCE_MONOTONIC_DYNAMIC_SCHEDULE")
WAITING = "OMP_WAIT_POLICY"
_WAITING_OF_RUNTIMES = (
    *("GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY", "KMP_USE_YIELD"),
    *("KMP_SPIN_BACKOFF_PARAMS", "KMP_USER_LEVEL_MWAIT", "KMP_MWAIT_HINTS", "KMP_TPAUSE"),
)
_DECIDED = frozenset((*_PLACING, *_COUNTING, *_SCHEDULING, WAITING))
# OpenMP 6.0, section 4.2: a variable for the host and all devices, and for devices alone.
_FOR_ALL, _FOR_DEVICES = re.compile(r"_ALL$"), re.compile(r"_DEV(?:_[0-9]+)?$")

# OpenMP 6.0, section 4.3.10: a number is of `structured`; a word without one has all that are left.
_RESERVED = re.compile(r"(structured|free_agent)(?:\((\d{1,6})\))?", re.ASCII | re.IGNORECASE)
_ALL_THREADS = 1_000_000


def free_agents(variables: Mapping[str, str], threads: int) -> int:
    """Return how many free agents there may be beside a team of `threads` with these variables."""
    value = variables.get(THREADS_RESERVE, variables.get(f"{THREADS_RESERVE}_ALL", "")).strip()
    words = [word.strip() for word in value.split(",")]
    if value.isdecimal():
        words = [f"structured({value})"]
    reserved = {"structured": 0, "free_agent": 0}
    for word in words:
        match = _RESERVED.fullmatch(word)
        if match is None:
            return 0
        reserved[match[1].lower()] = int(match[2] or _ALL_THREADS)
    return max(0, reserved["structured"] - threads) + reserved["free_agent"]


def is_removed(name: str, wait_policy: str) -> bool:
    """Whether a program does not get this variable of the shell under a study's wait policy."""
    if name.startswith(_OF_LAUNCHERS):
        return True
    if not name.startswith(OPENMP_PREFIXES) or _FOR_DEVICES.search(name):
        return False
    base = _FOR_ALL.sub("", name)
    return base in _DECIDED or (base in _WAITING_OF_RUNTIMES and wait_policy != RUNTIME_DEFAULT)
