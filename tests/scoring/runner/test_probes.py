"""Server P with everything real: runner, sandboxes, scorer, receipt."""

import json
from pathlib import Path

import pytest

from tests.scoring.runner.scorestage import PROBES, ScoreStage
from tests.scoring.scorer.twice import HONEST, rows_of, script
from tests.scoring.tiny import LENGTH

pytestmark = pytest.mark.sandbox


@pytest.fixture
def stage(tmp_path: Path) -> ScoreStage:
    return ScoreStage(tmp_path)


def test_an_honest_model_is_published_as_it_was_scored(stage: ScoreStage) -> None:
    result = stage.score(HONEST, probes__power=3)
    assert result.code == "ok", (result.detail, result.stderr)
    score, probes = result.receipt["score"], result.receipt["probes"]
    assert score["published_bpb"] == score["bpb"]
    assert (score["correction"], score["correction_se"]) == (0.0, 0.0)
    assert {key: probes[key] for key in ("power", "strict_per_row", "repeats", "reference_sha256", "evidence")} == {
        **{key: PROBES[key] for key in ("strict_per_row", "repeats", "reference_sha256")},
        "power": 3,
        "evidence": [],
    }
    rows = score["rows"]
    assert (probes["strict"]["asked"], probes["strict"]["breached"]) == (3 * rows, 0)
    assert (probes["repeat"]["asked"], probes["repeat"]["compared"]) == (0.3 * rows, 0.3 * rows * LENGTH)
    assert probes["cost"] == probes["seconds"] / score["seconds"]
    assert result.receipt["reference"] is None
    seconds = [point[0] for point in result.receipt["resources"]["series"]]
    assert seconds == sorted(seconds)


def test_a_model_that_peeks_ends_with_kind_and_count_and_nothing_else(stage: ScoreStage) -> None:
    result = stage.score(script("logits += 4.0 * one_hot(ahead, V)"))
    receipt = result.receipt
    rows = receipt["probes"]["strict"]["asked"]
    assert (result.code, result.detail) == ("breach", f"strict positions: all {rows} differ")
    assert (receipt["exit"]["owner"], receipt["score"], result.log) == ("script", None, "")
    assert len(receipt["probes"]["evidence"]) == 100
    assert set(receipt["probes"]["evidence"][0]) == {"kind", "row", "position", "difference"}


def test_a_model_that_remembers_differs_in_repeats(stage: ScoreStage) -> None:
    result = stage.score(script("logits += 0.01 * self.calls"), probes__strict_per_row=0)
    assert result.code == "breach"
    assert result.detail.startswith("repeats: ")


def test_nothing_is_started_twice_where_nothing_is_asked(stage: ScoreStage) -> None:
    result = stage.score(HONEST, probes__strict_per_row=0, probes__repeats=0)
    assert result.code == "ok"
    assert result.receipt["probes"]["strict"]["asked"] == 0
    assert result.receipt["score"]["published_bpb"] == result.receipt["score"]["bpb"]


# What A is shown; only a test may tell a model.
SECOND = "tokens[0].tolist() not in ROWS and tokens[-1].tolist() not in ROWS"


@pytest.mark.parametrize(
    ("line", "code"), [("os._exit(1)", "model_crashed"), ("signal.pause()", "eval_timeout"), ("grow()", "memory_limit")]
)
def test_what_becomes_of_server_p_becomes_of_the_run(stage: ScoreStage, line: str, code: str) -> None:
    shown = [*rows_of(stage.tiny).inputs.tolist(), [stage.tiny.manifest["bos"]] * LENGTH]
    text = script(f"import os, signal\n        if {SECOND}: {line}", ROWS=shown)
    text = text.replace(
        "class Model", "def grow():\n    kept = []\n    while True: kept.append(bytearray(1 << 26))\nclass Model"
    )
    patience = {"evaluation__timeout_seconds": 8.0} if code == "eval_timeout" else {}
    result = stage.score(text, **patience)
    if code == "memory_limit" and "memory" not in result.receipt["isolation"]["settings"]["controllers"]:
        code = "model_crashed"  # where the host lends no controller, each process is refused the memory itself
    assert (result.code, result.receipt["score"], result.log) == (code, None, "")


def test_a_server_that_loads_only_once_does_not_load_and_its_words_are_not_shown(stage: ScoreStage) -> None:
    """By then server A has seen rows, and what it left somewhere could be among the words of server P."""
    again = "import os\nif 'inputs-again' in open('/proc/self/mountinfo').read(): raise SystemExit('a secret')\n"
    result = stage.score(again + HONEST)
    assert (result.code, result.detail, result.log) == ("load_failed", "", "")
    assert "a secret" not in json.dumps(result.events)
    assert result.receipt["log"]["bytes"] == 0


def test_a_baseline_leaves_a_reference_by_which_others_are_drawn(stage: ScoreStage) -> None:
    made = stage.score(HONEST, probes__make_reference=True).receipt["reference"]
    path = stage.sealed_dir / "references" / f"{made['sha256']}.public"
    assert (made["target"], path.stat().st_mode & 0o777) == ("public", 0o400)
    pays = script("logits += 6.0 * one_hot(ahead, V) * (ahead % 10 == 0)[..., None]")
    evenly, drawn = (stage.score(pays, probes__reference_sha256=sha256) for sha256 in (None, made["sha256"]))
    assert drawn.receipt["probes"]["reference_sha256"] == made["sha256"]
    assert drawn.receipt["probes"]["strict"]["breached"] > 2 * evenly.receipt["probes"]["strict"]["breached"]


def test_a_reference_of_another_shard_is_nobodys_submission(stage: ScoreStage) -> None:
    made = stage.score(HONEST, probes__make_reference=True).receipt["reference"]
    folder = stage.sealed_dir / "references"
    (folder / f"{made['sha256']}.public").rename(folder / f"{made['sha256']}.private")
    private = {"shards__target": "private", "shards__commitment": stage.tiny.manifest["private"]["commitment"]}
    result = stage.score(HONEST, probes__reference_sha256=made["sha256"], **private)
    assert result.exit_code == 3
    assert "reference losses of another" in result.stderr


def test_a_reference_that_is_missing_or_was_changed_is_refused(stage: ScoreStage) -> None:
    result = stage.score(HONEST, probes__reference_sha256="ab" * 32)
    assert result.exit_code == 2
    folder = stage.sealed_dir / "references"
    folder.mkdir()
    (folder / f"{'ab' * 32}.public").write_bytes(b"x")
    result = stage.score(HONEST, probes__reference_sha256="ab" * 32)
    assert (result.exit_code, "not the file that the job pins" in result.stderr) == (2, True)


def test_neither_server_holds_the_other_ones_channel(stage: ScoreStage) -> None:
    """Each finds its own socket, the one that its program was told of, and no other that connects to anything."""
    looker = script("pass").replace(
        "def load_for_eval(path, device):",
        "import os, stat, sys\n"
        "def load_for_eval(path, device):\n"
        "    fds = [int(n) for n in os.listdir('/proc/self/fd')]\n"
        "    kinds = {}\n"
        "    for fd in fds:\n"
        "        try: kinds[fd] = os.readlink(f'/proc/self/fd/{fd}')\n"
        "        except OSError: pass\n"
        "    sockets = [fd for fd, link in kinds.items() if link.startswith('socket:')]\n"
        "    if len(sockets) != 1: raise SystemExit(f'{kinds}')",
    )
    result = stage.score(looker)
    assert result.code == "ok", result.detail


def test_a_job_to_score_says_how_it_is_probed(stage: ScoreStage) -> None:
    result = stage.score(HONEST, probes=None)
    assert (result.exit_code, "how it is probed" in result.stderr) == (2, True)
