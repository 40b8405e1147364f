"""What is shown and written of a node's latencies: text, CSV, the heat map's files."""

from __future__ import annotations

from pathlib import Path

from analysis.figures.drawing import write_drawing
from analysis.figures.latency import draw_latency
from analysis.latency.report import LatencyFindings, pairs_csv
from analysis.render import render, wrapped
from analysis.written import write_file

PAIRS_FILE = "pairs.csv"


def findings_text(findings: LatencyFindings, width: int = 100) -> str:
    """Return the findings for a terminal of that many columns; tables and mappings may be wider."""
    parts = [
        *wrapped(findings.sentences, width),
        "",
        render(findings.tables, "text"),
    ]
    for title, environment in findings.mappings:
        parts += [f"{title}:", f"  {environment}"]
    return "\n".join(parts)


def write_findings(findings: LatencyFindings, folder: Path) -> list[Path]:
    """Write the pairs as CSV and the heat map as SVG, PDF and PNG; return the files' paths.

    Raises UserError when the folder cannot be written.
    """
    drawing = draw_latency(findings.latency, findings.clusters)
    return [
        write_file(folder / PAIRS_FILE, pairs_csv(findings.latency)),
        *write_drawing(drawing, folder),
    ]
