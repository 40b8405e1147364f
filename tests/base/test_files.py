"""Files of unknown origin are read whole or refused; folders are opened level by level."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinstudy.base.files import NotAFileError, read_regular, write_whole
from pinstudy.base.folders import OpenFolder, PlantedLinkError
from tests.support.ordinary_user import NOBODY, open_folder, ordinary_user


def test_a_file_is_read_up_to_a_byte_beyond_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    (tmp_path / "link").symlink_to(path)
    assert read_regular(path, 5) == b"12345"
    assert read_regular(tmp_path / "link", 3) == b"1234"
    assert read_regular(path, 4) == b"12345"


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(Path.mkdir, id="folder"),
        pytest.param(os.mkfifo, id="pipe without a writer"),
        pytest.param(lambda path: path.symlink_to("/dev/zero"), id="device without an end"),
        pytest.param(lambda path: path.symlink_to("/dev/tty"), id="terminal"),
    ],
)
def test_what_is_no_file_is_refused_without_being_opened(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "it")
    with pytest.raises(NotAFileError):
        read_regular(tmp_path / "it", 10)


def test_a_file_of_the_kernel_that_waits_for_news_is_not_waited_for(tmp_path: Path) -> None:
    # By its mode a regular file; a read blocks until the kernel's next message.
    (tmp_path / "it").symlink_to("/proc/kmsg")
    with suppress(OSError):
        read_regular(tmp_path / "it", 1 << 24)


def test_a_link_to_itself_and_a_name_with_a_nul_are_errors_that_callers_expect(
    tmp_path: Path,
) -> None:
    (tmp_path / "it").symlink_to("it")
    with pytest.raises(OSError, match="symbolic links"):
        read_regular(tmp_path / "it", 10)
    with pytest.raises(ValueError, match="null"):
        read_regular("a\0b", 10)


def test_the_content_is_on_the_disk_before_the_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new" / "file.json"
    synced: list[tuple[str, bytes, bool]] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        fsync(descriptor)
        file = Path(f"/proc/self/fd/{descriptor}").readlink()
        content = b"" if file.is_dir() else file.read_bytes()
        synced.append((file.name.partition(".json")[0], content, path.exists()))

    monkeypatch.setattr(os, "fsync", noted)
    write_whole(path, b"content")
    assert synced == [(".file", b"content", False), ("new", b"", True)]
    assert [file.name for file in path.parent.iterdir()] == ["file.json"]


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(OSError(5, "Input/output error"), id="disk fails"),
        pytest.param(KeyboardInterrupt(), id="user stops pinstudy"),
    ],
)
def test_a_write_that_ends_early_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    path = tmp_path / "file.json"
    write_whole(path, b"old")

    def failing(_descriptor: int) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(type(error)):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["file.json"]


SOMEBODY = 12345
USERS = (0, NOBODY) if os.geteuid() == 0 else (os.geteuid(),)
OWNERS = (0, NOBODY, SOMEBODY) if os.geteuid() == 0 else (os.geteuid(),)
NAMES = ("a", "b", "c")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder of root that every user can enter."""
    with open_folder() as folder:
        yield folder


def need_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give files away")


def made_by(user: int, path: Path, mode: int = 0o755) -> Path:
    """Make a folder of a user."""
    path.mkdir()
    path.chmod(mode)
    os.chown(path, user, user)
    return path


def link_of(user: int, path: Path, target: Path | str) -> Path:
    path.symlink_to(target)
    os.chown(path, user, user, follow_symlinks=False)
    return path


@pytest.mark.parametrize("level", ["last", "middle", "in the middle of another link"])
def test_a_link_of_somebody_else_is_refused_and_named_at_every_level(
    place: Path, level: str
) -> None:
    need_root()
    made_by(0, place / "secret")
    theirs = made_by(NOBODY, place / "theirs")
    link = link_of(NOBODY, theirs / "records", place / "secret")
    path = {
        "last": link,
        "middle": link / "below" / "it",
        "in the middle of another link": link_of(0, place / "mine", "theirs/records") / "below",
    }[level]
    expected = rf"^{link} is a link that user {NOBODY} has made; pinstudy does not follow it: "
    for make in (True, False):
        with pytest.raises(PlantedLinkError, match=expected):
            OpenFolder(path, make=make)
    assert list((place / "secret").iterdir()) == []


def test_a_link_with_a_second_name_in_a_sticky_folder_is_refused(place: Path) -> None:
    need_root()
    shared = made_by(0, place / "shared", 0o1777)
    link = link_of(0, place / "link", "/")
    os.link(link, shared / "link", follow_symlinks=False)
    with pytest.raises(PlantedLinkError, match="in a folder that others may write"):
        OpenFolder(shared / "link")


def test_a_folder_that_may_be_entered_and_not_read_is_on_the_way(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o711)
    if os.geteuid() == 0:
        made_by(NOBODY, closed / "mine")
    else:
        (closed / "mine").mkdir()
    with ordinary_user(), OpenFolder(closed / "mine") as folder:
        folder.replace("file", b"content")
    assert (closed / "mine" / "file").read_bytes() == b"content"


def test_what_is_done_is_done_in_the_folder_that_was_opened(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    with OpenFolder(tmp_path / "first") as folder:
        (tmp_path / "first").rename(tmp_path / "moved")
        (tmp_path / "first").symlink_to("second")
        folder.replace("file", b"content")
        folder.rename("file", "renamed")
        folder.make_folder("below")
        os.close(folder.create("new"))
        folder.remove("new")
        folder.sync()
        assert folder.inside("renamed").read_bytes() == b"content"
    assert sorted(path.name for path in (tmp_path / "moved").iterdir()) == ["below", "renamed"]
    assert list((tmp_path / "second").iterdir()) == []


def test_nothing_is_appended_to_what_is_elsewhere_too(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (tmp_path / "hard link").hardlink_to(precious)
    (tmp_path / "link").symlink_to(precious)
    os.mkfifo(tmp_path / "pipe")
    with OpenFolder(tmp_path) as folder:
        for name in ("hard link", "link", "pipe"):
            with pytest.raises(OSError):
                os.close(folder.append_to(name))
        os.close(folder.append_to("new"))
    assert precious.read_text() == "precious"


def test_errors_name_the_whole_path(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    for path, error in (("none/below", "none"), ("file/below", "file"), ("loop", "loop")):
        with pytest.raises(OSError, match=rf"'{tmp_path / error}'"):
            OpenFolder(tmp_path / path)
    with OpenFolder(tmp_path) as folder, pytest.raises(OSError, match=rf"'{tmp_path / 'file'}'"):
        folder.create("file")


@dataclass
class Link:
    """A link of a random tree; a target that begins with `/` begins at the tree's top."""

    owner: int
    target: str


@dataclass
class Folder:
    """A folder of a random tree; a name without a node is that of a file."""

    owner: int = 0
    mode: int = 0o755
    inside: dict[str, Folder | Link | None] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        for name, node in self.inside.items():
            if node is None:
                (path / name).touch()
            elif isinstance(node, Folder):
                (path / name).mkdir()
                node.write(path / name)
            else:
                top = node.target.startswith("/")
                target = f"{TOP[0]}{node.target}" if top else node.target
                (path / name).symlink_to(target)
                os.chown(path / name, node.owner, node.owner, follow_symlinks=False)
        path.chmod(self.mode)
        os.chown(path, self.owner, self.owner)


# The tree's top on the disk, below which even many `..` stay in folders of the test.
TOP = [""]
DEPTH = 12
owners = st.sampled_from(OWNERS)
modes = st.sampled_from([0o755, 0o755, 0o711, 0o775, 0o757, 0o1777])
paths = st.tuples(
    st.sampled_from(["", "/"]),
    st.lists(st.sampled_from([*NAMES, *NAMES, "..", "."]), min_size=1, max_size=4),
).map(lambda parts: parts[0] + "/".join(parts[1]))
links = st.builds(Link, owners, paths)


def folders(depth: int) -> st.SearchStrategy[Folder]:
    nodes = links | st.none() | (folders(depth - 1) if depth else links)
    inside = st.dictionaries(st.sampled_from(NAMES), nodes, max_size=len(NAMES))
    return st.builds(Folder, owners, modes, inside)


def may_be_followed(link: str, user: int) -> bool:
    """Whether nobody but root and the user can have put a link where it is."""
    holder = Path(link).parent.stat()
    shared = holder.st_mode & 0o022 and not holder.st_mode & stat.S_ISVTX
    maker = Path(link).lstat().st_uid
    if maker == user != 0:
        return True
    makers = {maker, holder.st_uid}
    return not shared and makers <= {0, Path("/").stat().st_uid, user}


def expected(start: str, path: str, user: int) -> str:
    """Return where a path leads by the rule in its plainest words, or why it leads nowhere."""
    here, rest, followed = "/" if path.startswith("/") else start, path.split("/"), 0
    while rest:
        name, rest = rest[0], rest[1:]
        if name in ("", "."):
            continue
        if name == "..":
            here = os.path.dirname(here)  # noqa: PTH120
            continue
        at = f"{here.rstrip('/')}/{name}"
        try:
            found = os.lstat(at)
        except FileNotFoundError:
            return "missing"
        if stat.S_ISDIR(found.st_mode):
            here = at
            continue
        if not stat.S_ISLNK(found.st_mode):
            return "no folder"
        if not may_be_followed(at, user):
            return "planted"
        followed += 1
        if followed > 40:
            return "loop"
        target = os.readlink(at)  # noqa: PTH115
        here, rest = "/" if target.startswith("/") else here, target.split("/") + rest
    return here


def opened(path: str) -> str:
    try:
        with OpenFolder(Path(path)) as folder:
            return str(folder.real_path)
    except PlantedLinkError:
        return "planted"
    except OSError as error:
        words = {errno.ENOENT: "missing", errno.ENOTDIR: "no folder", errno.ELOOP: "loop"}
        return words[error.errno or 0]


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@settings(max_examples=150)
@given(tree=folders(2), tried=st.lists(paths, min_size=4, max_size=8))
def test_every_path_leads_where_the_rule_says(tree: Folder, tried: list[str]) -> None:
    with open_folder() as base:
        top = base.resolve().joinpath(*["d"] * DEPTH)
        top.mkdir(parents=True)
        TOP[0] = str(top)
        tree.write(top)
        for path in tried:
            whole = f"{top}{path}" if path.startswith("/") else path
            for user in USERS:
                # `Path` drops the dots, as the walk does.
                rule = expected(str(top), whole, user)
                with working_in(top), ordinary_user() if user else nullcontext():
                    assert opened(whole) == rule, (whole, user)
