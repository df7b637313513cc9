"""Secrets that must be read again lie in files of our user's alone, which are never half written."""

import os

import pytest

from leaderboard.core.secrets import write_private


def test_only_our_user_reads_it_whatever_the_umask_is(tmp_path):
    path = tmp_path / "keys" / "a.key"
    before = os.umask(0)
    try:
        write_private(path, "first")
        write_private(path, "second")
    finally:
        os.umask(before)
    assert path.read_text() == "second"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert list(path.parent.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_one(tmp_path):
    path = tmp_path / "a.key"
    write_private(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_private(path, "half of it" + "\udcff")
    assert path.read_text() == "old"
