"""Whether interchangeable nodes that divide a study behave as one: a remark for its tables.

Comparisons are made within blocks, and a block is made on one node: a slow node makes no mapping
look slow. Means and their spread have the nodes' differences in them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.frame import MADE_ON, good_runs
from base.text import one_line, plural

# Blocks are the samples: the runs of one share what disturbed it.
_MIN_BLOCKS = 2
_LEVEL = 0.05


def pool_remark(frame: pd.DataFrame) -> str:
    """Return over which nodes the runs are divided, and whether these differ; empty for one node.

    `frame` is that of `analysis.frame.Runs`.
    """
    if MADE_ON not in frame:
        return ""
    good = good_runs(frame)
    blocks = good.groupby(MADE_ON, observed=True)["block"].nunique()
    if blocks.empty:
        return ""
    nodes = ", ".join(
        one_line(f"{node} ({plural(count, 'block')})") for node, count in blocks.items()
    )
    return one_line(f"divided over interchangeable nodes: {nodes}; {_difference(good)}", None)


def _difference(good: pd.DataFrame) -> str:
    """Return in words whether the nodes' times differ, by the means of their blocks."""
    means = block_means(good)
    samples = {node: of for node, of in means.items() if len(of) >= _MIN_BLOCKS}
    if len(samples) < 2 or len(samples) < len(means):
        return f"whether they differ needs {_MIN_BLOCKS} blocks on each"
    if any(np.ptp(of) == 0 for of in samples.values()):
        return "whether they differ cannot be told: blocks took exactly the same time"
    # Imported here: tables of one node are made where there is no scipy.
    from scipy import stats

    p = stats.alexandergovern(*samples.values()).pvalue
    if p >= _LEVEL:
        return f"no difference between them was found (p = {p:.2g}, Alexander-Govern)"
    level = {node: float(np.mean(of)) for node, of in samples.items()}
    slow, fast = max(level, key=level.__getitem__), min(level, key=level.__getitem__)
    apart = np.expm1(level[slow] - level[fast]) * 100
    return (
        f"{slow} took {apart:.3g} % longer than {fast} (p = {p:.2g}, Alexander-Govern), which "
        "widens the spread of means, not of comparisons within blocks"
    )


def block_means(good: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return by node the mean of each of its blocks: of log time less that of its case."""
    timed = good[good["elapsed_s"] > 0]
    log_s = np.log(timed["elapsed_s"])
    rest = log_s - log_s.groupby(timed["case_id"], observed=True).transform("mean")
    of_blocks = rest.groupby([timed[MADE_ON], timed["block"]], observed=True).mean()
    return {str(node): of.to_numpy() for node, of in of_blocks.groupby(level=0, observed=True)}
