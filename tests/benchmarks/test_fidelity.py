"""The comparison with the originals: what is counted from outside, and what holds."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.fidelity.figures import (
    Counts,
    Figure,
    Program,
    build_counter,
    compare,
    counts_of,
    instructions_of,
    resources_of,
    within,
)
from tests.support.tools import need_tool

# Three regions, one a loop by the runtime's schedule, two barriers a thread in all; five pieces
# of memory of a page or more, of 60000 bytes together, and one that is smaller.
COUNTED = """\
#include <omp.h>
#include <stdlib.h>
static void *volatile kept;
int main(void) {
    for (int i = 0; i < 4; ++i) {
        kept = malloc(10000);
        free(kept);
    }
    kept = calloc(2, 10000);
    kept = malloc(4095);
    double sum = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
#pragma omp for schedule(runtime)
        for (int i = 0; i < 10; ++i) {
            kept = &sum;
        }
        kept = &i_am_done;
    }
#pragma omp parallel for num_threads(2) schedule(static)
    for (int i = 0; i < 10; ++i) {
        kept = &sum;
    }
#pragma omp parallel for num_threads(2) schedule(runtime)
    for (int i = 0; i < 10; ++i) {
        kept = &sum;
    }
    return 0;
}
""".replace("i_am_done", "sum")


def compiled(source: Path, text: str, *options: str, by: str = "gcc") -> Path:
    """Return the program of a text in C."""
    source.write_text(text)
    subprocess.run([need_tool(by), *options, "-o", source.with_suffix(""), source], check=True)
    return source.with_suffix("")


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_tool("gcc")
    return build_counter(tmp_path_factory.mktemp("counter"))


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_regions_barriers_and_memory_are_counted(
    compiler: str, counter: Path, tmp_path: Path
) -> None:
    # What the runtime itself asks for is not the program's.
    nothing = "#include <omp.h>\nint main(void) { return omp_get_num_threads() - 1; }"
    programs = [
        compiled(tmp_path / name, text, "-O1", "-fopenmp", by=compiler)
        for name, text in (("counted.c", COUNTED), ("nothing.c", nothing))
    ]

    all_of_it, alone = (counts_of([str(program)], 2, counter) for program in programs)

    assert all_of_it.regions - alone.regions == 3
    assert all_of_it.barriers - alone.barriers == 4
    assert (alone.regions, alone.barriers) == (0, 0)
    assert all_of_it.pieces >= 5
    assert all_of_it.bytes >= 60000


def test_a_program_without_openmp_has_no_regions(counter: Path, tmp_path: Path) -> None:
    text = "void *malloc(unsigned long), *volatile p;\nint main(void) { p = malloc(4096); }\n"
    program = compiled(tmp_path / "plain.c", text, "-O1")

    assert counts_of([str(program)], 1, counter) == Counts(0, 0, 1, 4096)


def test_memory_and_page_faults_are_those_of_the_program(tmp_path: Path) -> None:
    text = (
        "#include <stdlib.h>\n#include <string.h>\nint main(int n, char **v) {\n"
        "    size_t size = strtoul(v[1], 0, 10) << 20;\n    char *volatile p = malloc(size + 1);\n"
        "    memset(p, n, size);\n}\n"
    )
    program = compiled(tmp_path / "touch.c", text, "-O0")

    small, large = (resources_of([str(program), size], 1) for size in ("0", "64"))

    # The small one has the peak of the small process that started it.
    assert small.max_rss_bytes < 20 << 20
    assert 64 << 20 <= large.max_rss_bytes < 70 << 20
    # Huge pages may take the place of many small ones.
    assert large.page_faults > small.page_faults


def test_a_program_that_fails_is_no_measurement() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        resources_of(["false"], 1)


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_instructions_are_counted(tmp_path: Path) -> None:
    text = (
        "#include <stdlib.h>\nint main(int n, char **v) {\n"
        '    for (long i = atol(v[1]); i; --i) __asm__ volatile("nop\\nnop");\n}\n'
    )
    program = compiled(tmp_path / "loop.c", text, "-O2", "-march=x86-64")

    few, many = (instructions_of([str(program), count]) for count in ("1000", "101000"))

    # Two instructions that do nothing, a subtraction and a jump.
    assert many - few == pytest.approx(400_000, rel=0.01)


OWN, ORIGINAL = (Program(Path(name), Path(name)) for name in ("own", "original"))


@pytest.mark.parametrize(
    ("own", "bounds", "outcome"),
    [
        (0.79, within(0.2), "FAIL"),
        (0.8, within(0.2), "pass"),
        (1.2, within(0.2), "pass"),
        (1.26, within(0.25), "FAIL"),
        (7.0, None, "-"),
    ],
)
def test_a_ratio_outside_its_bounds_fails(
    own: float, bounds: tuple[float, float] | None, outcome: str
) -> None:
    figure = Figure("f", "", lambda program: own if program is OWN else 1.0, bounds, 1)

    assert compare(figure, ORIGINAL, OWN).outcome == outcome


def test_a_figure_is_the_median_of_its_rounds_ratios() -> None:
    # The rounds' ratios are 1.0, 3.0 and 1.2.
    values = {ORIGINAL: iter([10.0, 1.0, 100.0]), OWN: iter([10.0, 3.0, 120.0])}
    figure = Figure("f", "s", lambda program: next(values[program]), (0.8, 1.25), 3)

    row = compare(figure, ORIGINAL, OWN)

    assert (row.original, row.own, row.ratio, row.outcome) == (10, 10, 1.2, "pass")
