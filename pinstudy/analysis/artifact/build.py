"""Makes an artifact: copies results, makes what follows from the copy, writes what describes it.

Everything is made of the copy, so a study that goes on meanwhile changes nothing. The folder gets
its name when it is whole. The same results give the same bytes.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import shutil
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib.resources import files as package_files
from pathlib import Path

from pinstudy.analysis.answer import MARGIN, analyze
from pinstudy.analysis.artifact import texts
from pinstudy.analysis.artifact.crate import METADATA_FILE, Publication, crate
from pinstudy.analysis.artifact.document import as_latex, as_markdown
from pinstudy.analysis.artifact.files import (
    MADE,
    ArtifactFile,
    copy_results,
    hashed,
    made_before,
    sums,
)
from pinstudy.analysis.artifact.provenance import Row, StudyFacts, software, study_facts
from pinstudy.analysis.findings.answers import answers_of
from pinstudy.analysis.output import VERDICT_FILE
from pinstudy.analysis.processes import in_another
from pinstudy.analysis.records.files import write_file
from pinstudy.analysis.results.sources import has_folder, open_results, sources_below
from pinstudy.analysis.tables.means import Choice, node_of, tables_of_nodes, write_tables
from pinstudy.analysis.tables.short import checked_columns
from pinstudy.analysis.verdict_text.document import as_markdown as verdict_markdown
from pinstudy.analysis.verdict_text.tables import Beyond
from pinstudy.base import PINSTUDY, VERSION
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.files import is_full
from pinstudy.base.folders import OpenFolder
from pinstudy.base.text import as_typed, safe_name

RESULTS = "results"
# How pinstudy is called differs, and where results are kept; no other line of a verdict tells it.
_CALLS = re.compile(r"[\w./~+-]{0,200}pinstudy\b|^```sh\n.*?^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Options:
    """The options of `pinstudy tables` and `pinstudy verdict` by which its files are made.

    `margin` is a share, `margin_text` as it was typed.
    """

    margin: float = MARGIN
    margin_text: str = ""
    baseline: str | None = None
    columns: str | None = None

    @property
    def of_tables(self) -> str:
        """Those of `tables` as a shell reads them, a blank before each."""
        return f" --columns {shlex.quote(self.columns)}" if self.columns else ""

    @property
    def of_verdict(self) -> str:
        """Those of `verdict` as a shell reads them, a blank before each."""
        margin = f" --margin {shlex.quote(self.margin_text)}" if self.margin_text else ""
        return margin + (f" --baseline {shlex.quote(self.baseline)}" if self.baseline else "")


@dataclass(frozen=True)
class Artifact:
    """What was written: the folder, its files, and what of the results it does not have."""

    folder: Path
    files: int
    size_bytes: int
    left_out: tuple[str, ...]


def write_artifact(
    source: str, output: Path, publication: Publication, options: Options
) -> Artifact:
    """Write the artifact of results, a folder or one above several, as a new folder.

    `publication.day` is that of the last run where it is empty. Raises UserError when the results
    cannot be read, when the tables or the verdict beside the records are not what the options make
    of these, or when `output` is there and not empty; StudyError when the disk is full.
    """
    sources = sources_below(source)
    if not all(map(has_folder, sources)):
        raise UserError(f"{source}: has no records; expected a folder such as results/quick/mynode")
    output = Path(os.path.normpath(output.absolute()))
    for place in map(Path, sources):
        if output.resolve().is_relative_to(place.resolve()):
            raise UserError(f"{output}: is in the results {place}; name a folder elsewhere")
    try:
        return _write_new(sources, output, publication, options)
    except OSError as error:
        kind = StudyError if is_full(error) else UserError
        where = error.filename or output
        raise kind(f"{where}: {error.strerror or error}; {output} was not made") from None
    except BrokenProcessPool:
        raise StudyError(
            f"{output}: was not made: the process that reads the records died"
        ) from None


def _write_new(
    sources: Sequence[str], output: Path, publication: Publication, options: Options
) -> Artifact:
    temporary = f".{output.name}.{secrets.token_hex(8)}"
    with OpenFolder(output.parent, make=True) as parent:
        _check_new(output)
        parent.make_folder(temporary)
        root = parent.real_path / temporary
        try:
            artifact = _fill(root, output, sources, publication, options)
            parent.rename(temporary, output.name)
        except BaseException:
            shutil.rmtree(root, ignore_errors=True)
            raise
    return artifact


def _check_new(output: Path) -> None:
    """Raise UserError where there is something already; an empty folder is replaced."""
    if output.is_symlink() or (output.exists() and (not output.is_dir() or any(output.iterdir()))):
        raise UserError(f"{output}: is there already; name a new folder with --output")


def _fill(
    root: Path, output: Path, sources: Sequence[str], publication: Publication, options: Options
) -> Artifact:
    paths: dict[str, str] = {}
    left_out = []
    for source in sources:
        path = _path_of(source, paths)
        paths[path] = source
        prefix = f"{source}/" if len(sources) > 1 else ""
        left_out += [f"{prefix}{name}" for name in copy_results(Path(source), root / path)]
    # In a process of its own the command has its plain name, and the artifact is the working
    # directory: as in reproduce.sh. Both are in texts.
    studies, made_by = in_another(_made, root, tuple(paths), options)
    for path, source in paths.items():
        _check_same(root / path, Path(source), options)
    last = max((study.days[-1] for study in studies if study.days), default="")
    if not publication.day and not last:
        raise UserError("the records name no day; name that of the publication: --day 2026-11-29")
    publication = Publication(publication.day or last, publication.authors, publication.licence)
    files = _described(root, studies, publication, made_by, options)
    size = sum(file.size_bytes for file in files)
    return Artifact(output, len(files), size, tuple(left_out))


def _path_of(source: str, taken: dict[str, str]) -> str:
    """Return where results go in the artifact: `results/STUDY/NODE`, as `pinstudy run` has it."""
    names = [safe_name(part) for part in Path(source).absolute().resolve().parts[-2:]]
    path = "/".join([RESULTS, *names])
    while path in taken:
        path += "-2"
    return path


def _made(
    root: Path, paths: Sequence[str], options: Options
) -> tuple[list[StudyFacts], tuple[Row, ...]]:
    """Write tables and verdicts in the copies, as the commands do; return the facts."""
    os.chdir(root)
    os.environ.pop("PINSTUDY_RESULTS", None)
    studies = []
    for path in paths:
        results = open_results(path)
        names = [name.strip() for name in options.columns.split(",")] if options.columns else []
        choice = Choice("short", checked_columns(names, results.cases))
        write_tables(tables_of_nodes([node_of(results)], choice), Path(path))
        answer = analyze(results, options.margin, options.baseline)
        beyond = Beyond(answers_of(results, answer), results.cases, answer.margin)
        write_file(Path(path, VERDICT_FILE), verdict_markdown(answer, beyond))
        studies.append(study_facts(path, results, answer))
    return studies, software()


def _check_same(copy: Path, source: Path, options: Options) -> None:
    """Raise UserError where tables or verdict in the results are not those of the artifact."""
    for name in MADE:
        before = made_before(source, name)
        now = (copy / name).read_text(encoding="utf-8")
        if before is None or _plain(before) == _plain(now):
            continue
        lines = zip(_plain(before).splitlines(), _plain(now).splitlines(), strict=False)
        line = next((at for at, (old, new) in enumerate(lines, 1) if old != new), 1)
        of_verdict = f"verdict {as_typed(source)}{options.of_verdict}"
        of_tables = f"tables {as_typed(source)}{options.of_tables}"
        raise UserError(
            f"{source / name}:{line}: is not what the records give: it was made by other options, "
            "by another version or before the last run; give its --margin, --baseline or "
            "--columns, or make it again: "
            f"`{PINSTUDY} {of_verdict if name == VERDICT_FILE else of_tables}`"
        )


def _plain(text: str) -> str:
    return _CALLS.sub("", text)


def _described(
    root: Path,
    studies: Sequence[StudyFacts],
    publication: Publication,
    made_by: Sequence[Row],
    options: Options,
) -> list[ArtifactFile]:
    """Write what describes an artifact, and its digests; return all its files."""
    files = [
        hashed(root, f"{study.path}/{name}", texts.meaning(name))
        for study in studies
        for name in _files_below(root / study.path)
    ]
    appendix = texts.appendix(publication, studies, files, made_by)
    contents = {
        texts.README_FILE: as_markdown(texts.readme(studies, files, made_by)),
        f"{texts.APPENDIX}.md": as_markdown(appendix),
        f"{texts.APPENDIX}.tex": as_latex(appendix),
        texts.SCRIPT_FILE: _script(options),
    }
    for name, text in contents.items():
        write_file(root / name, text)
        files.append(hashed(root, name, texts.PARTS[name]))
    script = root / texts.SCRIPT_FILE
    mode = script.stat().st_mode
    # Who may read it may execute it.
    script.chmod(mode | (mode & 0o444) >> 2)
    later = [(texts.SUMS_FILE, texts.PARTS[texts.SUMS_FILE])]
    metadata = crate(publication, studies, files, later, made_by)
    write_file(root / METADATA_FILE, json.dumps(metadata, indent=2, ensure_ascii=False) + "\n")
    files.append(hashed(root, METADATA_FILE, texts.PARTS[METADATA_FILE]))
    write_file(root / texts.SUMS_FILE, sums(files))
    return [*files, hashed(root, *later[0])]


def _files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def _script(options: Options) -> str:
    script = (package_files(__package__) / texts.SCRIPT_FILE).read_text(encoding="utf-8")
    for name, text in (
        ("@version@", VERSION),
        ("@tables@", options.of_tables),
        ("@verdict@", options.of_verdict),
    ):
        script = script.replace(name, text)
    return script
