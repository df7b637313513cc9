"""What a runner is told: one frozen JSON document, strict in every field.

The platform sends a job with `host` empty; the agent fills in the paths of its own machine. An unknown field is an
error, not a hint: a job of a newer platform must not half-work on an older host.
"""

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{3,63}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Seconds = Annotated[float, Field(gt=0, le=604_800)]
Bytes = Annotated[int, Field(ge=4096, le=1 << 50)]

LEVELS = ("container", "user", "full")  # weakest first
Level = Literal["container", "user", "full"]

# The sandbox's own settings: a launch line that could set these could undo the clock's and the loader's promises.
_RESERVED = re.compile(r"^(PATH|HOME|USER|LOGNAME|TMPDIR|TZ|LANG|LC_.*|LD_.*|PYTHON.*|OMP_.*|GOMP_.*|KMP_.*|MKL_.*)$")


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Launch(_Model):
    """How the script is started; never a shell line."""

    launcher: Literal["python", "torchrun"] = "python"
    processes: int = Field(default=1, ge=1, le=64)
    env: dict[str, str] = {}
    args: tuple[str, ...] = ()

    @field_validator("env")
    @classmethod
    def _only_free_names(cls, env: dict[str, str]) -> dict[str, str]:
        for name, value in env.items():
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name) or _RESERVED.match(name):
                raise ValueError(f"environment name {name!r} is not for a launch line")
            if "\0" in value or len(value) > 4096:
                raise ValueError(f"environment value of {name} is too long or holds a NUL")
        return env

    @field_validator("args")
    @classmethod
    def _plain_args(cls, args: tuple[str, ...]) -> tuple[str, ...]:
        if len(args) > 256 or any("\0" in a or len(a) > 4096 for a in args):
            raise ValueError("launch arguments are too many, too long or hold a NUL")
        return args


class Clock(_Model):
    """Seconds of the run; see scoring.sandbox.clock for what they mean."""

    budget_seconds: Seconds
    startup_cap_seconds: float = Field(ge=0, le=86_400)
    excluded_steps: int = Field(ge=0, le=10_000)
    term_seconds: float = Field(default=10.0, ge=0, le=600)
    minimum_lease_share: float = Field(default=0.9, ge=0, le=1)


class Limits(_Model):
    """Ceilings of one sandbox; reaching one ends the run with that limit's own outcome."""

    threads: int = Field(ge=1, le=1024)
    memory_bytes: Bytes
    processes: int = Field(ge=1, le=65_536)
    open_files: int = Field(ge=16, le=1_048_576)
    file_bytes: Bytes
    output_bytes: Bytes
    output_files: int = Field(ge=1, le=1_000_000)
    log_bytes: int = Field(ge=1, le=1 << 40)
    tmp_bytes: Bytes


class Evaluation(_Model):
    """Shapes and patience of scoring."""

    seq_len: int = Field(ge=1, le=1 << 20)
    batch_size: int = Field(ge=1, le=65_536)
    vocab_size: int = Field(ge=2, le=1 << 20)
    timeout_seconds: Seconds


class Shards(_Model):
    """Which shard set, pinned by its manifest; `target` names the sealed shard of a score job."""

    set: Name
    manifest_sha256: Sha256
    target: Literal["public", "private"] | None = None
    commitment: Sha256 | None = None


class Probes(_Model):
    """How hard a score is tried: strict positions per row (below 1: in that share of rows), share of rows repeated.

    `power` multiplies both. `reference_sha256` names the encrypted losses by which strict positions are drawn, None for
    an even draw; with `make_reference` this very score becomes such a reference.
    """

    strict_per_row: float = Field(ge=0, le=1024)
    repeats: float = Field(ge=0, le=1)
    power: int = Field(ge=1, le=1024)
    reference_sha256: Sha256 | None = None
    make_reference: bool = False

    @property
    def ask_anything(self) -> bool:
        """Is a second server needed at all?"""
        return self.strict_per_row > 0 or self.repeats > 0

    @property
    def passes(self) -> float:
        """Return how many times the shard the probes may come to, at least one: patience grows with it."""
        return max(1.0, self.power * self.strict_per_row + min(1.0, self.power * self.repeats))


class Host(_Model):
    """Paths on the agent's machine; all absolute."""

    script_path: Path
    kit_dir: Path
    open_dir: Path
    sealed_dir: Path | None = None
    key_path: Path | None = None
    runs_dir: Path
    checkpoints_dir: Path
    log_path: Path

    @field_validator("*")
    @classmethod
    def _absolute(cls, path: Path | None) -> Path | None:
        # An unset variable in a path once merged 8,192 runs into one folder. Nothing relative, nothing empty.
        if path is not None and (not path.is_absolute() or ".." in path.parts or path == Path("/")):
            raise ValueError("host paths are absolute, below the root and without '..'")
        return path


class Job(_Model):
    """One attempt of one run: train it, or score the checkpoint that it left."""

    schema_: Literal[1] = Field(alias="schema")
    kind: Literal["train", "score"]
    run_id: Id
    attempt_id: Id
    script_sha256: Sha256
    seed: int = Field(ge=0, lt=1 << 53)  # a receipt is JSON: whole numbers are exact only below 2**53
    launch: Launch
    checkpoint: str = "out/final.pt"
    isolation: Level
    clock: Clock
    limits: Limits
    evaluation: Evaluation
    kit_sha256: Sha256
    shards: Shards
    checkpoint_sha256: Sha256 | None = None
    probes: Probes | None = None
    host: Host | None = None

    @field_validator("checkpoint")
    @classmethod
    def _inside_out(cls, name: str) -> str:
        if not re.fullmatch(r"out(/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}){1,8}", name):
            raise ValueError("the checkpoint is a plain relative path below out/")
        return name

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind == "score" and not (self.shards.target and self.shards.commitment and self.checkpoint_sha256):
            raise ValueError("a score job names target, commitment and checkpoint_sha256")
        if (self.kind == "score") != (self.probes is not None):
            raise ValueError("a score job says how it is probed, and no other does")
        if self.kind == "train" and self.shards.target is not None:
            raise ValueError("a train job has no sealed target")
        if self.host and self.kind == "score" and not (self.host.sealed_dir and self.host.key_path):
            raise ValueError("a score job needs sealed_dir and key_path")
        return self
