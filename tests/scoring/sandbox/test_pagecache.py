"""Which files a model server has read is not to be seen afterwards: who times reading them would find bits."""

import ctypes
import mmap
import os
import random
from pathlib import Path

import pytest

from scoring.sandbox import pagecache, runfolder
from scoring.sandbox.cgroups import Group
from scoring.sandbox.spec import Bind
from tests.scoring.sandbox import inside

BITS = [random.Random(4).random() < 0.5 for _ in range(64)]  # noqa: S311 the same every time
SIZE = 3 * mmap.PAGESIZE

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)


def in_memory(path: Path) -> bool:
    """Ask the kernel whether any page of a file is in memory; submitted code may not, and times reads instead."""
    pages = ctypes.create_string_buffer(SIZE // mmap.PAGESIZE)
    with path.open("rb") as file:
        place = _libc.mmap(None, SIZE, mmap.PROT_READ, mmap.MAP_PRIVATE, file.fileno(), 0)
        try:
            assert _libc.mincore(place, SIZE, pages) == 0
        finally:
            _libc.munmap(place, SIZE)
    return any(page & 1 for page in pages.raw)


@pytest.fixture
def cold(tmp_path: Path) -> list[Path]:
    """Files that lie on disk and not in memory, one for each bit."""
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o755)
    files = [folder / f"{number:02d}" for number in range(len(BITS))]
    for path in files:
        path.write_bytes(bytes(SIZE))
    os.sync()
    pagecache.sweep([folder])
    if any(map(in_memory, files)):
        pytest.skip("this folder is kept in memory, or its pages may not be asked for")
    return files


def read_bits(files: list[Path], slot: str) -> None:
    """Read the files whose bit is set in a sandbox, which is dead afterwards."""
    code = f"for n, bit in enumerate({BITS}):\n    if bit: open(f'/shared/{{n:02d}}', 'rb').read()"
    base = inside.spec(code)
    caps = base.caps if slot == "trainer" else inside.without_output(base.caps)
    seen = inside.run(code, slot=slot, caps=caps, mounts=(*base.mounts, Bind(files[0].parent, "/shared")))
    assert (seen.text, seen.status) == ("", 0)


@pytest.mark.sandbox
def test_what_a_model_server_has_read_the_next_sandbox_cannot_tell(cold: list[Path]) -> None:
    read_bits(cold, "trainer")
    assert [in_memory(path) for path in cold] == BITS  # so it would pass: a trainer, who knows no secret, leaves it
    pagecache.sweep([cold[0].parent])
    read_bits(cold, "server")
    assert not any(in_memory(path) for path in cold)


@pytest.mark.sandbox
def test_without_a_memory_controller_everything_mounted_is_dropped(
    cold: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Group, "forget", lambda _: False)
    read_bits(cold, "server")
    assert not any(in_memory(path) for path in cold)


def test_every_file_below_a_folder_is_dropped(cold: list[Path]) -> None:
    deep = cold[0].parent / "a" / "b"
    deep.mkdir(parents=True)
    (cold[0].parent / "away").symlink_to("/")
    moved = [path.rename(deep / path.name) for path in cold[:5]]
    for path in moved + cold[5:]:
        path.read_bytes()
    assert pagecache.sweep([deep.parent, *cold[5:]]) == len(BITS)
    assert not any(in_memory(path) for path in moved + cold[5:])


def test_system_and_packages_are_what_every_sandbox_can_read() -> None:
    sources = pagecache.common_sources()
    assert Path("/usr") in sources
    assert any((source / "torch").is_dir() for source in sources)


@pytest.mark.parametrize("shown", [False, True])
def test_what_a_killed_runners_server_read_is_forgotten_by_the_next(
    cold: list[Path], tmp_path: Path, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pagecache, "common_sources", lambda: (cold[0].parent,))
    runs = tmp_path / "runs"
    folder = runs / "r000001.a000001"
    folder.mkdir(parents=True)
    (runs / f".{folder.name}.lock").touch()
    if shown:
        (folder / pagecache.SHOWN).touch()
    cold[0].read_bytes()
    assert runfolder.sweep(runs) == [folder.name]
    assert in_memory(cold[0]) != shown
