"""No two sandboxes that live at once are one user to the host."""

import os
from pathlib import Path

import pytest

from scoring.sandbox import box, uids
from scoring.sandbox.spec import SandboxError
from tests.scoring.sandbox import inside

THREE = range(61100, 61103)


def test_a_number_is_lent_once_and_can_be_lent_again(tmp_path: Path) -> None:
    users = [uids.borrow(tmp_path / "uids", THREE) for _ in THREE]
    assert sorted(user.uid for user in users) == list(THREE)
    with pytest.raises(SandboxError, match="61100 to 61102 are in use"):
        uids.borrow(tmp_path / "uids", THREE)
    users[1].release()
    users[1].release()
    again = uids.borrow(tmp_path / "uids", THREE)
    assert again.uid == users[1].uid
    for user in (users[0], users[2], again):
        user.release()


def test_without_a_place_for_the_locks_nothing_is_lent(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SandboxError, match="no user id can be borrowed"):
        uids.borrow(tmp_path / "file", THREE)


@pytest.mark.sandbox
@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has no other numbers to give")
def test_what_one_sandbox_holds_per_user_another_still_has() -> None:
    """The kernel counts inotify instances per user; the first sandbox takes all there are."""
    greedy = box.start(
        inside.spec(
            """
            import signal
            libc.inotify_init()
            while libc.inotify_init() >= 0: pass
            print("none left", flush=True)
            signal.pause()
            """
        )
    )
    try:
        greedy.go()
        assert os.read(greedy.output, 100).startswith(b"none left")
        seen = inside.run("print(libc.inotify_init() >= 0)")
    finally:
        greedy.close()
    assert seen.text == "True\n"
    assert seen.host_uid != greedy.user.uid
