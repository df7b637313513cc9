"""Two texts of one script are run for three steps in the sandbox, and compared in every bit."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scoring.verify import compare

SCRIPT = """
import torch
from prepare import EVAL_SEQ_LEN, TOKENIZER_VOCAB_SIZE, ensure_tokenizer, make_dataloader, record_step_boundary


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(TOKENIZER_VOCAB_SIZE, 8)
        self.head = torch.nn.Linear(8, TOKENIZER_VOCAB_SIZE)

    def forward(self, tokens):
        logits = self.head(self.table(tokens))
        return logits if self.training else logits * SCALE


SCALE = 1.5
RATE = 0.1
if __name__ == "__main__":
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for step, (inputs, targets, _) in enumerate(make_dataloader(ensure_tokenizer(), 2, 16, "train", "cpu"), 1):
        loss = torch.nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        record_step_boundary(step)
"""


def verified(folder: Path, before: str, after: str) -> tuple[int, dict[str, object]]:
    for name, text in (("a.py", before), ("b.py", after)):
        (folder / name).write_text(text)
    command = [sys.executable, "-m", "scoring.verify", str(folder / "a.py"), str(folder / "b.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout)


def test_a_text_without_its_arm_for_evaluation_trains_the_same(tmp_path: Path) -> None:
    code, said = verified(tmp_path, SCRIPT, SCRIPT.replace("logits if self.training else logits * SCALE", "logits"))
    assert (code, said["holds"]) == (0, True)
    assert "Evaluation, which differed" in str(said["sentence"])


def test_another_rate_is_seen(tmp_path: Path) -> None:
    code, said = verified(tmp_path, SCRIPT, SCRIPT.replace("RATE = 0.1", "RATE = 0.2"))
    assert (code, said["holds"]) == (6, False)
    assert said["differs"] == ["losses", "parameters", "logits in training mode", "logits in evaluation mode"]


def test_a_text_that_ends_early_is_no_proof(tmp_path: Path) -> None:
    code, said = verified(tmp_path, SCRIPT, SCRIPT.replace("loss.backward()", "raise ValueError('no step')"))
    assert code == 6
    assert said["sentence"] == ("Not proved: the repaired text did not come to a third step: ValueError: no step.")


@pytest.mark.parametrize(
    ("before", "after", "differs"),
    [
        ({"evaluation": ["1"]}, {"evaluation": ["1"]}, ()),
        ({"evaluation": ["2"]}, {"evaluation": ["1"]}, ()),
        ({"evaluation": ["1"]}, {"evaluation": ["2"]}, ("logits in evaluation mode",)),
        ({"training": ["2"]}, {}, ("logits in training mode",)),
    ],
)
def test_evaluation_may_change_only_into_training(
    before: dict[str, list[str]], after: dict[str, list[str]], differs: tuple[str, ...]
) -> None:
    one, two = ({"answers": {"training": ["1"], "evaluation": ["1"], **part}} for part in (before, after))
    assert compare(one, two) == differs
