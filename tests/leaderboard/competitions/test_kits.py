"""Kits: named by content, copied once, plain files only."""

import os

import pytest

from leaderboard.competitions.kits import KitError, kit_path, store


@pytest.fixture
def kit(tmp_path):
    folder = tmp_path / "kit"
    (folder / "data").mkdir(parents=True)
    (folder / "prepare.py").write_text("# of this test\n")
    (folder / "data" / "table.txt").write_text("1\n")
    return folder


def test_the_copy_has_the_files_read_only_and_nothing_else(kit):
    (kit / "__pycache__").mkdir()
    (kit / "__pycache__" / "prepare.pyc").write_bytes(b"x")
    (kit / "__init__.py").touch()
    (kit / ".hidden").touch()
    copy = kit_path(store(kit))
    assert sorted(path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()) == [
        "data/table.txt",
        "prepare.py",
    ]
    assert (copy / "prepare.py").read_text() == "# of this test\n"
    assert (copy / "prepare.py").stat().st_mode & 0o222 == 0


def test_the_same_content_is_the_same_kit_and_other_content_another(kit):
    first = store(kit)
    assert store(kit) == first
    (kit / "data" / "table.txt").write_text("2\n")
    second = store(kit)
    (kit / "data" / "table.txt").rename(kit / "data" / "other.txt")
    assert len({first, second, store(kit)}) == 3


def test_a_copy_that_was_changed_is_not_trusted(kit):
    (kit / "prepare.py").write_text("# another\n")
    copy = kit_path(store(kit))
    (copy / "prepare.py").chmod(0o644)
    (copy / "prepare.py").write_text("# tampered\n")
    with pytest.raises(KitError, match="was changed"):
        store(kit)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda kit: (kit / "prepare.py").unlink(), "has no prepare.py"),
        (lambda kit: (kit / "train.py").write_text("pass\n"), "may not bring a train.py"),
        (lambda kit: (kit / "link.txt").symlink_to("/etc/passwd"), "link.txt is a link"),
        (lambda kit: (kit / "folder").symlink_to("/etc"), "folder is a link"),
        (lambda kit: os.mkfifo(kit / "pipe"), "pipe is a link or a special file"),
        (lambda kit: os.truncate(kit / "data" / "table.txt", 2**30), "at most 500 files of 64 MiB"),
    ],
)
def test_what_cannot_be_a_kit_is_refused(kit, spoil, says):
    spoil(kit)
    with pytest.raises(KitError, match=says):
        store(kit)


def test_no_folder_is_no_kit(tmp_path):
    with pytest.raises(KitError, match="there is no folder"):
        store(tmp_path / "none")
