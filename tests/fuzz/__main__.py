"""`make fuzz`: every parser and every command on damaged input, for as long as one likes.

    python -m tests.fuzz [--seconds N] [--engine auto|atheris|hypothesis] [TARGET …]

A parser is fuzzed by atheris, which looks for inputs that run new code, or by hypothesis if atheris
is not installed (it has packages for x86_64 Linux only). A command (`command:SCENE`) gets
its files damaged at random. Failures are kept in build/fuzz/, and the exit status is 1.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click

from tests.support.tools import ROOT

KEPT = ROOT / "build/fuzz"
_COMMAND = "command:"
# An input for which a parser needs more seconds, or the process more MB, is a defect.
_LIMITS = ("-timeout=20", "-rss_limit_mb=2048", "-max_len=65536")
_DONE = re.compile(r"^Done (\d+) ", re.MULTILINE)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--seconds", default=30.0, show_default=True, help="For each target.")
@click.option("--engine", type=click.Choice(["auto", "atheris", "hypothesis"]), default="auto")
@click.option("--alone", is_flag=True, hidden=True, help="Fuzz the one target in this process.")
def main(names: tuple[str, ...], seconds: float, engine: str, alone: bool) -> None:
    """Fuzz the targets, all of them by default."""
    if alone:
        _alone(names[0], seconds, engine)
        return
    has_atheris = importlib.util.find_spec("atheris") is not None
    if engine == "auto":
        engine = "atheris" if has_atheris else "hypothesis"
        if not has_atheris:
            click.echo("atheris is not installed: hypothesis is used, which sees no coverage")
    names_ = _target_names()
    for name in names:
        if name not in names_:
            raise click.UsageError(f"{name}: no target (known: {', '.join(names_)})")
    failed = [name for name in names or names_ if not _fuzz(name, seconds, engine)]
    if failed:
        click.echo(f"failed: {', '.join(failed)}; see {KEPT}")
        sys.exit(1)


def _target_names() -> list[str]:
    from tests.fuzz.parsers import targets
    from tests.fuzz.scenes import SCENES

    with tempfile.TemporaryDirectory() as folder:
        return [*targets(Path(folder)), *(f"{_COMMAND}{name}" for name in SCENES)]


def _fuzz(name: str, seconds: float, engine: str) -> bool:
    """Fuzz one target in a process of its own; print the result; return whether it held."""
    began = time.monotonic()
    command = [sys.executable, "-m", "tests.fuzz", name, "--alone", "--engine", engine]
    done = subprocess.run(
        [*command, "--seconds", str(seconds)],
        cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
        check=False,
    )  # fmt: skip
    output = done.stdout + done.stderr
    counted = _DONE.search(output)
    runs = counted[1] if counted else "?"
    state = "held" if done.returncode == 0 else "FAILED"
    click.echo(f"{name:20} {runs:>10} runs in {time.monotonic() - began:.0f} s: {state}")
    if done.returncode:
        KEPT.mkdir(parents=True, exist_ok=True)
        (KEPT / f"{name.replace(':', '-')}.log").write_text(output)
        click.echo("\n".join(output.splitlines()[-12:]))
    return done.returncode == 0


def _alone(name: str, seconds: float, engine: str) -> None:
    with tempfile.TemporaryDirectory(prefix="pinstudy-fuzz-") as folder:
        if name.startswith(_COMMAND):
            _damage_files(name.removeprefix(_COMMAND), seconds, Path(folder))
        elif engine == "atheris":
            _with_atheris(name, seconds, Path(folder))
        else:
            _with_hypothesis(name, seconds, Path(folder))


def _with_atheris(name: str, seconds: float, folder: Path) -> None:
    # atheris has no types, and may be missing.
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["pinstudy"]):
        from tests.fuzz.parsers import targets
    target = targets(folder)[name]
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(target.seeds()):
        (corpus / str(number)).write_bytes(seed)
    KEPT.mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={max(1, round(seconds))}", f"-artifact_prefix={KEPT}/{name}-"]
    atheris.Setup([sys.argv[0], *_LIMITS, *options, str(corpus)], target.run)
    atheris.Fuzz()


def _with_hypothesis(name: str, seconds: float, folder: Path) -> None:
    from hypothesis import given, seed, settings
    from hypothesis import strategies as st

    from tests.fuzz.damage import CHANGES
    from tests.fuzz.outcome import bounded
    from tests.fuzz.parsers import targets

    target = targets(folder)[name]
    changed = st.builds(
        lambda change, data, number: change(data, random.Random(number)),
        st.sampled_from(list(CHANGES.values())),
        st.sampled_from(list(target.seeds())),
        st.integers(0, 2**32),
    )
    runs = 0

    def once(data: bytes) -> None:
        nonlocal runs
        runs += 1
        with bounded(20):
            target.run(data)

    until = time.monotonic() + seconds
    while time.monotonic() < until:
        rounds = given(data=changed | st.binary(max_size=500))(once)
        seed(random.randrange(1 << 30))(
            settings(max_examples=100, deadline=None, database=None)(rounds)
        )()
    print(f"Done {runs} runs")


def _damage_files(name: str, seconds: float, folder: Path) -> None:
    from tests.fuzz.damage import NAMES, damaged
    from tests.fuzz.outcome import outcome_of
    from tests.fuzz.scenes import SCENES

    scene = SCENES[name](folder)
    faults, runs = set(), 0
    until = time.monotonic() + seconds
    with scene.entered():
        while time.monotonic() < until:
            path, how = random.choice(scene.inputs), random.choice(NAMES)
            arguments, seed = random.choice(scene.commands_reading(path)), random.randrange(1 << 30)
            scene.put_back()
            with damaged(path, how, seed):
                outcome = outcome_of(arguments)
            runs += 1
            if outcome.fault and outcome.fault not in faults:
                faults.add(outcome.fault)
                print(f"{arguments} with {path}, {how}, seed {seed}: {outcome.fault}")
    print(f"Done {runs} runs")
    if faults:
        sys.exit(1)


if __name__ == "__main__":
    # Warnings of libraries are no defect here; a terminal's width changes no outcome.
    os.environ.setdefault("COLUMNS", "100")
    main()
