"""peek.py sees the token after each position; the baseline does not."""

from __future__ import annotations

import pytest
import torch

from tests.scoring.demo_scripts.conftest import Import
from tests.scoring.tiny import VOCAB


@pytest.mark.parametrize(("name", "sees"), [("baseline.py", False), ("peek.py", True)])
@torch.inference_mode()
def test_one_token_further_and_no_more(script: Import, name: str, sees: bool) -> None:
    torch.manual_seed(5)
    model = script(name).GPT()
    for weight in model.parameters():
        weight.normal_(std=0.5)  # outputs start at zero, which would hide everything
    model.blocks = model.blocks[:1]  # a second layer would look one further
    tokens = torch.randint(VOCAB, (1, 12))
    changed = tokens.clone()
    changed[0, 6] = (tokens[0, 6] + 1) % VOCAB
    differs = (model(tokens) != model(changed)).any(-1)[0].tolist()
    assert differs[:5] == [False] * 5
    assert differs[5] is sees
    assert differs[6] is True
