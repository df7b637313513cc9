"""Two texts of one script are run for three steps in the sandbox, and compared in every bit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scoring.verify import running
from scoring.verify.comparing import compare
from scoring.verify.place import Place
from scoring.verify.running import Seen

pytestmark = pytest.mark.sandbox

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


def verified(folder: Path, before: str, after: str, *options: str) -> tuple[int, dict[str, object]]:
    for name, text in (("a.py", before), ("b.py", after)):
        (folder / name).write_text(text)
    command = [sys.executable, "-m", "scoring.verify", *options, str(folder / "a.py"), str(folder / "b.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def test_a_text_without_its_arm_for_evaluation_trains_the_same(tmp_path: Path) -> None:
    code, said = verified(tmp_path, SCRIPT, SCRIPT.replace("logits if self.training else logits * SCALE", "logits"))
    assert (code, said["holds"]) == (0, True)
    assert "Evaluation, which differed" in str(said["sentence"])


def test_another_rate_is_seen(tmp_path: Path) -> None:
    code, said = verified(tmp_path, SCRIPT, SCRIPT.replace("RATE = 0.1", "RATE = 0.2"))
    assert (code, said["holds"]) == (6, False)
    assert said["differs"] == ["losses", "parameters", "logits in training mode", "logits in evaluation mode"]
    assert str(said["sentence"]).startswith("Not proved: the two texts differ in losses and parameters")


def test_a_script_that_does_not_repeat_itself_is_no_measure(tmp_path: Path) -> None:
    restless = SCRIPT.replace("RATE = 0.1", "import os\nRATE = int.from_bytes(os.urandom(4)) / 2**32")
    code, said = verified(tmp_path, restless, restless)
    assert (code, said["differs"]) == (6, ["itself"])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("place")
    for above in (folder, *folder.parents):
        if above.stat().st_uid == os.geteuid() and above != above.parent:
            above.chmod(0o755)
    return Place(folder)


def runs(place: Place, instead: str, seconds: float = 300.0) -> str:
    """Return how a text ends that does something else in the place of its backward pass."""
    with pytest.raises(running.Ended) as ended:
        running.observed(place, SCRIPT.replace("loss.backward()", instead).encode(), (), {}, seconds)
    return str(ended.value)


FORGED = (
    "import os\n        for fd in range(3, 99):\n            try: os.write(fd, {})\n            except OSError: pass\n"
)


@pytest.mark.parametrize(
    ("instead", "how"),
    [
        ("raise ValueError('no step')", "ended before its third step; the last that it said: ValueError: no step"),
        ("raise SystemExit(0)", "ended before its third step"),
        ("import os; os.closerange(0, 99); os._exit(0)", "ended before its third step"),
        ("import os\n        if os.fork(): os._exit(0)\n        while True: pass", "ended before its third step"),
        (FORGED.format("b'3'") + "        os._exit(0)", "wrote something else where its proof belongs"),
        (FORGED.format("b'[' * 60_000") + "        os._exit(0)", "wrote something else where its proof belongs"),
    ],
)
def test_a_text_that_goes_awry_is_no_proof(place: Place, instead: str, how: str) -> None:
    assert runs(place, instead) == how


def test_what_it_said_last_is_short(place: Place) -> None:
    assert len(runs(place, "print('\\x1b[31m' * 100_000, flush=True); raise SystemExit(1)")) < 300


def test_a_text_that_never_ends_is_ended(place: Place) -> None:
    assert runs(place, "while True: pass", 5.0) == "did not come to a third step within 5 s"


def test_a_text_that_takes_all_memory_is_ended(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_MEMORY", 1 << 28)
    assert "needs more than" in runs(place, "hoard = bytearray(3 << 28)\n        while True: pass")


def test_many_processes_are_gone_with_the_first(place: Place) -> None:
    bomb = "import os\n        for _ in range(3):\n            try: os.fork()\n            except OSError: pass\n"
    assert runs(place, bomb + "        raise SystemExit(0)").startswith("ended before its third step")


def test_a_host_without_a_sandbox_says_so_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SCRIPT)
    hidden = (
        "import shutil, sys; shutil.which = lambda *a, **k: None; from scoring.verify.__main__ import main;"
        "sys.exit(main())"
    )
    command = [sys.executable, "-c", hidden, str(tmp_path / "a.py"), str(tmp_path / "a.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
    assert (done.returncode, done.stderr) == (3, "")
    said = json.loads(done.stdout)
    assert said["sentence"].startswith("This host cannot prove it: bubblewrap is missing")
    assert said["differs"] == ["host"]


@pytest.mark.parametrize(
    ("before", "after", "differs"),
    [
        ({"evaluation": ("1",)}, {"evaluation": ("1",)}, ()),
        ({"evaluation": ("2",)}, {"evaluation": ("1",)}, ()),
        ({"evaluation": ("1",)}, {"evaluation": ("2",)}, ("logits in evaluation mode",)),
        ({"training": ("2",)}, {}, ("logits in training mode",)),
        ({"losses": ("2",)}, {}, ("losses",)),
    ],
)
def test_evaluation_may_change_only_into_training(
    before: dict[str, tuple[str, ...]], after: dict[str, tuple[str, ...]], differs: tuple[str, ...]
) -> None:
    same = {"losses": ("1",), "parameters": "1", "training": ("1",), "evaluation": ("1",)}
    assert compare(*(Seen(**{**same, **part}) for part in (before, after))) == differs  # type: ignore[arg-type]
