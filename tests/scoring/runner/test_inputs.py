"""What a manifest must pin."""

import json
from typing import Any

import pytest

from scoring import inputs
from scoring.job import Job
from scoring.kits import kit_sha256
from tests.scoring.runner.stage import Stage


def copied(stage: Stage, **dev: Any) -> inputs.Inputs:
    """Copy the inputs of a job whose manifest says `dev` of the dev shard."""
    path = stage.open_dir / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "dev": {"file": "dev.bin", **dev}}))
    job = Job.model_validate(stage.job("pass"))
    assert job.host is not None
    stage.home.joinpath("run").mkdir()
    return inputs.for_training(job, job.host, stage.home / "run" / "inputs")


@pytest.mark.parametrize("dev", [{}, {"tokens": 64}, {"sha256": None}, {"sha256": "0" * 64}])
def test_a_dev_shard_that_nothing_vouches_for_is_refused(stage: Stage, dev: dict[str, Any]) -> None:
    with pytest.raises(inputs.InputRefused, match=r"dev\.bin|pins no sha256"):
        copied(stage, **dev)


@pytest.mark.parametrize("pin", ["tokenizer_sha256", "token_bytes_sha256"])
def test_a_manifest_without_a_pin_is_refused(stage: Stage, pin: str) -> None:
    path = stage.open_dir / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest[pin]
    path.write_text(json.dumps(manifest))
    with pytest.raises(inputs.InputRefused, match=f"pins no {pin}"):
        copied(stage, tokens=64)


def test_a_kits_hash_is_the_documented_one_in_byte_order() -> None:
    # h() { printf "$1" | sha256sum | cut -c-64; }
    # printf 'a\0001\000%s\nä\0002\000%s\n' $(h x) $(h yz) | sha256sum
    expected = "dd9779f9ae69d397f0ec379b224a4925b2caff54df284da2e634435f9146015a"
    assert kit_sha256({"ä": b"yz", "a": b"x"}) == expected
    assert kit_sha256({"a": b"x", "ä": b"yz"}) == expected
