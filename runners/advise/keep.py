"""A search's study on the disk: written once, and continued as it is."""

from __future__ import annotations

from pathlib import Path

import yaml

from base.errors import UserError
from base.files import write_atomically
from base.text import as_typed
from configs.library import display_path, load_study
from configs.schema.yaml_text import read_bytes
from runners.advise.search import Search
from runners.advise.study_file import study_bytes, with_race


def write_search(search: Search, results: Path, fresh: bool) -> tuple[Path, list[str]]:
    """Write the search's study, or leave the one that is there; return its path, and what to tell.

    What is there is continued with its own candidates, within the time and runs that are asked for
    now; with `fresh` it is written anew. Raises ConfigError when what is there is no study,
    UserError when it does not race, or nothing would, StudyError when it cannot be written.
    """
    if search.size < 2:
        raise UserError(
            f"{search.request.program.name}: nothing races here, there is no other way to run it "
            "than as you start it; --plan says what was left out"
        )
    path, new = search.path(results), search.file
    if fresh or not path.exists():
        write_atomically(path, new.data)
        return path, []
    there = load_study(path)
    if there.race is None:
        raise UserError(
            f"{display_path(path)} does not race any more: somebody has edited it; go on with "
            f"`pinstudy run {as_typed(path)}`, or begin anew with --fresh"
        )
    if there.digest == search.study.digest:
        if there.race != search.study.race:
            write_atomically(path, new.data)
        return path, []
    told = [
        f"{display_path(path)} has other candidates than would be chosen now; it is continued with "
        "its own: --fresh chooses anew"
    ]
    rule = search.study.race
    if rule and (there.race.within_s, there.race.runs) != (rule.within_s, rule.runs):
        # No more than text, numbers and lists of them, as load_study has seen.
        document = yaml.safe_load(read_bytes(path))
        changed = with_race(document, new.document["repetitions"]["race"])
        write_atomically(path, study_bytes(changed, new.name, new.directory))
    return path, told
