"""Flag, the script's lines, environment, project file, user file: the first that says something is heard."""

from pathlib import Path

import pytest

from leaderboard.cli.errors import Usage
from leaderboard.cli.scriptlines import read_script_lines
from leaderboard.cli.settings import resolve
from tests.cli.conftest import Prompt
from tests.cli.site import Site

NOTHING: dict[str, str | None] = {}


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A home with a user file, and in it a folder with a project file; each says who it is."""
    folder = tmp_path / "home/project"
    user = tmp_path / "home/.config/holdout/submit.toml"
    for path, name in ((folder / ".submit.toml", "project"), (user, "user")):
        path.parent.mkdir(parents=True)
        path.write_text(f'url = "http://{name}"\ncompetition = "{name}"\nphase = "{name}"\n')
    return folder, tmp_path / "home"


def test_each_source_is_heard_when_those_before_it_are_silent(places: tuple[Path, Path]) -> None:
    folder, home = places
    flags = {"competition": "flag", "url": "http://flag"}
    environ = {"SUBMIT_COMPETITION": "environment", "SUBMIT_URL": "http://environment", "SUBMIT_NOTE": "environment"}
    lines = {"competition": "script", "note": "script"}

    def heard(*silent: str) -> str | None:
        if "project" in silent:
            (folder / ".submit.toml").unlink(missing_ok=True)
        return resolve(
            NOTHING if "flag" in silent else flags,
            NOTHING if "environment" in silent else environ,  # type: ignore[arg-type]
            {} if "script" in silent else lines,
            folder,
            home,
        ).competition

    assert heard() == "flag"
    assert heard("flag") == "script"
    assert heard("flag", "script") == "environment"
    assert heard("flag", "environment", "script") == "project"
    assert heard("flag", "environment", "script", "project") == "user"


def test_the_address_follows_the_same_order_without_the_script(places: tuple[Path, Path]) -> None:
    folder, home = places
    environ = {"SUBMIT_URL": "http://environment"}
    assert resolve({"url": "http://flag"}, environ, {}, folder, home).base == "http://flag"
    assert resolve({}, environ, {"url": "http://script"}, folder, home).base == "http://environment"
    assert resolve({}, {}, {"url": "http://script"}, folder, home).base == "http://project"
    (folder / ".submit.toml").unlink()
    assert resolve({}, {}, {"url": "http://script"}, folder, home).base == "http://user"


def test_a_project_file_above_the_home_folder_is_not_read(places: tuple[Path, Path]) -> None:
    folder, home = places
    (folder / ".submit.toml").rename(home.parent / ".submit.toml")
    assert resolve({}, {}, {}, folder, home).base == "http://user"


def test_an_unknown_key_of_a_file_is_named(places: tuple[Path, Path]) -> None:
    folder, home = places
    (folder / ".submit.toml").write_text('urll = "http://typo"\n')
    with pytest.raises(Usage, match="`urll` is not a setting"):
        resolve({}, {}, {}, folder, home)


def test_an_address_may_have_a_path_and_its_origin_names_the_port(places: tuple[Path, Path]) -> None:
    settings = resolve({"url": "HTTPS://Host.Example/holdout/"}, {}, {}, *places)
    assert (settings.base, settings.origin) == ("https://host.example/holdout", "https://host.example:443")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('x = 1\n#: submit launch="python train.py" note=wide\n', {"launch": "python train.py", "note": "wide"}),
        ("#: submit phase=a\n#: submit competition=b\n", {"phase": "a", "competition": "b"}),
        ("  #: submit phase=indented\ns = '#: submit phase=text'\n#: submits phase=other\n", {}),
        ("#: submit note=naïve\r\n", {"note": "naïve"}),
        (
            "#:submit\tlaunch='torchrun --nproc_per_node=2 train.py'\n",
            {"launch": "torchrun --nproc_per_node=2 train.py"},
        ),
        ("# submit with --check first\n#: submission: phase=a\n#: submit\n", {}),
    ],
)
def test_a_script_carries_its_own_harmless_settings(text: str, found: dict[str, str]) -> None:
    assert read_script_lines(text.encode(), "train.py") == found


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("\n#: submit phase", "train.py:2: .*takes competition"),
        ("# submit: phase=a", "train.py:1: .*written `#: submit key=value`"),
        ("#: submit: phase=a", "train.py:1: .*written `#: submit key=value`"),
        ("#: submit colour=red", "train.py:1: .*takes competition"),
        ("#: submit note='open", "train.py:1: a quotation mark"),
        ("#: submit phase=a phase=b", "train.py:1: .*second time"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(text: str, sentence: str) -> None:
    with pytest.raises(Usage, match=sentence):
        read_script_lines(text.encode(), "train.py")


def test_what_was_found_is_sent_and_what_nobody_said_is_left_out(prompt: Prompt, site: Site) -> None:
    site.life()
    prompt.write("train.py", '#: submit note="wider, 14 layers" phase=script\nprint("é")\n')
    assert prompt.submit("train.py", "--competition", "flag", "--no-wait").code == 0
    fields = site.asked[0].fields()
    script = fields.pop("script")
    assert script == (prompt.folder / "train.py").read_bytes()
    assert fields == {"competition": b"flag", "phase": b"script", "note": b"wider, 14 layers"}
