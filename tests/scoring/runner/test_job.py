import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from scoring.job import Job
from tests.scoring.runner.stage import Stage

REFUSED: dict[str, Any] = {
    "an empty run id": {"run_id": ""},
    "an id that climbs": {"attempt_id": "../../x"},
    "an id in capitals": {"run_id": "R000001"},
    "an unknown field": {"launch__shell": "sh -c"},
    "a reserved name": {"launch__env": {"LD_PRELOAD": "/work/out/x.so"}},
    "an interpreter setting": {"launch__env": {"PYTHONPATH": "/work/out"}},
    "threads by the back door": {"launch__env": {"OMP_NUM_THREADS": "64"}},
    "a checkpoint outside": {"checkpoint": "../final.pt"},
    "a checkpoint that climbs": {"checkpoint": "out/../final.pt"},
    "an absolute checkpoint": {"checkpoint": "/etc/passwd"},
    "an unset runs folder": {"host__runs_dir": ""},
    "a runs folder that is the root": {"host__runs_dir": "/"},
    "a relative folder": {"host__checkpoints_dir": "checkpoints"},
    "no budget": {"clock__budget_seconds": 0},
    "a budget that is no number": {"clock__budget_seconds": float("nan")},
    "a seed that JSON would round": {"seed": 1 << 53},
    "a target for training": {"shards__target": "public"},
    "scoring without a checkpoint": {"kind": "score"},
    "a newer schema": {"schema": 2},
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_job_is_refused(stage: Stage, name: str) -> None:
    with pytest.raises(ValidationError):
        Job.model_validate(stage.job("pass", **REFUSED[name]))


def test_a_job_survives_json_and_cannot_be_changed(stage: Stage) -> None:
    job = Job.model_validate(stage.job("pass"))
    again = Job.model_validate_json(job.model_dump_json(by_alias=True))
    assert again == job
    assert json.loads(job.model_dump_json(by_alias=True))["schema"] == 1
    with pytest.raises(ValidationError):
        job.seed = 1


def test_the_runner_refuses_in_one_sentence_and_makes_nothing(stage: Stage) -> None:
    job = stage.job("pass", run_id="")
    result = stage.finish(stage.start(job), job)
    assert (result.exit_code, result.events) == (2, [])
    assert result.stderr.splitlines() == ["run_id: String should match pattern '^[a-z0-9][a-z0-9_-]{3,63}$'"]
    assert not stage.runs_dir.exists()


def test_a_phase_that_asks_for_more_isolation_than_there_is_gets_no_run(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from scoring import facts, runner

    path = tmp_path / "job.json"
    path.write_text(json.dumps(stage.job("pass", isolation="full")))
    monkeypatch.setattr(facts.os, "geteuid", lambda: 1000)
    with pytest.raises(runner.JobRefused, match="this host gives 'user'"):
        runner.read_job(path)


PINNED = ("script-1.py", "kit/prepare.py", "shards/train/001.bin", "shards/dev.bin", "shards/tokenizer.json")


@pytest.mark.parametrize("file", [*PINNED, "shards/token_bytes.bin", "shards/manifest.json"])
def test_inputs_that_are_not_the_pinned_ones_are_refused(stage: Stage, file: str) -> None:
    job = stage.job("pass")
    with open(stage.home / file, "ab") as changed:
        changed.write(b" ")
    result = stage.finish(stage.start(job), job)
    assert result.exit_code == 2
    assert "pins" in result.stderr
    assert list(stage.runs_dir.iterdir()) == []
