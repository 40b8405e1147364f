"""The trial itself: what is asked of Spack, and of what it made."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from tools.spack_bounds import in_recipe
from tools.spack_trial import externals
from tools.spack_trial.steps import FailedStepError, Steps

# Starts a command in an environment as its users do: by what `spack env activate` says.
ACTIVATED = 'eval "$("$1" -C "$2" env activate --sh "$3")" && shift 3 && exec "$@"'

STUDY = """\
# A little of everything that the view has.
title: trial of an installation by Spack
apps:
  - {app: lu, variants: [libgomp], sizes: n500, threads: [1, 2]}
  - {app: lulesh-llnl, variants: [site], sizes: s10, threads: [1]}
mappings: [scheduler]
governors: current
repetitions: 2
"""


class Trial:
    """A folder with a copy of the checkout, Spack's settings and stores, and the steps taken."""

    def __init__(self, spack: Path, work: Path, steps: Steps) -> None:
        self._spack = spack
        self._work = work
        self._steps = steps
        self._checkout = work / "checkout"
        self._version: tuple[int, ...] = ()
        self._built = os.environ.get("PINSTUDY_SPACK_BUILD", "").split()

    def concretize_from_sources(self) -> None:
        """Ask for everything from sources; nothing is built, and nothing installed is used."""
        compilers = externals.compilers()
        if "gcc" not in compilers:
            raise FailedStepError("GCC with C++ is needed")
        self._settings("plain", {"packages": compilers})
        env = ("-e", str(self._checkout))
        said = self._run("plain", "version", "--version", limit_s=60)
        self._version = tuple(map(int, re.findall(r"\d+", said)[:2]))
        print(f"  Spack {said.strip()}")
        if self._version < (1, 0):
            raise FailedStepError("Spack 1.0 or newer is needed")
        audited = ("pinstudy", "pinstudy-apps")
        self._run("plain", "audit of the recipes", *env, "audit", "packages", *audited)
        self._run("plain", "audit of the settings", *env, "audit", "configs")
        fortran = compilers["gcc"]["externals"][0]["extra_attributes"]["compilers"].get("fortran")
        if fortran is None:
            print("concretization from sources: left out, because gfortran is not installed")
            return
        self._run("plain", "concretization", *env, "concretize", "--force", limit_s=1800)
        self._run("plain", "fake installation", *env, "install", "--fake", limit_s=1800)
        shutil.rmtree(self._checkout / ".spack-env")
        (self._checkout / "spack.lock").unlink()

    def install_the_environment(self) -> None:
        """Install spack.yaml with this machine's externals, with tests."""
        self._settings("real", {})
        prefix = self._python()
        packages = {
            **externals.compilers(),
            **externals.distribution(self._built),
            **externals.python_packages(prefix, self._python_names()),
        }
        for _, entry in sorted(packages.items()):
            if self._version < (1, 1):
                entry["externals"][0].pop("dependencies", None)
            print(f"  external: {entry['externals'][0]['spec']}")
        site = self._checkout / "spack-site.yaml"
        site.write_text(yaml.safe_dump({"packages": packages}), encoding="utf-8")
        env = ("-e", str(self._checkout))
        self._run("real", "concretization", *env, "concretize", "--force", limit_s=1800)
        install = (*env, "install", "--show-log-on-error", "--test=root")
        self._run("real", "installation", *install, limit_s=3600)
        self._run("real", "tests of what is installed", *env, "test", "run", "pinstudy")

    def use_the_view(self) -> None:
        """Use the installation as a user does, in a folder of its own."""
        # 1 says that something cannot be measured here, as in most virtual machines.
        self._in(self._checkout, "doctor", "pinstudy", "doctor", statuses=(0, 1))
        self._expect_programs(
            self._checkout, "lu-libgomp", "lulesh-serial", "lulesh2.0", "lu-ompscr-libgomp"
        )
        study = self._work / "trial.yaml"
        study.write_text(STUDY, encoding="utf-8")
        self._in(self._checkout, "study", "pinstudy", "run", str(study))
        self._expect_good_records(self._elsewhere / "results")
        make = ("make", "-C", str(self._checkout), "study", f"STUDY={study}")
        self._in(self._checkout, "make study", *make)
        self._expect_good_records(self._checkout / "results")
        self._swap_the_runtime()

    def install_with_two_compilers(self) -> None:
        """Install configs/spack/two-compilers.yaml, and look for all variants in its view."""
        if "llvm" not in externals.compilers():
            print("two compilers: left out, because clang is not installed")
            return
        env = self._work / "two"
        file = self._checkout / "configs" / "spack" / "two-compilers.yaml"
        self._run("real", "second environment", "env", "create", "-d", str(env), str(file))
        shutil.copy(self._checkout / "spack-site.yaml", env)
        self._run("real", "concretization", "-e", str(env), "concretize", limit_s=1800)
        install = ("-e", str(env), "install", "--show-log-on-error")
        self._run("real", "installation", *install, limit_s=3600)
        self._expect_programs(env, "lu-serial", "lu-libgomp", "lu-libomp")
        self._in(env, "plan", "pinstudy", "plan", "quick")
        for compiler in ("gcc", "llvm"):
            program = env / ".spack-env" / compiler / "bin" / "lulesh2.0"
            self._in(env, f"lulesh by {compiler}", str(program), "-s", "5")

    @property
    def _elsewhere(self) -> Path:
        folder = self._work / "another folder"
        folder.mkdir(exist_ok=True)
        return folder

    def _settings(self, name: str, more: Mapping[str, Any]) -> None:
        """Write a scope of Spack's settings with a store and folders of its own."""
        scope, stores = self._work / name, self._work / f"{name}-spack"
        scope.mkdir()
        config = {
            "install_tree": {"root": str(stores / "store")},
            "build_stage": [str(stores / "stage")],
            "test_stage": str(stores / "test"),
            "source_cache": str(self._work / "sources"),
            "misc_cache": str(self._work / "misc"),
            "build_jobs": 2,
        }
        for section, content in {"config": config, **more}.items():
            text = yaml.safe_dump({section: content})
            (scope / f"{section}.yaml").write_text(text, encoding="utf-8")

    def _run(self, scope: str, title: str, *arguments: str, limit_s: float = 600) -> str:
        command: list[str | Path] = [self._spack, "-C", self._work / scope, *arguments]
        return self._steps.run(f"{title} ({scope})", command, self._work, limit_s)

    def _in(
        self,
        env: Path,
        title: str,
        *command: str,
        statuses: Collection[int] = (0,),
        **environment: str,
    ) -> str:
        """Run a command in the activated environment, in another folder than the checkout."""
        activated: list[str | Path] = [
            "bash",
            "-c",
            ACTIVATED,
            "bash",
            self._spack,
            self._work / "real",
            env,
        ]
        environment = {"PINSTUDY_NO_SYSTEM_PACKAGES": "1", **environment}
        command_line = [*activated, *command]
        return self._steps.run(title, command_line, self._elsewhere, 900, statuses, **environment)

    def _python_names(self) -> list[str]:
        return [f"py-{name}" for name in in_recipe() if name != "python"]

    def _python(self) -> Path:
        """Make a virtual environment of the recipe's packages, none newer than Spack's."""
        prefix = self._work / "python"
        # matplotlib is held back by spack.yaml.
        newest = {name: externals.NEWEST[name] for name in self._python_names()}
        wanted = [f"{name.removeprefix('py-')}<={version}" for name, version in newest.items()]
        wanted = [name for name in wanted if not name.startswith("matplotlib")]
        base = Path(sys.base_prefix, "bin", "python3")
        self._steps.run("virtual environment", [base, "-m", "venv", prefix], self._work)
        pip: list[str | Path] = [prefix / "bin" / "python3", "-m", "pip", "install", "--quiet"]
        packages = [*wanted, "matplotlib<3.11"]
        self._steps.run("Python packages", [*pip, *packages], self._work, 1800)
        return prefix

    def _expect_programs(self, env: Path, *names: str) -> None:
        said = self._in(env, "apps", "pinstudy", "apps", "--json")
        listed = json.loads(said[said.index("[") :])
        found = [Path(v["program"]) for app in listed for v in app["variants"].values()]
        for name in names:
            if not any(path.name == name and path.is_file() for path in found):
                raise FailedStepError(f"pinstudy in the environment {env} does not find {name}")

    def _expect_good_records(self, results: Path) -> None:
        records = [
            json.loads(line)
            for file in results.glob("*/*/records/*.jsonl")
            for line in file.read_text(encoding="utf-8").splitlines()
        ]
        runs = [record for record in records if record.get("status")]
        if not runs or any(record["status"] != "ok" for record in runs):
            raise FailedStepError(f"not all runs are ok in {results}: {len(runs)} records")

    def _swap_the_runtime(self) -> None:
        """Give libomp in the place of libgomp by LD_LIBRARY_PATH, which only runpath allows."""
        location = ("-e", str(self._checkout), "location", "-i", "llvm-openmp")
        prefix = Path(self._run("real", "libomp", *location).split()[-1])
        libomp = next(prefix.glob("lib*/libomp.so*"))
        alias = self._work / "alias"
        alias.mkdir()
        (alias / "libgomp.so.1").symlink_to(libomp)
        shown = ("env", "OMP_DISPLAY_ENV=true")
        ours = (*shown, "lu-libgomp", "100")
        usual = self._in(self._checkout, "libgomp", *ours)
        other = (f"LD_LIBRARY_PATH={alias}", "lu-libgomp", "100")
        swapped = self._in(self._checkout, "libomp in its place", *shown, *other)
        versions = [
            line for text in (usual, swapped) for line in text.splitlines() if "_OPENMP" in line
        ]
        if len(versions) != 2 or versions[0] == versions[1]:
            raise FailedStepError(f"the OpenMP runtime was not swapped: {versions}")
