"""Hooks of mkdocs: links that lead out of docs/ stay on the site, which says where it was built.

The gallery (website/gallery.py) lies beside the pages of docs/, and so does the notebook with its
outputs (website/notebook.py).
"""

import os
import platform
import re
import subprocess
from pathlib import Path
from posixpath import dirname, normpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from pinstudy.base import VERSION

_LINK = re.compile(r"(?<=\]\()[^)#:\s]+(?=[)#])")
# Pages that are not in docs/; any other file gets a page that shows it as code.
_PAGES = [*map(str, Path().glob("*.md")), "vnode/README.md", "benchmarks/RESULTS.md"]
_MADE = (Path("build/gallery"), Path("build/notebook"))


def _on_site(link: str, page: str) -> str:
    """Return the site's page for a link; pages are named by their place in the checkout."""
    path = normpath(f"{dirname(page)}/{link}".lstrip("/"))
    # The notebook's page has its outputs.
    path = re.sub(r"^(docs/.+)\.ipynb$", r"\1.md", path)
    inside = path.startswith("docs/") or path.endswith(".md")
    return path.removeprefix("docs/") if inside else f"source/{path}.md"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Say below each page what it is the site of, and on what machine its gallery was drawn."""
    command = ["git", "log", "-1", "--format=commit %h of %cs"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    config.copyright = (
        f"pinstudy {VERSION}{commit and f', {commit}'}. Built on {platform.system()} "
        f"{platform.release()}, {platform.machine()}, {os.cpu_count()} CPUs. "
        "Pages and gallery say where their numbers were measured."
    )
    return config


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages that are not in docs/, and those that show a file."""
    added = {page: Path(page).read_text() for page in _PAGES}
    for page in [*(f"docs/{file.src_uri}" for file in files.documentation_pages()), *_PAGES]:
        for uri in (_on_site(link, page) for link in _LINK.findall(Path(page).read_text())):
            shown = Path(uri[len("source/") : -len(".md")])
            if uri.startswith("source/") and shown.is_file():
                code = f"````{shown.suffix[1:]}\n{shown.read_text()}````\n"
                added[uri] = f"---\nsearch: {{exclude: true}}\n---\n# {shown}\n\n{code}"
    for uri, text in added.items():
        files.append(File.generated(config, uri, content=text))
    for folder in _MADE:
        for path in filter(Path.is_file, sorted(folder.rglob("*"))):
            uri = path.relative_to(folder).as_posix()
            files.append(File.generated(config, uri, abs_src_path=str(path.resolve())))


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Return a page whose links lead to the site's pages."""
    here = page.file.src_uri
    place = here if here in _PAGES else f"docs/{here}"
    linked = _LINK.sub(lambda link: f"/{_on_site(link[0], place)}", markdown)
    return markdown if here.startswith("source/") else linked
