import contextlib
import hashlib
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, cast

import pytest

from scoring.sandbox.seal import UnsafeCheckpoint, copy_out, remove_tree, seal, tree_sha256
from scoring.sandbox.supervisor import Supervisor


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "final.pt").write_bytes(b"weights")
    return folder


def take(out: Path, target: Path, max_bytes: int = 10_000, max_files: int = 10) -> str:
    fd = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return copy_out(fd, target, max_bytes=max_bytes, max_files=max_files)
    finally:
        os.close(fd)


def test_a_checkpoint_is_known_by_names_sizes_and_contents(out: Path, tmp_path: Path) -> None:
    (out / "tables").mkdir()
    (out / "tables" / "a.bin").write_bytes(b"abc")
    digest = take(out, tmp_path / "copy")
    lines = [
        (n, len(c), hashlib.sha256(c).hexdigest()) for n, c in (("final.pt", b"weights"), ("tables/a.bin", b"abc"))
    ]
    assert digest == tree_sha256(lines)
    text = "".join(f"{n} {s} {h}\n" for n, s, h in lines)
    assert digest == hashlib.sha256(text.encode()).hexdigest()
    assert (tmp_path / "copy" / "tables" / "a.bin").read_bytes() == b"abc"


def _link(out: Path) -> None:
    (out / "x").symlink_to("/etc/passwd")


def _folder_link(out: Path) -> None:
    (out / "x").symlink_to("/etc")


def _second_name(out: Path) -> None:
    os.link(out / "final.pt", out / "x")


def _pipe(out: Path) -> None:
    os.mkfifo(out / "x")


def _socket(out: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        folder = os.open(out, os.O_RDONLY)
        server.bind(f"/proc/self/fd/{folder}/x")
        os.close(folder)


def _newline(out: Path) -> None:
    (out / "a\nb").write_text("x")


def _dot(out: Path) -> None:
    (out / ".hidden").write_text("x")


def _bytes(out: Path) -> None:
    os.close(os.open(os.fsencode(out) + b"/\xff", os.O_CREAT | os.O_WRONLY))


def _sparse(out: Path) -> None:
    (out / "x").touch()
    os.truncate(out / "x", 100 << 30)


def _many(out: Path) -> None:
    for n in range(20):
        (out / f"f{n}").touch()


def _deep(out: Path) -> None:
    (out / "/".join("d" * 20)).mkdir(parents=True)


@pytest.mark.parametrize(
    "plant",
    [_link, _folder_link, _second_name, _pipe, _socket, _newline, _dot, _bytes, _sparse, _many, _deep],
)
def test_anything_but_plain_files_refuses_the_whole_and_leaves_nothing(
    out: Path, tmp_path: Path, plant: object
) -> None:
    plant(out)  # type: ignore[operator]
    with pytest.raises(UnsafeCheckpoint):
        take(out, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_sealing_is_read_only_and_the_same_bytes_have_one_home(out: Path, tmp_path: Path) -> None:
    checkpoints = tmp_path / "checkpoints"
    fd = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
    digests = {seal(fd, checkpoints, f"a00{n}", max_bytes=1000, max_files=5) for n in range(2)}
    os.close(fd)
    (digest,) = digests
    assert [p.name for p in checkpoints.iterdir()] == [digest]
    assert (checkpoints / digest).stat().st_mode & 0o777 == 0o555
    assert (checkpoints / digest / "final.pt").stat().st_mode & 0o777 == 0o444
    remove_tree(checkpoints / digest)
    assert not (checkpoints / digest).exists()


class Holding(NamedTuple):
    """As much of a box as is looked at for the largest file."""

    folders: dict[str, int]


class Watching(NamedTuple):
    box: Holding


@contextlib.contextmanager
def as_an_ordinary_user() -> Iterator[Path]:
    """Give a folder in which file modes bind us, whoever started the test."""
    nobody, root = 61999, os.geteuid() == 0
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        if root:
            os.chown(folder, nobody, nobody)
            os.seteuid(nobody)
        try:
            yield folder
        finally:
            if root:
                os.seteuid(0)


@pytest.mark.parametrize("closed", ["out", "out/d", "out/final.pt"])
@pytest.mark.parametrize("mode", [0o400, 0o000])
def test_what_may_not_be_read_refuses_the_whole(closed: str, mode: int) -> None:
    with as_an_ordinary_user() as home:
        (home / "out" / "d").mkdir(parents=True)
        for name in ("final.pt", "d/x"):
            (home / "out" / name).write_text("x")
        fd = os.open(home / "out", os.O_RDONLY | os.O_DIRECTORY)  # as init sends it out, before the script starts
        os.chmod(home / closed, mode)
        try:
            if (closed, mode) == ("out/final.pt", 0o400):
                assert copy_out(fd, home / "copy", max_bytes=100, max_files=9)
            else:
                with pytest.raises(UnsafeCheckpoint, match="cannot be read"):
                    copy_out(fd, home / "copy", max_bytes=100, max_files=9)
                assert not (home / "copy").exists()
            largest = Supervisor._largest_file(cast(Supervisor, Watching(Holding({"out": fd}))))
            assert (largest == 0) == (closed == "out")
        finally:
            os.chmod(home / closed, 0o700)
            os.close(fd)
