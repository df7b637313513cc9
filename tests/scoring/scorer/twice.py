"""A model scored by server A and probed by server P: the real servers, as plain processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scoring.scorer import sealed
from scoring.scorer.result import Result
from scoring.scorer.score import read_target, score
from scoring.scorer.target import Rows
from tests.scoring.tiny import VOCAB, Tiny, model_server

# Causal: what is likely depends on the last token, and a little on all before it. {} may change that.
SCRIPT = f"""
import json, random, torch
from torch.nn.functional import one_hot
V = {VOCAB}
class Model(torch.nn.Module):
    calls = 0
    def forward(self, tokens):
        self.calls += 1
        ahead = torch.cat([tokens[:, 1:], tokens[:, -1:]], dim=1)
        logits = 2.0 * one_hot((7 * tokens + 3) % V, V) + 0.5 * one_hot(tokens.cumsum(1) % V, V)
        {{}}
        return logits
def load_for_eval(path, device):
    return Model()
"""
HONEST = SCRIPT.replace("{}", "pass")


def script(line: str, **facts: Any) -> str:
    """The model with one line of its own; each fact is a global, by way of JSON."""
    told = "".join(f"{name} = json.loads({json.dumps(value)!r})\n" for name, value in facts.items())
    return SCRIPT.replace("{}", line).replace("class Model", told + "class Model")


def rows_of(tiny: Tiny) -> Rows:
    """The public target's rows, which only a test may know."""
    return read_target(tiny.job(3))[1]


def probed(tiny: Tiny, folder: Path, text: str, job: dict[str, Any] | None = None, **probing: Any) -> Result:
    """Score `text`: both servers run it. `probing` changes how P is asked, `job` anything else."""
    (folder / "a").mkdir(exist_ok=True)
    (folder / "p").mkdir(exist_ok=True)
    with model_server(folder / "a", text) as (to_a, _), model_server(folder / "p", text) as (to_p, _):
        asked = tiny.probing(to_p.detach(), **probing)
        return score(
            tiny.job(to_a.detach(), **{"probing": asked, **(job or {})}), on_ready=lambda: None, on_scored=lambda: None
        )


def key_of(tiny: Tiny) -> bytes:
    return sealed.read_key(tiny.home / "sealed/key")
