"""What the HTML pages share: the one place where text is escaped, their styles and its policy."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

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
