"""Finding studies, apps and mappings by name and by path."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from base.errors import ConfigError, UserError
from configs import library
from tests.configs.shelves import LU, STUDY


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.yaml").write_text(STUDY.replace("small", "quick"))
    return tmp_path


def test_a_study_is_found_by_the_path_of_its_file(folder: Path) -> None:
    study = library.load_study(folder / "mine.yaml")

    assert study.name == "mine"
    assert study.apps[0].app.sizes["quick"].arguments == ("1500",)


def test_an_app_beside_the_study_goes_before_the_installation_s(folder: Path) -> None:
    (folder / "apps").mkdir()
    (folder / "apps" / "lu.yaml").write_bytes(LU.replace(b"small", b"quick"))

    study = library.load_study(str(folder / "mine.yaml"))

    assert study.apps[0].app.sizes["quick"].arguments == ("100",)


def test_an_app_named_by_its_file_is_found_from_the_study_s_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "own").mkdir()
    (folder / "own" / "other.yaml").write_bytes(LU)
    text = STUDY.replace("app: lu", "app: own/other.yaml")
    (folder / "mine.yaml").write_text(text)
    monkeypatch.chdir("/")

    assert library.load_study(folder / "mine.yaml").apps[0].app.name == "other"


def test_messages_name_a_file_below_the_working_directory_by_its_relative_path(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "bad.yaml").write_text(STUDY)
    monkeypatch.chdir(folder)

    with pytest.raises(ConfigError) as error:
        library.load_study(folder / "bad.yaml")

    assert str(error.value).startswith("bad.yaml:5:13: size 'small' is not known to app 'lu'")


def test_an_unknown_app_is_reported_with_the_folders_where_it_was_looked_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "mine.yaml").write_text(STUDY.replace("app: lu", "app: mesher"))
    monkeypatch.chdir(folder)

    with pytest.raises(ConfigError) as error:
        library.load_study("mine.yaml")

    shelf = library.CONFIGS / "apps"
    assert str(error.value).startswith("mine.yaml:3:10: app 'mesher' is not known")
    assert str(error.value).endswith(f"; looked in apps, {shelf}, {shelf / 'workloads'}")


@pytest.mark.parametrize("at", ["mine.yaml", "", "apps"])
def test_the_apps_beside_a_study_are_found_from_its_file_or_folder(folder: Path, at: str) -> None:
    (folder / "apps").mkdir()
    (folder / "apps" / "own.yaml").write_bytes(LU)

    found = library.apps_at(str(folder / at))

    assert {(path, app.name) for path, app in found.items()} == {
        (folder / "apps" / "own.yaml", "own")
    }


def test_the_file_of_an_app_is_checked_by_its_path(folder: Path) -> None:
    (folder / "own.yaml").write_bytes(LU)
    (app,) = library.apps_at(str(folder / "own.yaml")).values()
    assert app.name == "own"
    (folder / "own.yaml").write_bytes(LU.replace(b"title:", b"titel:"))
    with pytest.raises(ConfigError, match=r"own.yaml:\d+:1: key 'titel' is not known"):
        library.apps_at(str(folder / "own.yaml"))


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("none.yaml", "no such file or folder"),
        ("x\0y", "no such file or folder"),
        ("mine.yaml", "apps: no app is there; expected its file in apps/ beside the study"),
        ("", "no app is there"),
    ],
)
def test_a_path_without_apps_is_reported(folder: Path, at: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        library.apps_at(str(folder) + "/" + at)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("qiuck", "study 'qiuck' is not known; did you mean 'quick'? (known: "),
        ("./none.yaml", "none.yaml: cannot be read: No such file or directory"),
        ("/dev/null/x.yaml", "/dev/null/x.yaml: cannot be read: Not a directory"),
        ("/dev/", "/dev: is not a file; expected a YAML file"),
        ("/dev/null", "is not a file"),
        ("x\0y.yaml", "cannot be read"),
        ("", "study '' is not known"),
    ],
)
def test_an_unknown_study_is_reported_with_the_known_ones(name: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        library.load_study(name)

    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_app_or_mapping_is_reported_with_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean 'lulesh'"):
        library.load_app("lulsh")
    with pytest.raises(ConfigError, match="did you mean 'pcores-pin'"):
        library.read_study(STUDY.replace("pcores-pin", "pcore-pin").encode(), "x.yaml")


def test_the_start_needs_no_yaml() -> None:
    code = (
        "import sys, configs.library;"
        "print([name for name in ('yaml', 'hashlib') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=library.ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"
