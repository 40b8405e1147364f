"""Find studies, sites, apps and mappings of the installation, and a user's own.

A user's study may stand anywhere; apps that
it names are looked for in `apps/` beside it, then in the installation. The reader of YAML is
imported when a file is loaded: the start must not wait for it.
"""

from __future__ import annotations

import os
from functools import cache, partial
from pathlib import Path

from pinstudy.base.errors import UserError
from pinstudy.base.text import shown, unknown_word
from pinstudy.configs.app import App
from pinstudy.configs.mapping import Mapping
from pinstudy.configs.overrides import AS_WRITTEN, Overrides
from pinstudy.configs.site import Site
from pinstudy.configs.study import Study

CONFIGS = Path(__file__).resolve().parent
ROOT = CONFIGS.parent
SUFFIXES = (".yaml", ".yml")
# The folder beside a study, or of the installation, that holds the files of apps.
APPS = "apps"
_APP_FOLDERS = (CONFIGS / APPS, CONFIGS / APPS / "workloads")


def load_study(name_or_path: str | os.PathLike[str], overrides: Overrides = AS_WRITTEN) -> Study:
    """Return a study of the installation by its name, or a user's own by the path of its file.

    Raises ConfigError with every mistake in the files that were read, UserError when there is no
    such study, when its file cannot be read, or when the overrides do not fit it.
    """
    path = _own_or_installed(os.fspath(name_or_path), "study")
    return _study(*_source(path), path.parent, overrides)


def read_study(data: bytes, path: str) -> Study:
    """Return the study of the bytes of a file to be written at a path; raises ConfigError."""
    return _study(data, path, Path(path).parent)


def _study(data: bytes, path: str, beside: Path, overrides: Overrides = AS_WRITTEN) -> Study:
    from pinstudy.configs.load import parse_study

    # A file is read once, however many entries name its app.
    find_app = cache(partial(load_app, beside=beside))
    return parse_study(data, path, find_app, list_mappings(), overrides)


def load_app(name_or_path: str, beside: Path | None = None) -> App:
    """Return an app by its name, or by the path of its file relative to the folder `beside`.

    A name is looked for in `apps/` of that folder, then in the installation. Raises UserError
    when there is none, ConfigError with every mistake in its file.
    """
    from pinstudy.configs.load import parse_app

    return parse_app(*_source(_app_path(name_or_path, beside)))


def load_site(name_or_path: str) -> Site:
    """Return a site of the installation by its name, or a user's own by the path of its file.

    Raises UserError when there is none, ConfigError with every mistake in its file.
    """
    from pinstudy.configs.load import parse_site

    return parse_site(*_source(_own_or_installed(name_or_path, "site")))


def list_mappings() -> tuple[Mapping, ...]:
    """Return the installation's mappings, in the order of their file."""
    from pinstudy.configs.load import parse_mappings

    return parse_mappings(*_source(CONFIGS / "mappings.yaml"))


def list_apps() -> tuple[App, ...]:
    """Return the installation's apps, by name."""
    return tuple(load_app(name) for name in sorted(_installed_apps()))


def apps_at(path: str) -> dict[Path, App]:
    """Return the apps at a path, by their files.

    They are those in `apps/` beside a study's file or in a study's folder, or the one whose file it
    is. Raises UserError when there is none, ConfigError with every mistake in a file.
    """
    from pinstudy.configs.load import parse_app

    if not os.path.exists(path):  # noqa: PTH110 - a Path raises for a NUL
        raise UserError(
            f"{shown(path)}: no such file or folder; expected the file of an app, or a study's "
            "file or folder"
        )
    folder = Path(path)
    if not folder.is_dir():
        source, name = _source(folder)
        if not _is_study(source, name):
            return {folder: parse_app(source, name)}
        folder = folder.parent
    if folder.resolve().name != APPS:
        folder /= APPS
    files = _files_in(folder)
    if not files:
        raise UserError(
            f"{display_path(folder)}: no app is there; expected its file in {APPS}/ beside the "
            "study, such as my_app.yaml"
        )
    return {file: parse_app(*_source(file)) for file in files.values()}


def _is_study(data: bytes, path: str) -> bool:
    from pinstudy.configs.document import parse_yaml

    value = parse_yaml(data, path).value
    return isinstance(value, dict) and "apps" in value


def display_path(path: Path) -> str:
    """Return a path as messages show it: relative to the working directory if below it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def study_argument(study: Study) -> str:
    """Return the argument that names a study in any working directory."""
    return study.name if is_installed(study) else str(Path(study.path).absolute())


def is_installed(study: Study) -> bool:
    """Return whether a study is one of the installation's."""
    path = Path(study.path).absolute()
    return path.parent == CONFIGS / "studies" and path.suffix in SUFFIXES


def list_studies() -> tuple[Study, ...]:
    """Return the installation's studies, by name."""
    return tuple(map(load_study, installed_names("study")))


def installed_names(what: str) -> list[str]:
    """Return the names of the installation's files of a sort, `study` or `site`, in their order."""
    return list(_installed(what))


def _installed(what: str) -> dict[str, Path]:
    return _files_in(CONFIGS / {"study": "studies", "site": "sites"}[what])


def is_file_name(text: str) -> bool:
    """Return whether a text is meant as the path of a YAML file rather than as a name."""
    return "/" in text or text.endswith(SUFFIXES)


def _source(path: Path) -> tuple[bytes, str]:
    """Return a file's bytes, at most one more than MAX_BYTES, and its path as messages show it.

    Raises UserError when it cannot be read or is no regular file (a device or a pipe never ends).
    """
    from pinstudy.base.files import NotAFileError, read_regular
    from pinstudy.configs.document import MAX_BYTES

    try:
        return read_regular(path, MAX_BYTES), display_path(path)
    except NotAFileError:
        raise UserError(f"{path}: is not a file; expected a YAML file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{path}: cannot be read: {reason}") from error


def _own_or_installed(text: str, noun: str) -> Path:
    """Return the file of a study or site: a path as it is, a name from the installation."""
    if is_file_name(text):
        return Path(text)
    files = _installed(noun)
    if text not in files:
        raise UserError(
            f"{unknown_word(noun, text, files)}; for a file of your own give its path, "
            f"such as ./{noun}.yaml"
        )
    return files[text]


def _app_path(text: str, beside: Path | None) -> Path:
    if is_file_name(text):
        return (beside or Path()) / text
    files = _installed_apps()
    if beside is not None:
        files |= _files_in(beside / APPS)
    if text not in files:
        folders = [*([beside / APPS] if beside else []), *_APP_FOLDERS]
        looked = ", ".join(display_path(folder.absolute()) for folder in folders)
        raise UserError(f"{unknown_word('app', text, sorted(files))}; looked in {looked}")
    return files[text]


def _installed_apps() -> dict[str, Path]:
    """Return the files of the installation's apps by name: its own programs, and workloads."""
    first, second = map(_files_in, _APP_FOLDERS)
    return first | second


def own_apps() -> frozenset[str]:
    """Return the names of the installation's apps whose programs are its own or the originals."""
    return frozenset(_files_in(_APP_FOLDERS[0]))


def _files_in(folder: Path) -> dict[str, Path]:
    try:
        files = [path for path in folder.iterdir() if path.suffix in SUFFIXES]
    except OSError:
        return {}
    # Of `x.yaml` and `x.yml` the first one counts.
    files.sort(key=lambda path: (path.stem, path.suffix == ".yaml"))
    return {path.stem: path for path in files}
