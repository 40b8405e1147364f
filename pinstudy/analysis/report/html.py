"""What the HTML pages share: the one place where text is escaped, styles, policy, and pictures.

Our own figures stand in the page as SVG elements, so that they follow its colours: an image has
colours, fonts and tooltips of its own. What others drew stays an image. Even so only known elements
and attributes are written, so that nothing in a figure can load or run anything.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TypeVar
from xml.etree import ElementTree

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from pinstudy.analysis.figures.drawing import Drawing, NotDrawn, Tooltips
from pinstudy.analysis.figures.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PALE,
    PURPLE,
    SKY,
    VERMILION,
)
from pinstudy.base.text import printable

_HERE = Path(__file__).parent


def page_environment() -> Environment:
    """Return the environment of the pages' templates, which escapes every value."""
    return Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def visible(value: object) -> object:
    """Return a text with its control characters made visible, bidirectional ones too."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return printable(value, allowed="\n")


def style_of(name: str) -> Markup:
    """Return the style sheet of a page with figures: theirs, then the page's own file."""
    return text_of("drawn.css") + text_of(name)


def text_of(name: str) -> Markup:
    """Return a file beside the templates, to stand in a page as it is."""
    return Markup((_HERE / name).read_text(encoding="utf-8"))


def csp_digest(text: str) -> str:
    """Return what a Content-Security-Policy calls an inline style or script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


# The page's style sheet has a light and a dark value of each.
COLOURS = {
    BLACK: "currentColor",
    "#ffffff": "var(--ground)",
    GREY: "var(--soft)",
    PALE: "var(--line)",
    BLUE: "var(--blue)",
    SKY: "var(--sky)",
    VERMILION: "var(--vermilion)",
    GREEN: "var(--green)",
    PURPLE: "var(--purple)",
    ORANGE: "var(--orange)",
}
_ELEMENTS = frozenset(
    ("svg", "g", "path", "use", "text", "tspan", "defs", "clipPath", "rect", "pattern", "image")
)
# Of bitmaps: one and a half times that of a screen.
SCREEN_DPI = 144
# What parts have from their group unless they say it themselves.
_INHERITED = (
    "fill", "fill-opacity", "fill-rule", "stroke", "stroke-width", "stroke-opacity",
    "stroke-dasharray", "stroke-dashoffset", "stroke-linecap", "stroke-linejoin", "font-size",
    "font-style", "font-weight", "text-anchor",
)  # fmt: skip
_SHARED = frozenset((*_INHERITED, "clip-path"))
_STYLES = frozenset((*_INHERITED, "opacity"))
_GEOMETRY = frozenset((
    "x", "y", "width", "height", "viewBox", "transform", "patternUnits", "preserveAspectRatio",
))  # fmt: skip
# What SVG takes where nothing is said, and matplotlib says all the same.
_INITIAL = {
    "stroke-dashoffset": "0",
    "font-style": "normal",
    "font-weight": "400",
    "text-anchor": "start",
    "stroke-width": "1",
}
_NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")
_BLANKS = re.compile(r"\s+")
# In a path no blank is needed beside a command's letter.
_BESIDE_LETTERS = re.compile(r" ?([A-Za-z]) ?")
_NO_TURN = re.compile(r"\s*rotate\(-?0(?: [^)]*)?\)\s*")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_PICTURE = "data:image/png;base64,"


@dataclass
class _Element:
    name: str
    attributes: dict[str, str]
    text: str = ""
    tooltip: str = ""
    children: list[_Element] = field(default_factory=list)


def inline_svg(drawing: Drawing, prefix: str) -> Markup:
    """Return a figure as an element of the page; `prefix` tells its ids from other figures'."""
    root = _read(ElementTree.fromstring(drawing.data("svg", SCREEN_DPI)), drawing.tooltips)
    assert root is not None
    for element in list(_all_of(root)):
        _hoist(element)
        _group(element)
    _name_anew(root, prefix)
    root.attributes = {
        # Numbers in the cells of a colour map are black or white by the cell: it keeps its colours.
        "class": "drawn paper" if any(axes.images for axes in drawing.figure.axes) else "drawn",
        "role": "img",
        "aria-label": drawing.alt,
        "viewBox": root.attributes["viewBox"],
        "fill": "currentColor",
        # matplotlib's own style sheet says this, which the page's policy would not let in.
        "stroke-linejoin": "round",
    }
    return Markup("".join(_written(root)))


def _read(node: ElementTree.Element, tooltips: Tooltips) -> _Element | None:
    """Return an element of what may be written; None for one that may not, or says nothing."""
    name = node.tag.rpartition("}")[2]
    if name not in _ELEMENTS:
        return None
    element = _Element(name, dict(_attributes(node)), node.text or "")
    said = tooltips.get(node.get("id", ""), "")
    element.tooltip = said if isinstance(said, str) else ""
    children = (_read(child, tooltips) for child in node)
    element.children = [part for child in children if child for part in _unwrapped(child)]
    if said and not isinstance(said, str):
        _tell(list(_marks_of(element)), said)
    if name != "text" and name != "tspan":
        element.text = ""
    is_empty = name in ("g", "defs") and not element.children
    # The page's own ground shows as well without it.
    is_ground = name == "path" and element.attributes.keys() <= {"id", "d", "fill"}
    is_ground = is_ground and element.attributes.get("fill") == COLOURS["#ffffff"]
    return None if is_empty or is_ground else element


def _tell(marks: Sequence[_Element], tooltips: Sequence[str]) -> None:
    """Give each mark its own tooltip; marks beyond the page are not in the file."""
    if len(marks) == len(tooltips):
        for mark, tooltip in zip(marks, tooltips, strict=True):
            mark.tooltip = tooltip


def _marks_of(element: _Element) -> Iterator[_Element]:
    for child in element.children:
        if child.name in ("use", "path"):
            yield child
        elif child.name != "defs":
            yield from _marks_of(child)


def _unwrapped(element: _Element) -> list[_Element]:
    """Return the parts of a group that adds nothing to them; a single one takes its tooltip."""
    adds = set(element.attributes) - {"id"}
    marks = [child for child in element.children if child.name != "defs"]
    if element.name != "g" or adds or (element.tooltip and len(marks) != 1):
        return [element]
    if element.tooltip:
        marks[0].tooltip = element.tooltip
    return element.children


def _attributes(node: ElementTree.Element) -> Iterator[tuple[str, str]]:
    declarations = (part.partition(":") for part in node.get("style", "").split(";"))
    styles = {key.strip(): value.strip() for key, _, value in declarations}
    named = {key.rpartition("}")[2]: value for key, value in node.attrib.items()}
    for key, value in (named | styles).items():
        if key in _STYLES and _INITIAL.get(key) != value:
            yield key, COLOURS.get(value, _short(value))
        elif key == "d":
            yield key, _path(value)
        elif key in ("id", "clip-path") or (key == "href" and value.startswith(("#", _PICTURE))):
            yield key, value
        elif key in _GEOMETRY and not _NO_TURN.fullmatch(value):
            yield key, _short(value)


def _path(text: str) -> str:
    return _BESIDE_LETTERS.sub(r"\1", _BLANKS.sub(" ", _short(text)).strip())


def _short(text: str) -> str:
    """Return numbers with two decimals: a hundredth of a point is not seen."""
    return _NUMBER.sub(lambda found: f"{round(float(found[0]), 2):g}", text)


def _all_of(element: _Element) -> Iterator[_Element]:
    for child in element.children:
        yield from _all_of(child)
    yield element


def _hoist(element: _Element) -> None:
    """Let a group say what all of its parts would say: a dot a run is half a file otherwise."""
    if element.name != "g" or len(element.children) < 2:
        return
    first, *more = (child.attributes for child in element.children)
    for key in _INHERITED:
        is_free = key in first and key not in element.attributes
        if is_free and all(attributes.get(key) == first[key] for attributes in more):
            element.attributes[key] = first[key]
            for child in element.children:
                del child.attributes[key]


def _group(element: _Element) -> None:
    """Put neighbours that look the same into a group, which says once how they look."""
    if element.name not in ("svg", "g"):
        return
    runs = [list(run) for _, run in groupby(element.children, key=_look)]
    element.children = [part for run in runs for part in (_together(run) if run[1:] else run)]


def _look(element: _Element) -> tuple[object, ...]:
    looks = {key: value for key, value in element.attributes.items() if key in _SHARED}
    # Definitions and groups stay as they are: each is a run of its own.
    alone = id(element) if element.name in ("defs", "g", "clipPath", "pattern") else 0
    return element.name, alone, sorted(looks.items())


def _together(run: list[_Element]) -> list[_Element]:
    shared = {key: value for key, value in run[0].attributes.items() if key in _SHARED}
    if not shared:
        return run
    for element in run:
        for key in shared:
            del element.attributes[key]
    return [_Element("g", shared, children=run)]


def _name_anew(root: _Element, prefix: str) -> None:
    """Give what is referred to a short id that no other figure has; the others get none."""
    wanted = dict.fromkeys(
        name for element in _all_of(root) for name in _references(element.attributes)
    )
    names = {name: f"{prefix}{number}" for number, name in enumerate(wanted)}
    for element in _all_of(root):
        name = element.attributes.pop("id", "")
        if name in names:
            element.attributes["id"] = names[name]
        for key, value in element.attributes.items():
            if key == "href" and value.startswith("#"):
                element.attributes[key] = f"#{names[value[1:]]}"
            else:
                element.attributes[key] = _REFERENCE.sub(
                    lambda found: f"url(#{names[found[1]]})", value
                )


def _references(attributes: Mapping[str, str]) -> Iterator[str]:
    for key, value in attributes.items():
        if key == "href" and value.startswith("#"):
            yield value[1:]
        elif found := _REFERENCE.search(value):
            yield found[1]


def _written(element: _Element) -> Iterator[str]:
    yield f"<{element.name}"
    for key, value in element.attributes.items():
        yield f' {key}="{escape(value)}"'
    inside = [escape(element.text)] if element.text.strip() else []
    if element.tooltip:
        inside.insert(0, Markup("<title>{}</title>").format(element.tooltip))
    if not inside and not element.children:
        yield "/>"
        return
    yield ">"
    yield from inside
    for child in element.children:
        yield from _written(child)
    yield f"</{element.name}>"


_SENTENCES = re.compile(r"\S.*?[.](?= |$)")
Place = TypeVar("Place", bound=Hashable)


@dataclass(frozen=True)
class Picture:
    """A figure of the page; `is_wide`: wider than a phone, which scrolls it."""

    title: str
    caption: str
    svg: Markup
    is_wide: bool


# Inches.
_WIDE = 4.5


def picture_of(drawing: Drawing, prefix: str) -> Picture:
    """Return a figure as it stands in the page; `prefix` tells its ids from other figures'."""
    is_wide = float(drawing.figure.get_figwidth()) > _WIDE
    return Picture(drawing.title, drawing.caption, inline_svg(drawing, prefix), is_wide)


def picture_or_reason(drawn: Drawing | NotDrawn, prefix: str) -> Picture | NotDrawn:
    """Return a figure as it stands in the page, or why it is not drawn."""
    return drawn if isinstance(drawn, NotDrawn) else picture_of(drawn, prefix)


def pictures_by_place(
    drawn: Iterable[tuple[Place, Drawing | NotDrawn]], prefix: str
) -> dict[Place, list[Picture | NotDrawn]]:
    """Return the figures of each table or experiment; of each its text is kept, no more."""
    pictures: dict[Place, list[Picture | NotDrawn]] = {}
    for number, (place, drawing) in enumerate(drawn, 1):
        pictures.setdefault(place, []).append(picture_or_reason(drawing, f"{prefix}{number}-"))
    return pictures


def explained_once(
    by_place: Mapping[Place, Sequence[Picture | NotDrawn]],
) -> dict[Place, list[Picture | NotDrawn]]:
    """Return the pictures; a sentence on how they are read stands below the first of them only.

    So does the reason why one is not drawn.
    """
    known: set[tuple[str, str]] = set()
    pictures: dict[Place, list[Picture | NotDrawn]] = {}
    for place, found in by_place.items():
        pictures[place] = []
        for picture in found:
            if isinstance(picture, Picture):
                pictures[place].append(_with_news(picture, known))
            elif (picture.title, picture.reason) not in known:
                known.add((picture.title, picture.reason))
                pictures[place].append(picture)
    return pictures


def _with_news(picture: Picture, known: set[tuple[str, str]]) -> Picture:
    """Return a picture with the sentences of its caption that are not known; add them to those."""
    captions = [(picture.title, text) for text in _SENTENCES.findall(picture.caption)]
    caption = " ".join(text for title, text in captions if (title, text) not in known)
    known.update(captions)
    return replace(picture, caption=caption)
