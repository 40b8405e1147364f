"""The command that continues a study with as many more repetitions as an answer may need."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from analysis.node_files import kinds_option, node_sheets
from analysis.sources import Results
from base.text import as_typed
from configs.library import display_path
from configs.repetitions import MAX_REPETITIONS


def command_for_more(results: Results, more: int) -> str:
    """Return the command that makes `more` repetitions of each case; empty where there is none.

    There is none where `more` is 0, where a batch system made the runs, where a precision or a race
    ends its cases, where a study cannot have so many repetitions, and where the folder is not named
    as `pinstudy run` names it, so that the command would begin anew in another folder.
    """
    if not more or results.runs is None or results.folder is None or results.runs.ruled:
        return ""
    frame = results.runs.frame
    studies = [str(name) for name in frame["study_file"].dropna().unique()]
    made = frame["repetition"].max()
    if len(studies) != 1 or not made + more <= MAX_REPETITIONS:
        return ""
    study = studies[0]
    named = display_path(Path(study)) if "/" in study else study
    words = [f"pinstudy run {as_typed(named)}", f"--repetitions {made + more:.0f}"]
    below = _results_of(results.folder, frame)
    if below is None:
        return ""
    if below != Path(os.environ.get("PINSTUDY_RESULTS") or "results").absolute():
        words.append(f"--results {as_typed(display_path(below))}")
    words.append(kinds_option(node_sheets(results)))
    if (frame["vm_accelerator"] == "tcg").any():
        words.append("--allow-emulation")
    return " ".join(filter(None, words))


def _results_of(folder: Path, frame: pd.DataFrame) -> Path | None:
    """Return the folder of all results, in which this one is `<study>/<node>`; None of others."""
    place = Path(os.path.normpath(folder.absolute()))
    names = zip(place.parts[-2:], ("study", "node_id"), strict=False)
    is_own = all((frame[column] == part).any() for part, column in names)
    return place.parents[1] if is_own and len(place.parts) > 2 else None
