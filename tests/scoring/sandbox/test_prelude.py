from pathlib import Path

import pytest

from scoring.sandbox import prelude
from scoring.sandbox.spec import Bind, SandboxError
from tests.scoring.sandbox import inside


def test_the_stage_never_covers_a_source() -> None:
    assert prelude.choose_stage((Path("/root/x"), Path("/home/y"))) == "/mnt"
    assert prelude.choose_stage((Path("/mnt/disk/project"),)) != "/mnt"
    with pytest.raises(SandboxError, match="mkdir"):
        prelude.choose_stage(tuple(Path(place, "x") for place in ("/mnt", "/media", "/srv", "/opt")))


def test_system_files_and_an_ordinary_user_need_no_stage() -> None:
    assert prelude.Stage(False)(Path("/data/y/script")) == "/data/y/script"
    stage = prelude.Stage(True)
    assert stage(Path("/usr/bin/env")) == "/usr/bin/env"
    assert stage(Path("/data/y/script")) == stage(Path("/data/y/script")) == "/mnt/0"


@pytest.mark.sandbox
def test_a_source_below_a_private_folder_is_reached_and_the_host_sees_no_mount(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    (private / "script").write_text("audited")
    (private / "script").chmod(0o444)
    before = Path("/proc/self/mountinfo").read_text()
    seen = inside.run(
        "print(open('/holdout/script').read(), tried(lambda: open('/holdout/script', 'w')))",
        mounts=(*inside.spec("").mounts, Bind(private / "script", "/holdout/script")),
    )
    content, answer = seen.text.split()
    assert content == "audited"
    assert answer in ("EROFS", "EACCES")
    assert Path("/proc/self/mountinfo").read_text() == before
