"""Whether a card's picture is one that shows something and does nothing else.

Cards come from anybody. pinstudy draws their figures anew and never shows this picture, but people
and web sites may.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

MAX_LETTERS = 200_000
_MAX_ELEMENTS = 20_000
_SVG = "{http://www.w3.org/2000/svg}"
_ELEMENTS = frozenset(
    f"{_SVG}{name}"
    for name in (
        *("svg", "g", "defs", "path", "rect", "text", "tspan", "use", "clipPath", "pattern"),
        *("line", "circle", "polygon", "polyline", "title", "desc", "style"),
    )
)
# A reference within the picture itself.
_OUTSIDE = re.compile(r"url\s*\(\s*['\"]?(?!#)|@|javascript:|expression\s*\(", re.IGNORECASE)


def picture_problem(text: str) -> str | None:
    """Return why a picture is not taken: no SVG, too large, scripts or references outwards."""
    if len(text) > MAX_LETTERS:
        return f"is larger than {MAX_LETTERS} characters"
    # Without declarations there are no entities, which could grow without bounds.
    if "<!" in text or "<?" in text:
        return "has declarations or processing instructions, which no card's picture has"
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError):
        return "is no SVG picture"
    elements = list(root.iter())
    if root.tag != f"{_SVG}svg" or len(elements) > _MAX_ELEMENTS:
        return "is no SVG picture"
    for element in elements:
        if element.tag not in _ELEMENTS:
            return f"has an element that is not allowed: {str(element.tag)[-40:]!r}"
        for name, value in element.attrib.items():
            local = name.rpartition("}")[2].lower()
            is_outward = local in ("href", "src") and not value.startswith("#")
            if local.startswith("on") or is_outward or _OUTSIDE.search(value):
                return f"has an attribute that is not allowed: {local[:40]!r}"
        if element.tag == f"{_SVG}style" and _OUTSIDE.search(element.text or ""):
            return "has a style that refers to something outside of it"
    return None
