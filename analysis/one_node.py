"""That the records of a results folder are of one study on one node that did not change."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from configs.errors import UserError
from configs.words import shown
from runners.changed_node import changed_between


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
                f"{changed_between(folder, first, others[0])}; they are not taken together: move "
                "the files of one of the two out of records/ into a folder of their own"
            )
