"""The same text gives the same report, byte for byte, in every process: rules look into sets, and at addresses."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])
# Every eighth example, the scripts, and a few texts for which a rule gives up somewhere on its way.
PROGRAM = """
import hashlib, json, sys
sys.path.insert(0, sys.argv[1])
from reviewer import Context, LaunchFacts, Policy, review
from tests.fuzz.corpus import examples, scripts
from tests.reviewer.worst_shapes import FROZEN, MODELS, TRAINING
dear = [*MODELS.values(), *TRAINING.values()]
launch = LaunchFacts("torchrun", 8, ("--lr", "0.1", "--b"))
for number, text in enumerate([*scripts(), *examples()[:: int(sys.argv[2])], *dear[:: int(sys.argv[3])]]):
    policy = FROZEN if number % 5 == 0 else Policy()
    report = review(text, policy, launch=launch, context=Context(previous=scripts()[0]), isolated=False)
    said = json.dumps(report.to_json())
    print(number, hashlib.sha256(said.encode()).hexdigest(), text[:40].encode())
"""


def reports(seed: int, every: int = 16, dear: int = 12) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    args = [sys.executable, "-c", PROGRAM, ROOT, str(every), str(dear)]
    done = subprocess.run(args, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_reports_are_the_same_whatever_the_hashes_are() -> None:
    first = reports(0)
    assert len(first) > 100
    for seed in (1, 77):
        assert reports(seed) == first
