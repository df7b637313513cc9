"""The kit as a download: whole, usable at home, and without a byte of what is sealed."""

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.test import AsyncClient, Client

from leaderboard.competitions import kits
from leaderboard.competitions.downloads import NotHere, constants_of, kit_archive
from leaderboard.competitions.models import Competition, Kit
from leaderboard.competitions.shards import build
from leaderboard.env import PROJECT
from leaderboard.runs.jobs import job_for
from leaderboard.runs.models import Attempt
from scoring.inputs import _constants
from scoring.job import Job
from scoring.shards import read_manifest
from tests.leaderboard.cast import later, make_competition, make_phase, make_user
from tests.leaderboard.host import queue, send

pytestmark = pytest.mark.django_db(transaction=True)
HOME = Path(settings.HOME)
SCRIPT = """\
import sys
import torch
from prepare import EVAL_SEQ_LEN, TOKENIZER_VOCAB_SIZE, ensure_tokenizer, make_dataloader, record_step_boundary

class Flat(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.logits = torch.nn.Parameter(torch.zeros(TOKENIZER_VOCAB_SIZE))
    def forward(self, tokens):
        return self.logits.expand(*tokens.shape, -1)

def load_for_eval(path, device):
    model = Flat()
    model.load_state_dict(torch.load(path, map_location=device, weights_only=True))
    return model

if __name__ == "__main__":
    inputs, targets, _ = next(make_dataloader(ensure_tokenizer(), 2, EVAL_SEQ_LEN, "train", "cpu"))
    record_step_boundary(1)
    torch.save(Flat().state_dict(), "final.pt")
"""


@pytest.fixture
def demo(corpus, built):
    """A competition with the shipped kit and shards that are really there."""
    make_competition(evaluation={"seq_len": 64, "batch_size": 4})
    shards = build(name="topics", corpus=corpus)[0]
    kit = Kit.objects.create(version="2", sha256=kits.store(PROJECT / "scoring" / "kit"))
    Competition.objects.update(shards=shards, kit=kit)
    return Competition.objects.select_related("shards", "kit").get()


def fetched(address="/competitions/demo/kit.zip"):
    response = Client().get(address)
    assert response.status_code == 200
    data = b"".join(response.streaming_content)
    assert int(response["Content-Length"]) == len(data)
    return zipfile.ZipFile(io.BytesIO(data))


def test_the_kit_trains_and_scores_the_dev_shard_at_home(demo, tmp_path):
    fetched().extractall(tmp_path)
    home = tmp_path / "demo"
    (home / "train.py").write_text(SCRIPT)
    for words in (["train.py"], ["prepare.py", "eval-public", "--train-py", "train.py", "--checkpoint", "final.pt"]):
        done = subprocess.run([sys.executable, *words], cwd=home, capture_output=True, text=True, env={})
        assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    dev = demo.shards.manifest["dev"]
    assert said["num_bytes"] == dev["bytes"]
    assert said["val_bpb"] == pytest.approx(10 * said["num_tokens"] / dev["bytes"])  # 10 bits for each of 1,024 tokens


def test_it_holds_the_open_files_and_nothing_else(demo):
    archive = fetched()
    train = {f"demo/train/{file['name']}" for file in demo.shards.manifest["train"]["files"]}
    files = {
        f"demo/{name}" for name in ("constants.json", "tokenizer.json", "token_bytes.bin", "dev.bin", "prepare.py")
    }
    assert set(archive.namelist()) == train | files
    held = [archive.read(name) for name in archive.namelist()]
    for sealed in (HOME / "sealed" / "topics").iterdir():
        assert sealed.read_bytes() not in held


def test_its_constants_are_the_runners_with_paths_beside_the_kit(demo):
    queue(send(make_user(), demo))
    job = Job.model_validate(job_for(Attempt.objects.get()))
    inside = _constants(job, read_manifest(HOME / "shards" / "topics" / "manifest.json"))
    outside = json.loads(fetched().read("demo/constants.json"))
    assert outside.keys() == inside.keys()
    differ = {key for key, value in outside.items() if value != inside[key]}
    assert differ == {"seed", "data_dir", "dev_file", "tokenizer", "token_bytes", "steps_fifo"}
    assert not any(str(outside[key]).startswith("/") for key in differ)


def test_each_phase_has_its_own_constants_and_an_archive_is_built_once(demo):
    make_phase(demo, "final", opens=later(days=8), closes=later(days=9), budget={"seconds": 3})
    first, again = kit_archive(demo.phases.get(slug="open")), kit_archive(demo.phases.get(slug="open"))
    assert first == again
    assert [path for path in first.parent.iterdir() if path.suffix != ".zip"] == []
    constants = fetched("/competitions/demo/kit.zip?phase=final").read("demo/constants.json")
    assert json.loads(constants)["budget_seconds"] == 3 != constants_of(demo.phases.get(slug="open"))["budget_seconds"]
    assert Client().get("/competitions/demo/kit.zip?phase=none").status_code == 404


def test_a_file_that_is_not_the_pinned_one_is_not_handed_out(demo):
    demo.shards.manifest["train"]["files"][0]["sha256"] = "0" * 64
    phase = demo.phases.get()
    phase.competition = demo
    Competition.objects.update(slug="other")  # another name: nothing built before is taken for it
    demo.slug = "other"
    with pytest.raises(NotHere, match="not the file"):
        kit_archive(phase)
    assert [path for path in (HOME / "downloads").iterdir() if path.suffix != ".zip"] == []


def test_a_kit_that_is_not_on_this_host_is_not_there():
    make_competition()
    assert Client().get("/competitions/demo/kit.zip").status_code == 404


def test_the_asynchronous_server_sends_it_in_pieces(demo):
    async def whole():
        response = await AsyncClient().get("/competitions/demo/kit.zip")
        return b"".join([piece async for piece in response.streaming_content])

    assert zipfile.ZipFile(io.BytesIO(async_to_sync(whole)())).testzip() is None


def test_the_competitions_page_links_it(demo):
    assert 'href="/competitions/demo/kit.zip?phase=open"' in Client().get("/competitions/demo/").content.decode()
