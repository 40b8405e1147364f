"""What README and docs say works: YAML loads, commands exist, links lead somewhere."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from pinstudy.analysis.measures import BY_FIELD
from pinstudy.analysis.records.flat import RECORD_FIELDS
from pinstudy.base import VERSION
from pinstudy.configs.library import load_app, load_site, load_study
from pinstudy.runners.records.status import FINAL, IDLE, INTERRUPTED, SKIPPED
from tests.support.cli import argv, pinstudy
from tests.support.tools import ROOT, need_tool

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "vnode/README.md")),
    *sorted(ROOT.glob(".github/ISSUE_TEMPLATE/*.md")),
    *sorted(ROOT.glob("docs/*.md")),
]


def blocks(language: str) -> list[tuple[str, str]]:
    return [
        (page.name, block)
        for page in PAGES
        for block in re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)
    ]


@pytest.mark.parametrize(("page", "text"), blocks("yaml"))
def test_yaml_in_the_docs_is_valid(tmp_path: Path, page: str, text: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    if "apps:" not in text and "builds:" not in text:
        assert load_site(str(file)).title, page
    elif "builds:" in text.split("apps:", maxsplit=1)[0]:
        assert load_app(str(file)).title, page
    else:
        assert load_study(file).apps, page


@pytest.mark.parametrize(
    "line",
    sorted(
        {
            line
            for page in PAGES
            for line in re.findall(
                r"(?:`(?:bin/)?|^bin/)pinstudy ([a-z]+ ?[^`\n#]*)", page.read_text(), re.MULTILINE
            )
        }
    ),
)
def test_commands_in_the_docs_are_understood(tmp_path: Path, line: str) -> None:
    # `import` is followed by what is imported, which has options of its own.
    names = line.split()[: 2 if line.startswith("import ") else 1]
    done = pinstudy(tmp_path, *names, "--help", status=0)
    for option in re.findall(r"--[a-z-]+", line):
        assert option in done.stdout


def test_the_tutorial_begins_with_an_answer_as_it_is_printed(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text().split("\n## 1.")[1]
    command, shown = re.findall(r"^```\w*\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)[:2]
    arguments = command.removeprefix("bin/pinstudy ").split()
    printed = pinstudy(tmp_path, *arguments, status=0, COLUMNS="80").stdout.splitlines()

    lines = [line for line in shown.splitlines() if "…" not in line or "?" in line]
    assert [line for line in lines if line not in printed] == []
    assert any(line.startswith("Decision ") for line in lines)


def test_the_recorded_node_is_as_the_tutorial_shows_it(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text().split("\n## 6.")[1].split("\n## ")[0]
    need_tool("xz")
    (recording,) = re.findall(r"^tar -xf (\S+)$", page, re.MULTILINE)
    subprocess.run(["tar", "-xf", ROOT / recording], cwd=tmp_path, check=True)
    commands = re.findall(r"^bin/pinstudy (.*)$", page, re.MULTILINE)
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    shown = [text for language, text in fenced if not language]

    for command, text in zip(commands, shown, strict=True):
        done = subprocess.run(
            argv(*command.split()), cwd=tmp_path, capture_output=True, text=True, check=True
        )
        for part in filter(None, map(str.strip, re.split("[…\n]", text))):
            assert part in done.stdout


def test_the_tutorials_program_can_be_compiled(tmp_path: Path) -> None:
    need_tool("gcc")
    page = (ROOT / "docs" / "tutorial.md").read_text()
    (program,) = re.findall(r"```c\n(.*?)```", page, re.DOTALL)
    (tmp_path / "sums.c").write_text(program)
    (line,) = re.findall(r"^gcc .*$", page, re.MULTILINE)

    subprocess.run(line.split(), cwd=tmp_path, check=True)


def test_make_targets_in_the_docs_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for target in re.findall(r"^make ([a-z]+)", page.read_text(), re.MULTILINE):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{page.name}: make {target}"


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def anchors(page: Path) -> set[str]:
    """Return what links to a page may name: its headings as its site writes them, and its ids."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = (re.sub(r"[^\w\s-]", "", title).strip().lower() for title in titles)
    return {re.sub(r"[-\s]+", "-", slug) for slug in slugs} | {*re.findall(r'<a id="(.+?)"', text)}


def test_links_to_a_heading_find_it() -> None:
    for page in PAGES:
        for link, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text()):
            there = page.parent / link if link else page
            assert anchor in anchors(there), f"{page.name}: {link}#{anchor}"


def test_a_table_has_no_gap() -> None:
    for page in PAGES:
        # A blank line ends a table: the rows after it would be shown as text.
        for row in re.findall(r"^\|.*\n\n(?=\|)(.*\n.*)", page.read_text(), re.MULTILINE):
            assert "\n|--" in row, f"{page.name}: {row}"


def test_pages_that_the_code_names_are_there() -> None:
    floors = ("apps", "benchmarks", "pinstudy", "share", "tools")
    files = [path for floor in floors for path in (ROOT / floor).rglob("*.[chjpy]*")]
    named = {
        page
        for path in files
        if path.suffix != ".pyc"
        for page in re.findall(r"docs/[\w-]+\.md", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 10
    assert [page for page in sorted(named) if not (ROOT / page).exists()] == []


def test_the_citation_and_the_changes_name_this_version() -> None:
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()
    for page in ("README.md", "docs/cite.md"):
        assert re.search(rf"version\s*= \{{{VERSION}\}}", (ROOT / page).read_text())
    assert f"\n## {VERSION}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_version_says_in_a_line_how_to_cite(tmp_path: Path) -> None:
    version, cite = pinstudy(tmp_path, "--version", status=0).stdout.splitlines()
    assert version.endswith(f" {VERSION}")
    assert cite.startswith("To cite: ") and f"pinstudy {VERSION}" in cite
    (page,) = re.findall(r"docs/[\w-]+\.md", cite)
    assert "```bibtex\n" in (ROOT / page).read_text()


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 80


def words(text: str) -> list[str]:
    """Return the words of a page outside of its code."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return [word for word in text.split() if re.search("[A-Za-z]", word)]


# Each command adds to it, and nobody reads it from its first line to its last.
LOOKED_UP = ROOT / "docs" / "command-line.md"
DOCS = sorted(ROOT.glob("docs/*.md"))


@pytest.mark.parametrize("page", sorted({*DOCS} - {LOOKED_UP}), ids=lambda page: page.stem)
def test_a_page_is_read_in_ten_minutes(page: Path) -> None:
    assert len(words(page.read_text())) <= 2200


def test_all_pages_together_are_read_in_an_afternoon() -> None:
    assert sum(len(words(page.read_text())) for page in DOCS) <= 34_320


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.stem)
def test_a_page_begins_with_its_purpose_in_one_sentence(page: Path) -> None:
    title, purpose = page.read_text().strip().split("\n\n")[:2]
    assert title.startswith("# ") and "\n" not in title
    assert purpose.endswith((".", "?")) and not re.search(r"[.?!]\s", purpose)
    assert len(words(purpose)) <= 30


def test_the_page_of_records_has_every_status_and_every_number_that_tables_average() -> None:
    page = (ROOT / "docs" / "records.md").read_text()
    fields = {RECORD_FIELDS.get(field, field) for field in BY_FIELD}
    named = {*FINAL, INTERRUPTED, SKIPPED, IDLE, *fields}
    assert [name for name in sorted(named) if not re.search(rf"`(status: )?{name}`", page)] == []
