"""Checks that a results folder holds one study on one node, and one program for each case."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from base.errors import UserError
from base.text import one_line, shown
from runners.node.kept_nodes import changed_between
from runners.study.programs import changed_programs

_OTHERWISE = (
    "they are not taken together: move the files of one of the two out of records/ into a folder "
    "of their own"
)


def check_one_node(frame: pd.DataFrame, folder: Path) -> None:
    """Raise UserError when records are of several nodes or studies, or of a node that changed.

    `pinstudy run` refuses to go on then, so somebody has put them together. `frame` is that of
    `analysis.frame.Runs`, in which interchangeable nodes have one name.
    """
    for what, name in (("nodes", "node_id"), ("studies", "study")):
        found = sorted(shown(str(value)) for value in frame[name].dropna().unique())
        if len(found) > 1:
            raise UserError(
                f"{folder}: holds runs of several {what} ({', '.join(found)}); they are not taken "
                "together: move the files of each out of records/ into a folder of its own"
            )
    known = frame[["node_id", "node_digest"]].dropna().drop_duplicates().astype(str)
    for node, of in known.groupby("node_id", sort=False):
        first, *others = of["node_digest"]
        if others:
            raise UserError(
                f"{folder}: holds runs of before and after node {shown(node)} changed: "
                f"{changed_between(folder, first, others[0])}; {_OTHERWISE}"
            )


def check_one_program(frame: pd.DataFrame, folder: Path) -> None:
    """Raise UserError when the cases of a table were runs of different programs.

    `pinstudy run` refuses that, too. Sizes and thread counts may name scripts of their own. Of
    records from before schema 4 the program is not known.
    """
    keys = ["app", "variant", "size", "threads"]
    known = frame[[*keys, "program_digest"]].dropna().drop_duplicates()
    for of, programs in known.groupby(keys, sort=False, observed=True):
        first, *others = programs["program_digest"].astype(str)
        if others:
            app, variant, size, threads = (one_line(str(key)) for key in of)
            raise UserError(
                f"{folder}: holds runs of two programs for {app}-{variant}, size {size}, threads "
                f"{threads}: {changed_programs(folder, first, others[0])}; {_OTHERWISE}"
            )
