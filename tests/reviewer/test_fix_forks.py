"""Repairs of what only evaluation does leave everything that training computes."""

import pytest

from tests.reviewer.test_fix import ENDING, fixed, stays

MODEL = """import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(8, 4)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(4, 8)

    def forward(self, x):
        z = self.head(self.drop(self.wte(x)))
        {fork}
        return z


def train(model, batches, optimizer):
    {before}
    for x, y in batches:
        {targets}
        F.cross_entropy(model(x).flatten(0, 1), y.flatten()).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(model(x))
    model.train()
""".replace("{", "{{").replace("}", "}}")
for _name in ("fork", "before", "targets"):
    MODEL = MODEL.replace("{{" + _name + "}}", "{" + _name + "}")
SCALED = "if not self.training:\n            z = z * 1.1"
ASKED = "if not torch.is_grad_enabled():\n            z = z * 1.1"


@pytest.mark.parametrize("fork", [SCALED, ASKED, "z = z if self.training else z / 0.9"])
def test_an_arm_of_evaluation_goes_and_nothing_else(fork: str) -> None:
    text = MODEL.format(fork=fork, before="pass", targets="pass") + ENDING.replace("torch.nn.Linear(1, 1)", "GPT()")
    found = fixed(text)
    lines = [line for line in text.split("\n") if line not in ("        " + fork).split("\n")]
    left = [line for line in found.text.split("\n") if line.strip() != "z = z"]
    assert left == lines


@pytest.mark.parametrize(
    ("fork", "before", "targets"),
    [
        (SCALED, "teacher = copy.deepcopy(model).eval()", "y = teacher(x).argmax(-1)"),
        (SCALED, "teacher = GPT()\n    teacher.eval()", "y = teacher(x).argmax(-1)"),
        (SCALED, "teacher = GPT()\n    teacher.train(False)", "y = teacher(x).argmax(-1)"),
        (ASKED, "pass", "with torch.no_grad():\n            y = model(x).argmax(-1)"),
        (ASKED, "pass", "with torch.inference_mode():\n            y = model(x).argmax(-1)"),
    ],
)
def test_an_arm_that_training_runs_as_well_is_left_to_a_person(fork: str, before: str, targets: str) -> None:
    stays(MODEL.format(fork=fork, before=before, targets=targets))


@pytest.mark.parametrize(
    "fork",
    [
        "z = F.dropout(z, 0.1, self.training)",
        "if self.training:\n            z = self.drop(z)",
        "if self.training:\n            z = z + 0.01 * torch.randn_like(z)",
        "if self.training:\n            z = torch.utils.checkpoint.checkpoint(self.head, z)\n"
        "        else:\n            z = self.head(z)",
    ],
)
def test_what_only_training_does_to_itself_stays(fork: str) -> None:
    stays(MODEL.format(fork=fork, before="pass", targets="pass"))
