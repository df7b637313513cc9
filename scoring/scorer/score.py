"""Score one model on one sealed target, and try it: server A answers every row, server P answers probes.

A never meets P. Each has a channel of its own, made by the runner before either lived; P is started in a sandbox of
its own when the runner has heard that A is done, and has seen that nothing of it is left. What P is asked is drawn only
then, from the system's entropy, so nothing that A did can depend on it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from secrets import SystemRandom

import torch

from scoring import bpb
from scoring.scorer import reference, sealed
from scoring.scorer.answers import Answers, ask_all
from scoring.scorer.channel import Channel, ScoreFailed
from scoring.scorer.crew import Crew
from scoring.scorer.draw import Draw, draw, draw_count, places
from scoring.scorer.probe import Seen, ask_probes
from scoring.scorer.questions import Batch, repeat_batches, strict_batches
from scoring.scorer.result import Probed, Result
from scoring.scorer.target import Rows, open_dev, open_target
from scoring.scorer.task import Probing, ScoreJob
from scoring.scorer.verdict import judge

# From "scored" until P's program runs: the end of one sandbox and the start of another, which is not the model's time.
CHANGE_SECONDS = 45.0

Say = Callable[[], None]


def score(job: ScoreJob, *, on_ready: Say, on_scored: Say) -> Result:
    """Ask server A for every row of the target, then server P for what is drawn.

    Each server has the timeout once for loading and once for answering; P has it longer by as much as it is asked more.
    `on_ready` is called when one has loaded, `on_scored` when A is done and P may start.
    Raises ScoreFailed with an outcome code, ShardError when our own files are at fault.
    """
    key = sealed.read_key(Path(job.key))
    facts, rows = read_target(job)
    binding = reference.Binding(facts.set, facts.target, job.commitment, len(rows), job.seq_len, job.checkpoint)
    losses = dev = None
    if job.probing is not None:
        dev = open_dev(Path(job.probing.dev), job.vocab_size)
        if job.probing.reference is not None:
            losses = reference.unseal(Path(job.probing.reference), key, binding)
    with Crew(job.threads) as crew:
        answers, scored = _ask_a(job, rows, crew, on_ready)
        if job.reference_fd is not None:
            with open(job.reference_fd, "wb") as file:
                file.write(reference.seal(key, binding, answers.nats))
        if job.probing is None or dev is None:
            return Result(scored, Probed(judge([], [], scored.num_bytes), 0.0))
        draws, batches = plan(job.probing, rows, answers, losses, job.batch_size)
        on_scored()
        with job.open_channel(job.probing.channel_fd) as channel:
            seen, seconds = _ask_p(job, channel, rows, dev, answers, batches, crew, on_ready)
    return Result(scored, Probed(judge(seen, draws, scored.num_bytes), seconds))


def read_target(job: ScoreJob) -> tuple[sealed.Facts, Rows]:
    """Open the job's target. Raises ShardError."""
    return open_target(
        Path(job.shard),
        sealed.read_key(Path(job.key)),
        Path(job.token_bytes),
        commitment=job.commitment,
        vocab_size=job.vocab_size,
        bos=job.bos,
        seq_len=job.seq_len,
    )


def plan(
    probing: Probing, rows: Rows, answers: Answers, losses: torch.Tensor | None, batch_size: int
) -> tuple[list[Draw], list[Batch]]:
    """Draw strict positions and rows to repeat, and seat them all."""
    random = SystemRandom()
    count = draw_count(probing.strict_per_row, probing.power, len(rows))
    draws = draw(places(answers.nats, rows.bytes, losses), count, random)
    repeats = min(len(rows), draw_count(probing.repeats, probing.power, len(rows)))
    repeated = random.sample(range(len(rows)), repeats)
    batches = strict_batches(draws, batch_size, len(rows), random)
    return draws, batches + repeat_batches(repeated, answers.places, batch_size, random)


def _ask_a(job: ScoreJob, rows: Rows, crew: Crew, on_ready: Say) -> tuple[Answers, bpb.Score]:
    with job.open_channel(job.channel_fd) as channel:
        channel.await_ready(time.monotonic() + job.timeout_seconds)
        on_ready()
        started = time.monotonic()
        answers = ask_all(
            channel, rows, job.batch_size, started + job.timeout_seconds, crew, keep=job.probing is not None
        )
        seconds = time.monotonic() - started
        channel.stop()
    result = bpb.Score(
        total_nats=bpb.total_nats(answers.by_row(rows)),
        num_bytes=int(rows.bytes.sum()),
        num_tokens=int((rows.bytes > 0).sum()),
        rows=len(rows),
        seconds=seconds,
    )
    try:
        result.bpb  # noqa: B018  computed here so that a total that is no score fails the run
    except bpb.BadMetric:
        raise ScoreFailed("bad_metric") from None
    return answers, result


def _ask_p(
    job: ScoreJob,
    channel: Channel,
    rows: Rows,
    dev: torch.Tensor,
    answers: Answers,
    batches: list[Batch],
    crew: Crew,
    on_ready: Say,
) -> tuple[list[Seen], float]:
    channel.await_ready(time.monotonic() + CHANGE_SECONDS + job.timeout_seconds)
    on_ready()
    started = time.monotonic()
    deadline = started + job.timeout_seconds * max(1.0, len(batches) / answers.batches)
    seen = ask_probes(channel, batches, answers, rows, dev, crew, device=job.device, deadline=deadline)
    channel.stop()
    return seen, time.monotonic() - started
