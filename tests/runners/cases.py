"""Cases, apps and studies made by hand for tests."""

from __future__ import annotations

from dataclasses import replace

from pinstudy.configs.app import App, Build, Check, Metric, Size
from pinstudy.configs.mapping import Mapping
from pinstudy.configs.study import AppChoice, Study
from pinstudy.runners.execution.execute import Observation
from pinstudy.runners.execution.witness import Ending
from pinstudy.runners.plan.case import Case

SERIAL = Build("serial", "demo-serial", "none")
LIBGOMP = Build("libgomp", "demo-libgomp", "libgomp")
SMALL = Size("small", ("-s", "10"), estimate_s=2.0)
DEMO = App(
    name="demo",
    title="a program for tests",
    builds={"serial": SERIAL, "libgomp": LIBGOMP},
    sizes={"small": SMALL},
    arguments=("-q", "{size}"),
    metrics=(Metric("elapsed_s", r"time = (\S+)", "s"),),
    check=Check(failed_status=3),
    limit_s=10.0,
)
UNPINNED = Mapping("unpinned", "all", "none")
PCORES_SET = Mapping("pcores-set", "pcores", "set")
PCORES_PIN = Mapping("pcores-pin", "pcores", "pin")
ECORES_SET = Mapping("ecores-set", "ecores", "set")
ECORES_PIN = Mapping("ecores-pin", "ecores", "pin")
PUBLISHED = (UNPINNED, PCORES_SET, PCORES_PIN, ECORES_SET, ECORES_PIN)
LASTED = Ending(0, 1.0, 0.9, 0.1, 0)


def case(**changes: object) -> Case:
    """Return a case of the demo app, two pinned threads on CPUs 4 and 2, changed as asked."""
    made = Case(
        table=1,
        number=3,
        app=DEMO,
        build=LIBGOMP,
        size=SMALL,
        threads=2,
        mapping=PCORES_PIN,
        mechanism="omp-places",
        cpus=(4, 2),
        governor="current",
        schedule="static",
        wait_policy="active",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def study(**changes: object) -> Study:
    """Return a study of the demo app with the five published mappings, changed as asked."""
    made = Study(
        name="demo",
        title="a study for tests",
        apps=(AppChoice(DEMO, (LIBGOMP,), (SMALL,), (2,)),),
        mappings=PUBLISHED,
        governors=("current",),
        repetitions=3,
        warmup=1,
        order="randomised-blocks",
        seed=1,
        wait_policies=("active",),
        collect=("perf",),
        events=(),
        path="demo.yaml",
        digest="d" * 64,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def observation(ending: Ending = LASTED, **changes: object) -> Observation:
    """Return what is seen of a program that prints nothing, changed as asked."""
    made = Observation(ending, False, "", "", (), 1, "", "", ())
    return replace(made, **changes)  # type: ignore[arg-type]
