"""The Spack files agree with the project, and where they would not, the check says it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools import ROOT
from tools.check_spack import mistakes

FILES = [
    "spack.yaml",
    "pyproject.toml",
    "CMakeLists.txt",
    "spack_repo",
    "configs/spack",
    "apps/cmake",
]
RECIPE = "spack_repo/pinstudy/packages/pinstudy/package.py"
APPS = "spack_repo/pinstudy/packages/pinstudy_apps/package.py"
TWO = "configs/spack/two-compilers.yaml"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of all that the check reads."""
    root = tmp_path / "a check out"
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name)
        else:
            shutil.copy(ROOT / name, root / name)
    return root


def change(file: Path, old: str, new: str) -> int:
    """Replace the one place with this text, and return its line."""
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{file.name} has {text.count(old)} times: {old}"
    file.write_text(text.replace(old, new), encoding="utf-8")
    return text[: text.index(old)].count("\n") + 1


def test_the_shipped_files_agree() -> None:
    assert mistakes(ROOT) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        pytest.param(
            "spack.yaml", "concretizer:", "concretiser:", "did you mean 'concretizer'", id="key"
        ),
        pytest.param("spack.yaml", "unify: true", "unify: yes", "expected true, false", id="value"),
        pytest.param(
            "spack.yaml", "- likwid ", "- likwit ", "did you mean 'likwid'", id="package"
        ),
        pytest.param(
            "spack.yaml", "lulesh+openmp", "lulesh+openmpi", "variant of lulesh", id="variant"
        ),
        pytest.param(
            "spack.yaml", "- pinstudy ", "- pinstudy+bench ", "did you mean 'benchmark'",
            id="our own",
        ),
        pytest.param(
            "spack.yaml", "- cli11 ", "- cli11@9.9 ", "9.9 is asked for", id="a version to come"
        ),
        pytest.param("spack.yaml", "tag: v2", "tag: v1", "expected v2026.06.0", id="tag"),
        pytest.param("spack.yaml", "type: runpath", "type: rpath", "expected runpath", id="rpath"),
        pytest.param(
            "spack.yaml", "./spack_repo/pinstudy", "./spack_repo", "the path of", id="repository"
        ),
        pytest.param(
            "spack.yaml", "spec: pinstudy@main", "spec: pinstudy@man", "is not a version",
            id="branch",
        ),
        pytest.param(
            "spack.yaml", "path: .\n    pinstudy-apps", "path: ..\n    pinstudy-apps",
            "path of the checkout", id="developed folder",
        ),
        pytest.param("spack.yaml", "optional: true", "optional: false", "optional", id="site file"),
        pytest.param("spack.yaml", "  py-pandas:", "  py-panda:", "'py-pandas'", id="requirement"),
        pytest.param(
            TWO, "    pinstudy-apps:", "    pinstudy-app:", "'pinstudy-apps'", id="developed recipe"
        ),
        pytest.param(TWO, "'pinstudy %gcc'", "'pinstudy %gc'", "compiler 'gc'", id="view"),
        pytest.param(TWO, "exclude: [lulesh]", "exclude: [lulsh]", "'lulesh'", id="view's exclude"),
        pytest.param(
            "spack_repo/pinstudy/repo.yaml", "namespace: pin", "namespace: pen", "namespace",
            id="namespace",
        ),
        pytest.param("spack_repo/pinstudy/repo.yaml", "api: v2.0", "api: v1.0", "api", id="api"),
        pytest.param(
            APPS, "class PinstudyApps(", "class Pinstudyapps(", "the class PinstudyApps", id="class"
        ),
        pytest.param(APPS, '"BSD-3-Clause"', '"MIT"', "the licence is", id="licence"),
        pytest.param(
            APPS, 'version("main", branch="main")', 'version("9.0")', "version 9.0 is newer",
            id="release to come",
        ),
        pytest.param(
            APPS, 'depends_on("cli11"', 'dependson("cli11"', "'dependson' is not a directive",
            id="directive",
        ),
        pytest.param(
            APPS, 'depends_on("gmake", type=', 'depends_on("gmake", typ=', "did you mean 'type'",
            id="keyword",
        ),
        pytest.param(
            RECIPE, '"py-rich@13:"', '"py-rich@12:"', "from 12 on, in pyproject.toml from 13",
            id="lower bound",
        ),
        pytest.param(
            RECIPE, '"py-rich@13:"', '"py-rich@13:14"', "any version",
            id="upper bound",
        ),
        pytest.param(RECIPE, '"python@3.10:"', '"python@3.9:"', "from 3.9 on", id="Python"),
        pytest.param(
            RECIPE, '"py-tabulate@0.9:"', '"py-tabulat@0.9:"', "did you mean",
            id="requirement's name",
        ),
        pytest.param(APPS, '"cmake@3.20:"', '"cmake@3.18:"', "from 3.18 on", id="CMake"),
        pytest.param(
            APPS, '"benchmark", when="+benchmark"', '"benchmark", when="+bench"',
            "variant 'bench'", id="condition",
        ),
        pytest.param(
            APPS, '"PINSTUDY_WITNESS"', '"PINSTUDY_WITNES"', "did you mean 'PINSTUDY_WITNESS'",
            id="option",
        ),
        pytest.param(
            APPS, '("PINSTUDY_GOOGLE_BENCHMARK", "benchmark")',
            '("PINSTUDY_GOOGLE_BENCHMARK", "bench")', "variant 'bench'", id="option's variant",
        ),
        pytest.param(
            APPS, '("PINSTUDY_MARCH", "")', '("PINSTUDY_MARCH", "native")', "PINSTUDY_MARCH",
            id="target",
        ),
        pytest.param(
            RECIPE, "import PinstudyApps", "import PinstudyApp", "import of PinstudyApp", id="base"
        ),
        pytest.param(
            RECIPE, "class Pinstudy(PinstudyApps)", "class Pinstudy(Package)", "imported class",
            id="base that is not imported",
        ),
        pytest.param(APPS, "ctest(", "ctset(", "defines 'ctset'", id="name in a method"),
        pytest.param(
            APPS, "import pathlib", "import subprocess", "import of subprocess", id="import"
        ),
        pytest.param(APPS, "def check(self):", "def check(self:", "no Python", id="syntax"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_file_and_line(
    checkout: Path, name: str, old: str, new: str, said: str
) -> None:
    line = change(checkout / name, old, new)

    found = mistakes(checkout)

    assert any(
        problem.path == str(checkout / name) and problem.line == line and said in problem.message
        for problem in found
    ), [str(problem) for problem in found]


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        pytest.param(
            "pyproject.toml", '"rich>=13"', '"rich>=14"', "from 13 on, in pyproject.toml from 14",
            id="a bound was raised",
        ),
        pytest.param(
            "pyproject.toml", '"rich>=13",', '"rich>=13",\n    "attrs>=22",', "requires py-attrs",
            id="a requirement was added",
        ),
        pytest.param(
            "pyproject.toml", '    "tabulate>=0.9",\n', "", "does not require py-tabulate",
            id="a requirement was dropped",
        ),
        pytest.param(
            "CMakeLists.txt", "option(PINSTUDY_WITNESS", "option(PINSTUDY_HELPER",
            "'PINSTUDY_WITNESS' is not known", id="an option was renamed",
        ),
        pytest.param(
            "CMakeLists.txt", "VERSION 3.20)", "VERSION 3.25)", "CMakeLists.txt from 3.25",
            id="CMake is needed newer",
        ),
        pytest.param(
            "CMakeLists.txt", "VERSION 0.1.0", "VERSION 0.2.0", "CMakeLists.txt is of 0.2.0",
            id="only one version was raised",
        ),
        pytest.param(
            "apps/cmake/PinstudyPackages.cmake", "find_package(CLI11", "find_package(fmt",
            "CMake looks for fmt", id="a library was added",
        ),
    ],
)  # fmt: skip
def test_a_change_of_the_project_that_the_recipe_does_not_follow_is_found(
    checkout: Path, name: str, old: str, new: str, said: str
) -> None:
    change(checkout / name, old, new)

    assert any(
        problem.path in (str(checkout / RECIPE), str(checkout / APPS)) and said in problem.message
        for problem in mistakes(checkout)
    )


def test_a_bound_that_spack_cannot_meet_is_found(checkout: Path) -> None:
    change(checkout / "pyproject.toml", '"rich>=13', '"rich>=16')
    change(checkout / RECIPE, "py-rich@13", "py-rich@16")

    assert [problem.message for problem in mistakes(checkout)] == [
        "py-rich 16 is asked for, and Spack's newest is 15.0.0"
    ]


def test_a_recipe_is_read_and_never_run(checkout: Path, tmp_path: Path) -> None:
    change(
        checkout / APPS,
        "class PinstudyApps(",
        f"open({str(tmp_path / 'ran')!r}, 'w').close()\n\n\nclass PinstudyApps(",
    )

    assert "only imports and one class" in mistakes(checkout)[0].message
    assert not (tmp_path / "ran").exists()


def test_what_is_missing_is_said(checkout: Path) -> None:
    (checkout / "spack.yaml").unlink()
    (checkout / "spack_repo/pinstudy/repo.yaml").unlink()
    (checkout / RECIPE).rename(checkout / "spack_repo/pinstudy/packages/pinstudy/recipe.py")

    said = {problem.path.removeprefix(f"{checkout}/") for problem in mistakes(checkout)}

    assert {"spack.yaml", "spack_repo/pinstudy/repo.yaml", RECIPE} <= said


def test_the_command_prints_mistakes_and_fails_with_them(checkout: Path) -> None:
    line = change(checkout / "spack.yaml", "- hwloc ", "- hwlok ")

    done = subprocess.run(
        [sys.executable, "-m", "tools.check_spack", str(checkout)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1
    first, last = done.stdout.splitlines()
    assert first.startswith(f"spack.yaml:{line}:5: package 'hwlok' is not known")
    assert last == "Spack files: 1 mistake"
