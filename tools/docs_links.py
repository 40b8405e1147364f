"""A hook of mkdocs: a link that leads out of docs/ leads to the same file on the site.

The gallery (tools/gallery.py) lies beside the pages of docs/.
"""

import re
from pathlib import Path
from posixpath import dirname, normpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_LINK = re.compile(r"(?<=\]\()[^)#:\s]+(?=[)#])")
# Pages that are not in docs/; any other file gets a page that shows it as code.
_PAGES = [*map(str, Path().glob("*.md")), "vnode/README.md", "benchmarks/RESULTS.md"]
_GALLERY = Path("build/gallery")


def _on_site(link: str, page: str) -> str:
    """Return the site's page for a link; pages are named by their place in the checkout."""
    path = normpath(f"{dirname(page)}/{link}".lstrip("/"))
    inside = path.startswith("docs/") or path.endswith(".md")
    return path.removeprefix("docs/") if inside else f"source/{path}.md"


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
    for path in filter(Path.is_file, sorted(_GALLERY.rglob("*"))):
        uri = path.relative_to(_GALLERY).as_posix()
        files.append(File.generated(config, uri, abs_src_path=str(path.resolve())))


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Return a page whose links lead to the site's pages."""
    here = page.file.src_uri
    place = here if here in _PAGES else f"docs/{here}"
    linked = _LINK.sub(lambda link: f"/{_on_site(link[0], place)}", markdown)
    return markdown if here.startswith("source/") else linked
