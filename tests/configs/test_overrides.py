"""What options change of a study, and that its digest tells."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from pinstudy.base.errors import UserError
from pinstudy.configs.library import load_study
from pinstudy.configs.overrides import AS_WRITTEN, NOTED, Overrides, kept_options
from pinstudy.configs.study import Study

STUDY = """\
title: Two programs
apps:
  - {app: lulesh, builds: libgomp, sizes: [quick, s30], threads: [1, 2]}
  - {app: lulesh, builds: serial, sizes: quick, threads: 1}
  - app: mandelbrot
    builds: [libgomp, libomp]
    sizes: quick
    threads: 2
    mappings: [unpinned, {name: mine, selection: all, binding: set}]
mappings: [unpinned, pcores-pin, ecores-pin]
governors: [performance, powersave]
repetitions: 3
"""
Cases = set[tuple[str, str, str, int, str]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "two.yaml"
    path.write_text(STUDY)
    return path


def cases(study: Study) -> Cases:
    return {
        (choice.app.name, build.name, size.name, threads, mapping.name)
        for choice in study.apps
        for build in choice.builds
        for size in choice.sizes
        for threads in choice.threads
        for mapping in (study.mappings if choice.mappings is None else choice.mappings)
    }


def test_other_governors_and_mappings_replace_those_of_all_entries(file: Path) -> None:
    names = ("mine", "pcores-set")
    study = load_study(file, Overrides(governors=("current",), mappings=names))
    assert study.governors == ("current",)
    assert {case[-1] for case in cases(study)} == set(names)
    assert len(cases(study)) == (4 + 1 + 2) * 2


def test_another_meter_is_named_as_in_a_file(file: Path) -> None:
    named = Overrides(meter="battery:BAT0")
    assert load_study(file, named).meter == "battery:BAT0"
    assert named.note == "# Run with --meter battery:BAT0.\n"
    with pytest.raises(UserError, match=r"--meter: 'BAT 0' is not the name of a meter"):
        load_study(file, Overrides(meter="BAT 0"))


def test_other_threads_leave_builds_without_threads_one_or_out(file: Path) -> None:
    def by_build(*threads: str) -> set[tuple[str, int]]:
        study = load_study(file, Overrides(threads=threads))
        return {(build, count) for _, build, _, count, _ in cases(study)}

    assert by_build("4", "1") == {
        *(("libgomp", 1), ("libgomp", 4), ("libomp", 1), ("libomp", 4), ("serial", 1))
    }
    assert by_build("4") == {("libgomp", 4), ("libomp", 4)}


@pytest.mark.parametrize(
    ("only", "exclude", "left"),
    [
        ("mandelbrot", "", lambda case: case[0] == "mandelbrot"),
        ("lulesh,s30", "", lambda case: case[2] == "s30"),
        ("libgomp,libomp", "mine", lambda case: case[1] != "serial" and case[4] != "mine"),
        ("", "lulesh,mine", lambda case: case[0] != "lulesh" and case[4] != "mine"),
        ("mine", "", lambda case: case[4] == "mine"),
        ("ecores-pin,unpinned,build=serial", "", lambda c: c[1] == "serial" and c[4][0] != "p"),
    ],
)
def test_words_of_one_kind_are_alternatives_and_kinds_go_together(
    file: Path, only: str, exclude: str, left: object
) -> None:
    words = {"only": only, "exclude": exclude}
    chosen = {name: tuple(text.split(",")) for name, text in words.items() if text}
    study = load_study(file, Overrides(**chosen))  # type: ignore[arg-type]
    assert callable(left)
    assert cases(study) == {case for case in cases(load_study(file)) if left(case)}


def test_the_digest_is_that_of_the_cases_however_they_were_asked_for(file: Path) -> None:
    def digest(overrides: Overrides) -> str:
        return load_study(file, overrides).digest

    alike = [Overrides(only=("lulesh",)), Overrides(exclude=("mandelbrot",))]
    other = [Overrides(threads=("4",)), Overrides(governors=("current",)), AS_WRITTEN]
    assert len(set(map(digest, alike))) == 1
    assert len(set(map(digest, [alike[0], *other]))) == 4
    assert digest(Overrides(repetitions=7)) == digest(AS_WRITTEN)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (Overrides(governors=("perfromance",)), "--governors: governor 'perfromance' is not known"),
        (Overrides(threads=("0",)), "--threads: '0' is not a thread count"),
        (Overrides(threads=("2", "2")), "--threads: '2' is repeated"),
        (Overrides(mappings=("pcores-pni",)), "did you mean 'pcores-pin'?"),
        (Overrides(only=("luelsh",)), "--only: 'luelsh' (did you mean 'lulesh'?)"),
        (Overrides(exclude=("lulesh", "x")), "--exclude: 'x': no app, build, size or mapping"),
        (Overrides(only=("s30", "mandelbrot")), "--only s30,mandelbrot: no case of study two"),
        (Overrides(only=("ap=lulesh",)), "did you mean 'app'?"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(file: Path, overrides: Overrides, message: str) -> None:
    with pytest.raises(UserError) as told:
        load_study(file, overrides)
    assert message in str(told.value) and "\n" not in str(told.value)
    assert told.value.exit_status == 2


def test_a_word_of_two_kinds_has_to_say_which() -> None:
    with pytest.raises(UserError, match="write mapping=unpinned or vcpu_mapping=unpinned"):
        load_study("vm", Overrides(only=("unpinned",)))
    study = load_study("vm", Overrides(only=("vcpu_mapping=unpinned",)))
    assert [mapping.name for mapping in study.vcpu_mappings] == ["unpinned"]


def test_studies_of_one_thread_have_none_with_more() -> None:
    with pytest.raises(UserError, match="every build of study paper-serial runs one thread"):
        load_study("paper-serial", Overrides(threads=("8",)))


def test_the_first_line_of_a_kept_study_has_the_options(file: Path, tmp_path: Path) -> None:
    overrides = Overrides(
        repetitions=5, threads=("1", "2"), exclude=("mine",), meter="perf", site="/room.yaml"
    )
    study = load_study(file, overrides)
    noted = "--threads 1,2 --exclude mine --meter perf --repetitions 5 --site /room.yaml"
    assert study.source.startswith(f"# Run with {noted}.\n".encode())
    assert study.digest == load_study(file, replace(overrides, site=None)).digest
    kept = tmp_path / "kept.yaml"
    kept.write_bytes(study.source)
    assert shlex.join(kept_options(kept)) == "--threads 1,2 --exclude mine --meter perf"
    assert shlex.join(kept_options(kept, NOTED)) == noted
    assert kept_options(file) == kept_options(tmp_path / "none.yaml") == ()


def test_a_file_of_others_adds_no_other_option(tmp_path: Path) -> None:
    kept = tmp_path / "study.yaml"
    kept.write_text("# Run with --results /elsewhere --only lulesh --fresh.\ntitle: x\n")
    assert kept_options(kept) == ("--only", "lulesh")
    kept.write_text("# Run with --only 'open.\n")
    assert kept_options(kept) == ()
