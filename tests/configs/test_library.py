"""Studies, apps and mappings by name and path, and those that come with the project."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from pinstudy.base.errors import ConfigError, UserError
from pinstudy.configs import library
from pinstudy.configs.mapping import BINDINGS, SELECTIONS
from pinstudy.configs.study import CURRENT_GOVERNOR
from tests.configs.shelves import LU, STUDY


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.yaml").write_text(STUDY.replace("small", "quick"))
    return tmp_path


def test_a_study_is_found_by_its_path_and_the_app_beside_it_first(folder: Path) -> None:
    study = library.load_study(folder / "mine.yaml")
    assert study.name == "mine"
    assert study.apps[0].app.sizes["quick"].arguments == ("1500",)
    (folder / "apps").mkdir()
    (folder / "apps" / "lu.yaml").write_bytes(LU.replace(b"small", b"quick"))
    study = library.load_study(str(folder / "mine.yaml"))
    assert study.apps[0].app.sizes["quick"].arguments == ("100",)


def test_an_app_named_by_its_file_is_found_from_the_study_s_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "own").mkdir()
    (folder / "own" / "other.yaml").write_bytes(LU)
    text = STUDY.replace("app: lu", "app: own/other.yaml")
    (folder / "mine.yaml").write_text(text)
    monkeypatch.chdir("/")

    assert library.load_study(folder / "mine.yaml").apps[0].app.name == "other"


def test_messages_name_a_file_below_the_working_directory_by_its_relative_path(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "bad.yaml").write_text(STUDY)
    monkeypatch.chdir(folder)

    with pytest.raises(ConfigError) as error:
        library.load_study(folder / "bad.yaml")

    assert str(error.value).startswith("bad.yaml:5:13: size 'small' is not known to app 'lu'")


def test_an_unknown_app_is_reported_with_the_folders_where_it_was_looked_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "mine.yaml").write_text(STUDY.replace("app: lu", "app: mesher"))
    monkeypatch.chdir(folder)

    with pytest.raises(ConfigError) as error:
        library.load_study("mine.yaml")

    shelf = library.CONFIGS / "apps"
    assert str(error.value).startswith("mine.yaml:3:10: app 'mesher' is not known")
    assert str(error.value).endswith(f"; looked in apps, {shelf}, {shelf / 'workloads'}")


@pytest.mark.parametrize("at", ["mine.yaml", "", "apps", "apps/own.yaml"])
def test_apps_are_found_from_a_study_a_folder_or_their_file(folder: Path, at: str) -> None:
    own = folder / "apps" / "own.yaml"
    own.parent.mkdir()
    own.write_bytes(LU)
    found = library.apps_at(str(folder / at))
    assert {(path, app.name) for path, app in found.items()} == {(own, "own")}
    own.write_bytes(LU.replace(b"title:", b"titel:"))
    if at == "apps/own.yaml":
        with pytest.raises(ConfigError, match=r"own.yaml:\d+:1: key 'titel' is not known"):
            library.apps_at(str(own))


@pytest.mark.parametrize(
    ("find", "name", "message"),
    [
        *(
            (library.apps_at, f"there/{at}", message)
            for at, message in (
                ("none.yaml", "no such file or folder"),
                ("x\0y", "no such file or folder"),
                ("mine.yaml", "apps: no app is there; expected its file in apps/ beside the study"),
                ("", "no app is there"),
            )
        ),
        (library.load_app, "lulsh", "did you mean 'lulesh'"),
        *(
            (library.load_study, name, message)
            for name, message in (
                ("qiuck", "study 'qiuck' is not known; did you mean 'quick'? (known: "),
                ("./none.yaml", "none.yaml: cannot be read: No such file or directory"),
                ("/dev/null/x.yaml", "/dev/null/x.yaml: cannot be read: Not a directory"),
                ("/dev/", "/dev: is not a file; expected a YAML file"),
                ("/dev/null", "is not a file"),
                ("x\0y.yaml", "cannot be read"),
                ("", "study '' is not known"),
            )
        ),
    ],
)
def test_what_is_not_there_is_reported_in_one_line(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    find: Callable[[str], object],
    name: str,
    message: str,
) -> None:
    monkeypatch.chdir(folder.parent)
    with pytest.raises(UserError) as error:
        find(name.replace("there", folder.name))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


# Output as the programs' specification lists it, with the numbers of one run: LULESH 2.0.3 prints
# the elapsed time with eight digits as "overall", and mislabels thousands of zones as zones.
LULESH = """\
Running problem size 10^3 per domain until completion
Run completed:
   Problem size        =  10
   MPI tasks           =  1
   Iteration count     =  231
   Final Origin Energy =  2.720531e+04
   Testing Plane 0 of Energy Array on rank 0:
        MaxAbsDiff   = 3.637979e-12
        TotalAbsDiff = 1.809061e-11
        MaxRelDiff   = 3.938811e-14

Elapsed time         =       0.09 (s)
Grind time (us/z/c)  = 0.39983553 (per dom)  (0.092362007 overall)
FOM                  =  2501.0284 (z/s)

"""
LULESH_METRICS = {
    "elapsed": 0.092362007, "fom": 2501.0284, "iterations": 231, "origin_energy": 27205.31,
}  # fmt: skip
MANDELBROT = (
    "\n\t# THREADS NPOINTS AREA \t\t\tERROR \t\tTIME (secs.)\n"
    "\t2 \t4092 \t  1.485978739003   0.023229763225 \t0.033310\n\n"
    "Timer Total_time     0.033310\n\nPoints inside: 1081\n"
)
MANDELBROT_ORIGINAL = (
    "Timer Total_time     0.017086\n\n\n \t# THREADS NPOINTS AREA \t\t\tERROR \t\tTIME (secs.)\n"
    "\t2 \t100 \t  1.462500000000   0.146250000000 \t0.017086\n"
)
LU_ORIGINAL = "Argument size 100\nRunning ...\n\nTimer EXE_TIME     0.000098\n\n"
LU_OUTPUT = (
    "Argument size 1000\nRunning ...\n\nTimer EXE_TIME     0.105700\n\nRate: 6.307 Gflop/s\n"
)


@pytest.mark.parametrize(
    ("app", "output", "values"),
    [
        ("lulesh", LULESH, LULESH_METRICS),
        ("lulesh-llnl", LULESH, LULESH_METRICS),
        ("mandelbrot", MANDELBROT, {"elapsed": 0.03331, "area": 1.485978739003, "inside": 1081}),
        ("mandelbrot-ompscr", MANDELBROT_ORIGINAL, {"elapsed": 0.017086, "area": 1.4625}),
        ("lu", LU_OUTPUT, {"elapsed": 0.1057, "rate": 6.307}),
        ("lu-ompscr", LU_ORIGINAL, {"elapsed": 0.000098}),
    ],
)
def test_patterns_find_the_numbers_in_a_program_s_output(
    app: str, output: str, values: dict[str, float]
) -> None:
    numbers = {}
    for metric in library.load_app(app).metrics:
        (match,) = re.finditer(metric.pattern, output, re.MULTILINE)
        numbers[metric.name] = float(match[1])

    assert numbers == values


# Cycles and origin energies: LLNL-TR-641973, section 4.3; of 20, and of 50 cycles of it, as the
# original prints them, built by GCC and by Clang.
LULESH_RESULTS = {
    ("-s", "10"): (231, 2.720531e04),
    ("-s", "20"): (575, 9.668856e04),
    ("-s", "20", "-i", "50"): (50, 6.483837e05),
    ("-s", "30"): (932, 2.025075e05),
    ("-s", "45"): (1477, 4.234875e05),
    ("-s", "70"): (2402, 9.417145e05),
}
# Points inside, of so many: OmpSCR 2.0 with glibc's random().
INSIDE = {4092: 1081, 8192: 2176, 100000: 26499, 500000: 133171}


def test_the_originals_must_come_to_the_known_results() -> None:
    for size in library.load_app("lulesh-llnl").sizes.values():
        cycles, energy = LULESH_RESULTS[size.arguments]
        assert size.expect == {"iterations": (cycles, cycles), "origin_energy": (energy, energy)}
    # Mandelbrot may find one point more or less, and none beyond three.
    for size in library.load_app("mandelbrot-ompscr").sizes.values():
        points = int(size.arguments[0])
        low, high = size.expect["area"]
        for inside in (INSIDE[points] - 1, INSIDE[points], INSIDE[points] + 1):
            assert low <= 5.625 * inside / points <= high
        assert 5.625 * (INSIDE[points] - 4) / points < low
        assert 5.625 * (INSIDE[points] + 4) / points > high


@pytest.mark.parametrize(
    ("original", "own"),
    [("lulesh-llnl", "lulesh"), ("mandelbrot-ompscr", "mandelbrot"), ("lu-ompscr", "lu")],
)
def test_an_original_is_compared_with_our_own_program_of_its_algorithm(
    original: str, own: str
) -> None:
    theirs, ours = library.load_app(original), library.load_app(own)
    assert theirs.algorithm == own
    assert theirs.obtain == "make originals"
    assert ours.implementation.startswith("pinstudy's own ")
    common = theirs.sizes.keys() & ours.sizes.keys()
    assert {"quick", "paper"} <= common
    for name in common:
        assert theirs.sizes[name].arguments == ours.sizes[name].arguments


FIVE = ["unpinned", "pcores-set", "pcores-pin", "ecores-set", "ecores-pin"]


def test_the_published_mappings_come_first_and_each_binding_and_selection_has_one() -> None:
    mappings = library.list_mappings()
    assert [mapping.name for mapping in mappings[:5]] == FIVE
    assert {mapping.binding for mapping in mappings} == set(BINDINGS)
    assert {mapping.selection for mapping in mappings} >= set(SELECTIONS) - {"lpecpus"}
    assert all(mapping.summary for mapping in mappings)


PAPER = {
    "-serial": {("lulesh", "serial", 1), ("mandelbrot", "serial", 1), ("lu", "serial", 1)},
    "-parallel": {
        ("lulesh", "libgomp", 2), ("lulesh", "libgomp", 8),
        ("mandelbrot", "libgomp", 2), ("mandelbrot", "libgomp", 8),
    },
}  # fmt: skip
PAPER[""] = PAPER["-serial"] | PAPER["-parallel"]
# The published command has -q, which hides the result; without it each run's result is checked.
ARGUMENTS = {"lulesh": ("-s", "45"), "mandelbrot": ("500000",), "lu": ("5000",)}
ORIGINALS = {"lulesh": "lulesh-llnl", "mandelbrot": "mandelbrot-ompscr", "lu": "lu-ompscr"}


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("part", PAPER)
def test_the_published_design_is_complete(part: str, own: bool) -> None:
    name = f"paper{'-own' if own else ''}{part}"
    study = library.load_study(name)

    algorithms = {app: app if own else ORIGINALS[app] for app in ARGUMENTS}
    cases = {
        (choice.app.name, build.name, threads)
        for choice in study.apps
        for build in choice.builds
        for threads in choice.threads
    }
    assert cases == {(algorithms[app], build, threads) for app, build, threads in PAPER[part]}
    for choice in study.apps:
        algorithm = choice.app.algorithm or choice.app.name
        assert [size.arguments for size in choice.sizes] == [ARGUMENTS[algorithm]]
    assert [mapping.name for mapping in study.mappings] == FIVE
    assert study.governors == ("performance", "powersave")
    assert study.repetitions == 10
    assert study.wait_policies == ("runtime-default",)


SEVEN = [*FIVE, "mixed-set", "mixed-pin"]


@pytest.mark.parametrize(("name", "app"), [("paper-vm", "lulesh-llnl"), ("paper-own-vm", "lulesh")])
def test_the_published_scenario_of_guests_is_complete(name: str, app: str) -> None:
    study = library.load_study(name)
    assert study.vm
    assert (study.vm.cpus, study.vm.memory_mib) == (8, 16 * 1024)
    assert [mapping.name for mapping in study.vcpu_mappings] == SEVEN
    (choice,) = study.apps
    assert (choice.app.name, choice.threads) == (app, (4,))
    assert [size.arguments for size in choice.sizes] == [("-s", "45")]
    assert [mapping.name for mapping in study.mappings] == ["unpinned"]
    assert (study.repetitions, study.wait_policies) == (10, ("runtime-default",))


def test_the_small_scenario_has_the_same_mappings_and_fits_a_small_node() -> None:
    study = library.load_study("vm")
    assert study.vm and study.vm.cpus == 2 and study.vm.memory_mib <= 1024
    assert [mapping.name for mapping in study.vcpu_mappings] == SEVEN
    assert max(count for choice in study.apps for count in choice.threads) <= study.vm.cpus


def test_the_first_look_fits_into_three_minutes() -> None:
    study = library.load_study("quick")
    assert study.decide is not None
    assert study.decide.time_budget_s == 180
    runs = study.decide.first + study.warmup
    # A tenth of a second around each run for the harness, on a node half as fast as the estimate.
    seconds = sum(
        runs * len(study.mappings) * (2 * (size.estimate_s or 0) + 0.1)
        for choice in study.apps
        for size in choice.sizes
        for _ in choice.threads
    )

    assert study.governors == (CURRENT_GOVERNOR,)
    assert seconds <= 180


def test_every_shipped_file_begins_with_a_line_that_says_what_it_is_about() -> None:
    for path in library.CONFIGS.rglob("*.yaml"):
        about = path.read_text().splitlines()[1 if path.parent.name == "studies" else 0]
        assert re.match(r"# .{20,98}$", about), path
        if path.name.startswith("paper"):
            assert "Galante and Oyamada" in about and "2025" in about


def test_our_programs_name_their_builds_alike_and_fail_their_check_alike() -> None:
    for name in ("lulesh", "mandelbrot", "lu"):
        app = library.load_app(name)
        assert {key: (build.program, build.runtime) for key, build in app.builds.items()} == {
            "serial": (f"{name}-serial", "none"),
            "libgomp": (f"{name}-libgomp", "libgomp"),
            "libomp": (f"{name}-libomp", "libomp"),
        }
        assert app.check.failed_status == 3
        assert all(size.estimate_s for size in app.sizes.values())


def test_spack_gets_the_programs_that_the_survey_runs() -> None:
    text = (library.CONFIGS / "spack/workloads.yaml").read_text(encoding="utf-8")
    specs = {
        name: set(words) for name, *words in map(str.split, yaml.safe_load(text)["spack"]["specs"])
    }
    obtained: dict[str, set[str]] = {}
    for choice in library.load_study("survey").apps:
        command = choice.app.obtain.removeprefix("spack install ")
        obtained.setdefault(command.split()[0], set()).update(command.split()[1:])
        if choice.app.name == "npb":
            builds = {build.name for build in choice.builds}

    values = dict(word.split("=") for word in specs["npb"])
    names, classes = (values[key].split(",") for key in ("names", "classes"))
    assert builds == {f"{name}.{letter}" for name in names for letter in classes}
    specs["npb"] = {"implementation=openmp"}
    obtained["npb"] -= {"classes=A,B,C"}
    assert obtained == specs
