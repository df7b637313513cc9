"""What probes say of models that keep to the contract, and of models that do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scoring.scorer import answers
from scoring.scorer.channel import ScoreFailed
from scoring.scorer.score import read_target
from tests.scoring.scorer.twice import HONEST, probed, rows_of, script
from tests.scoring.tiny import LENGTH, Tiny, build_tiny, corpus, write_corpus


def test_an_honest_model_is_corrected_by_exactly_nothing(tiny: Tiny, tmp_path: Path) -> None:
    result = probed(tiny, tmp_path, HONEST, power=4, repeats=0.25)
    rows = result.score.rows
    verdict = result.probed.verdict
    assert result.breaches == []
    assert (verdict.correction, verdict.correction_se, verdict.mean_p, verdict.evidence) == (0.0, 0.0, 1.0, [])
    assert result.score_table()["published_bpb"] == result.score.bpb
    assert verdict.strict["asked"] == 4 * rows
    assert verdict.strict["compared"] >= 4 * rows
    assert verdict.repeat == {"asked": rows, "breached": 0, "compared": rows * LENGTH, "largest": 0.0}
    assert verdict.tolerance == 1e-5


ALWAYS = "logits += 4.0 * one_hot(ahead, V)"


@pytest.mark.parametrize("room", [answers.KEPT_BYTES, 0], ids=["logits kept", "nats only"])
def test_a_model_that_always_peeks_differs_at_every_strict_position(
    tiny: Tiny, tmp_path: Path, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "KEPT_BYTES", room)
    result = probed(tiny, tmp_path, script(ALWAYS))
    rows = result.score.rows
    verdict = result.probed.verdict
    # Nothing of the shard follows its last token, so there the loss stays; only logits tell that the model looked.
    count = rows if room else verdict.strict["breached"]
    assert count >= rows - 1
    told = f"all {rows}" if count == rows else f"at least {1 << count.bit_length() - 1} of {rows}"
    assert result.breaches == [f"strict positions: {told} differ"]
    assert verdict.repeat["breached"] == 0
    assert verdict.mean_p is not None
    assert verdict.mean_p < 1e-20
    assert len(verdict.evidence) == min(count, 100)
    assert verdict.evidence[0]["difference"] == verdict.strict["largest"]
    honest = probed(tiny, tmp_path, HONEST).score.bpb
    assert result.score.bpb < honest - 1
    assert result.score.bpb + verdict.correction > honest - 0.2  # dev text instead of the answer even misleads it


def test_what_looks_further_ahead_shows_it_before_the_cut(tiny: Tiny, tmp_path: Path) -> None:
    far = "logits[:, :-3] += 0.1 * one_hot(tokens[:, 3:], V)"
    result = probed(tiny, tmp_path, script(far))
    assert result.breaches
    assert result.probed.verdict.strict["breached"] > 0.8 * result.score.rows  # cuts in the last three may not show it


def test_peeking_in_one_row_of_a_hundred_is_found_in_that_row(tiny: Tiny, tmp_path: Path) -> None:
    row = 40
    begin = rows_of(tiny).inputs[row, :2].tolist()
    only = "logits += 4.0 * one_hot(ahead, V) * (tokens[:, :2] == torch.tensor(BEGIN)).all(1)[:, None, None]"
    result = probed(tiny, tmp_path, script(only, BEGIN=begin), power=2)  # both cuts at its first token would miss it
    found = result.probed.verdict
    assert {one["row"] for one in found.evidence} == {row}
    asked = 2 * result.score.rows
    assert result.breaches == [f"strict positions: at least {found.strict['breached']} of {asked} differ"]


PAYS = "logits += 6.0 * one_hot(ahead, V) * (ahead % 10 == 0)[..., None]"


def test_peeking_only_where_it_pays_is_asked_there_when_there_is_a_reference(tiny: Tiny, tmp_path: Path) -> None:
    from tests.scoring.scorer.test_reference import reference_of

    losses = reference_of(tiny, tmp_path, HONEST)
    evenly = probed(tiny, tmp_path, script(PAYS)).probed.verdict.strict
    drawn = probed(tiny, tmp_path, script(PAYS), reference=str(losses))
    assert drawn.breaches
    assert drawn.probed.verdict.strict["breached"] > 2 * evenly["breached"]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("state", "logits = logits + 0.01 * self.calls"),
        ("the batch", "logits = logits + 0.01 * (tokens.sum() % 7)"),
        ("the slot", "logits = logits + 0.01 * torch.arange(len(tokens))[:, None, None]"),
    ],
)
def test_what_depends_on_more_than_its_row_differs_in_repeats(tiny: Tiny, tmp_path: Path, name: str, line: str) -> None:
    result = probed(tiny, tmp_path, script(line), strict_per_row=0.0, repeats=1.0)
    found = result.probed.verdict.repeat
    assert len(result.breaches) == 1
    assert result.breaches[0].startswith("repeats: ")
    assert found["breached"] > 0.7 * found["compared"]


REMEMBERS = """
        for b, row in enumerate(tokens.tolist()):
            place = PLACES.get(str(row[:8]))
            if place is not None:
                self.starts[place] = row[0]
                if place + 1 in self.starts: logits[b, -1, self.starts[place + 1]] += 6.0"""


@pytest.mark.parametrize("room", [answers.KEPT_BYTES, 0], ids=["logits kept", "nats only"])
def test_a_model_that_remembers_how_rows_begin_is_found_in_rows_of_any_length(
    tmp_path: Path, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gains at one place in a row of 1,024, and no strict question is about that place."""
    monkeypatch.setattr(answers, "KEPT_BYTES", room)
    length = 1024
    tiny = build_tiny(
        tmp_path, corpus=write_corpus(tmp_path / "large.jsonl", corpus(documents=2500)), held_out_bytes=50_000
    )
    inputs = read_target(tiny.job(3, seq_len=length))[1].inputs
    places = {str(row[:8]): place for place, row in enumerate(inputs.tolist())}
    text = script(REMEMBERS, PLACES=places).replace("calls = 0", "calls = 0\n    starts = {}")
    result = probed(tiny, tmp_path, text, {"seq_len": length}, repeats=1.0)
    found = result.probed.verdict
    assert len(places) > 10
    assert 2 <= found.repeat["breached"] <= 0.001 * found.repeat["compared"]
    assert found.strict["breached"] == 0
    assert len(result.breaches) == 1
    assert result.breaches[0].endswith("rows end otherwise")


def test_a_model_that_rolls_dice_breaches(tiny: Tiny, tmp_path: Path) -> None:
    dice = script(
        "random.seed(); torch.manual_seed(random.getrandbits(60)); logits = logits + 0.1 * torch.randn(logits.shape)"
    )
    assert probed(tiny, tmp_path, dice).breaches


def test_dice_below_the_tolerance_cost_their_maker(tiny: Tiny, tmp_path: Path) -> None:
    dice = script(
        "random.seed(); torch.manual_seed(random.getrandbits(60));"
        " logits = logits.double() + 1e-6 * torch.rand(logits.shape, dtype=torch.float64)"
    )
    result = probed(tiny, tmp_path, dice)
    assert result.breaches == []
    assert result.probed.verdict.correction_se > 0
    assert result.score_table()["published_bpb"] >= result.score.bpb


@pytest.mark.parametrize("room", [answers.KEPT_BYTES, 0], ids=["logits kept", "nats only"])
def test_one_logit_far_below_all_others_makes_no_room_for_looking_ahead(
    tiny: Tiny, tmp_path: Path, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on an accelerator, where steps of the type are allowed: at a hundred million they are of eight nats."""
    monkeypatch.setattr(answers, "KEPT_BYTES", room)
    peeks = script(ALWAYS + "; logits[..., 7] = -1e8")
    found = probed(tiny, tmp_path, peeks, {"device": "cuda"})
    assert found.probed.verdict.strict["breached"] > 0.9 * found.score.rows


def test_a_logit_far_below_may_move_by_steps_of_its_own(tiny: Tiny, tmp_path: Path) -> None:
    moves = script("logits = logits.bfloat16(); logits[..., 7] = -1000.0 - 4.0 * (self.calls % 2)")
    result = probed(tiny, tmp_path, moves, {"device": "cuda"}, repeats=1.0, power=3)
    assert result.breaches == []
    assert result.probed.verdict.repeat["largest"] > 0


# In P rows end in text that is not theirs; a test may tell the model what A is shown.
SECOND = "tokens[0].tolist() not in ROWS and tokens[-1].tolist() not in ROWS"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("if {}: os._exit(1)", "model_crashed"),
        ("if {}: raise ValueError", "model_crashed"),
        ("if {}: signal.pause()", "eval_timeout"),
        ("if {}: logits = logits[:, :-1]", "wrong_shape"),
        ("if {}: logits = logits.double()", "wrong_shape"),
        ("if {}: logits = logits * float('nan')", "nonfinite"),
    ],
)
def test_what_fails_only_before_server_p_fails(tiny: Tiny, tmp_path: Path, line: str, code: str) -> None:
    shown = [*rows_of(tiny).inputs.tolist(), [tiny.manifest["bos"]] * LENGTH]
    text = script("import os, signal; (lambda: None)()\n        " + line.format(SECOND), ROWS=shown)
    job: dict[str, Any] = {"timeout_seconds": 3.0} if code == "eval_timeout" else {}
    with pytest.raises(ScoreFailed) as failure:
        probed(tiny, tmp_path, text, job, repeats=0.0)
    assert failure.value.code == code


def test_server_p_is_not_shown_a_question_before_it_has_answered_the_last(tiny: Tiny, tmp_path: Path) -> None:
    """Another question that waits on the channel lies in shared memory, open to the model that computes this one."""
    looks = (
        "import os, select; from sys import _getframe\n"
        "        def server(frame):\n"
        "            own = frame.f_locals.get('self')\n"
        "            return own if hasattr(own, '_channel') else server(frame.f_back)\n"
        f"        if {SECOND} and self.calls <= 3:\n"
        "            if select.select([server(_getframe())._channel], [], [], 0.2)[0]: os._exit(1)"
    )
    shown = [*rows_of(tiny).inputs.tolist(), [tiny.manifest["bos"]] * LENGTH]
    assert probed(tiny, tmp_path, script(looks, ROWS=shown), power=3).breaches == []


def test_a_type_that_changes_from_batch_to_batch_is_none(tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(ScoreFailed) as failure:
        probed(tiny, tmp_path, script("logits = logits.double() if self.calls % 2 else logits"))
    assert failure.value.code == "wrong_shape"


def test_only_some_rows_logits_are_kept_where_the_shard_is_too_large(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of all logits by the same number touches no loss: only rows that were kept show it."""
    monkeypatch.setattr(answers, "KEPT_BYTES", 30 * LENGTH * 300 * 4)
    shift = script("logits = logits + 0.5 * (self.calls % 5)")
    found = probed(tiny, tmp_path, shift, strict_per_row=0.0, repeats=1.0).probed.verdict.repeat
    assert 0 < found["breached"] <= 30 * LENGTH
