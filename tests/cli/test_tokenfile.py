"""The user's own file is edited by lines: what they wrote stays, and what cannot be edited safely is left alone."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from leaderboard.cli.errors import NotAuthenticated, Usage
from leaderboard.cli.files import read_user_file
from leaderboard.cli.tokenfile import remove_token, store_token, stored_token

HERE, THERE = "https://here.example:443", "https://there.example:443"
BY_HAND = """\
# my servers
url = "https://there.example"   # the big one
phase = "open"

[tokens]  # by server
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config/holdout/submit.toml"


def by_hand(path: Path, text: str, mode: int = 0o600) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_first_login_makes_the_file_and_remembers_the_server(path: Path) -> None:
    store_token(path, HERE, "hold_a", url="https://here.example")
    file = read_user_file(path)
    assert (file.values, file.tokens) == ({"url": "https://here.example"}, {HERE: "hold_a"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_comments_settings_and_other_tokens_stay(path: Path) -> None:
    text = '# mine\nurl = "https://there.example"  # big\n\n[tokens]\n# work\n"https://there.example" = "hold_t"\n'
    by_hand(path, text)
    store_token(path, HERE, "hold_a", url="https://here.example")
    store_token(path, HERE, "hold_b", url="https://here.example")
    assert read_user_file(path).tokens == {HERE: "hold_b", THERE: "hold_t"}
    assert read_user_file(path).values == {"url": "https://there.example"}
    remove_token(path, HERE)
    assert path.read_text() == text


def test_another_spelling_of_the_same_server_is_replaced(path: Path) -> None:
    by_hand(path, '[tokens]\n"HTTPS://Here.Example:443/" = "old"\n')
    store_token(path, HERE, "new", url="https://here.example")
    assert read_user_file(path).tokens == {HERE: "new"}


def test_a_comment_behind_the_table_does_not_hide_it(path: Path) -> None:
    by_hand(path, BY_HAND)
    store_token(path, HERE, "hold_a", url="https://here.example")
    assert path.read_text() == BY_HAND + f'"{HERE}" = "hold_a"\n'


@pytest.mark.parametrize(
    "text", ['tokens = {"https://there.example" = "t"}\n', '[tokens]\n"https://here.example" = """\nold"""\n']
)
def test_what_cannot_be_edited_by_lines_is_left_as_it_is(path: Path, text: str) -> None:
    by_hand(path, text)
    with pytest.raises(Usage, match="edit its \\[tokens\\] yourself"):
        store_token(path, HERE, "hold_a", url="https://here.example")
    assert path.read_text() == text
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_file_that_others_can_open_is_not_touched_while_it_holds_tokens(path: Path) -> None:
    by_hand(path, '[tokens]\n"https://there.example" = "t"\n', 0o644)
    with pytest.raises(NotAuthenticated, match="chmod 600"):
        store_token(path, HERE, "hold_a", url="https://here.example")


def test_a_link_to_the_file_stays_a_link(path: Path, tmp_path: Path) -> None:
    target = by_hand(tmp_path / "dotfiles/submit.toml", 'phase = "open"\n', 0o644)
    path.parent.mkdir(parents=True)
    path.symlink_to(target)
    store_token(path, HERE, "hold_a", url="https://here.example")
    assert path.is_symlink()
    assert stored_token(path, HERE) == "hold_a"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_logins_at_once_lose_no_token(path: Path) -> None:
    origins = [f"https://host{number}.example:443" for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda origin: store_token(path, origin, f"t-{origin[8:14]}", url=origin), origins))
    assert set(read_user_file(path).tokens) == set(origins)


def test_removing_what_is_not_there_changes_nothing(path: Path) -> None:
    remove_token(path, HERE)
    assert not path.exists()
    assert stored_token(path, HERE) is None
    by_hand(path, 'phase = "open"\n')
    remove_token(path, HERE)
    assert path.read_text() == 'phase = "open"\n'


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "holdout").write_text("a file where the folder should be")
    with pytest.raises(Usage, match="cannot be written"):
        store_token(tmp_path / "holdout/submit.toml", HERE, "hold_a", url="https://here.example")
