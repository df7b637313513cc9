"""What a phase says beside its name and dates, validated: the `[[phases]]` table of a competition file.

Everything here is frozen and refuses unknown keys. Defaults suit a contest on a few CPU threads. Units are in the
names: seconds, megabytes (2**20 bytes), counts.
"""

from datetime import UTC, datetime, time, timedelta
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from scoring.job import Launch as JobLaunch

State = Literal["upcoming", "open", "closed"]
Isolation = Literal["full", "user", "container"]
Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Table(BaseModel):
    """A table of a competition file: unknown keys are refused, values are never changed after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Budget(Table):
    """How long a run may train, by the supervisor's clock, and on how many threads."""

    seconds: Seconds
    startup_cap_seconds: float = Field(default=30, ge=0, allow_inf_nan=False)
    excluded_steps: int = Field(default=2, ge=0)
    term_seconds: float = Field(default=10, ge=0, allow_inf_nan=False)
    threads: Count = 2
    eval_timeout_seconds: Seconds = 120
    minimum_lease_share: float = Field(default=0.9, ge=0, le=1)


class Limits(Table):
    """What a run may use of the host."""

    script_bytes: Count = 262_144
    memory_mb: int = Field(default=2048, ge=64)
    processes: Count = 128
    output_mb: Count = 256
    output_files: Count = 64
    log_mb: Count = 4
    tmp_mb: Count = 256
    open_files: int = Field(default=512, ge=32)
    file_mb: Count = 256


class Evaluation(Table):
    """Shape of the batches that the scorer asks a model for."""

    seq_len: Count = 256
    batch_size: Count = 8


class Probes(Table):
    """Probe power: strict positions asked per row (below 1: of that share of rows), and the share of rows repeated.

    `baseline` names the script whose losses say where strict positions are worth asking, `baseline_sha256` its bytes as
    they were when the file was loaded; without one, positions are drawn evenly.
    """

    strict_per_row: float = Field(default=1, ge=0, le=64)
    repeats: float = Field(default=0.05, ge=0, le=1)
    baseline: str = ""
    baseline_sha256: str = ""


class Quota(Table):
    """How many submissions a team has in each window; windows begin at midnight in the phase's zone."""

    submissions: Count = 20
    per: Literal["day", "week"] = "day"


class Launch(Table):
    """The small grammar of launch commands: everything it does not name is refused."""

    default: str = "python train.py"
    launchers: tuple[Literal["python", "torchrun"], ...] = Field(default=("python", "torchrun"), min_length=1)
    processes: tuple[Count, ...] = Field(default=(1,), min_length=1)
    env: dict[Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")], tuple[str, ...]] = {}
    trailing: bool = False

    @field_validator("env")
    @classmethod
    def names_are_free(cls, env: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for name, values in env.items():
            if not values:
                raise ValueError(f"{name} needs the list of values that it may have")
            for value in values:
                JobLaunch(env={name: value})  # what a runner would refuse must not be offered
        return env

    @model_validator(mode="after")
    def default_is_allowed(self) -> "Launch":
        from leaderboard.competitions.launch import parse  # it needs this class to say what it reads
        from leaderboard.core.errors import Refusal

        try:
            parse(self.default, self)
        except Refusal as refusal:
            raise ValueError(f"`default` is not a command of this grammar: {refusal.message}") from None
        return self


class Visibility(Table):
    """What of a ranked submission strangers may read once the phase is released."""

    scripts: Literal["release", "never"] = "release"
    logs: Literal["release", "never"] = "release"
    findings: Literal["release", "never"] = "release"
    seeds: Literal["release", "never"] = "release"
    receipts: Literal["release", "never"] = "release"


class PhaseSpec(Table):
    """Rules of one phase."""

    timezone: str = "UTC"
    hardware: str = Field(default="cpu", pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")
    isolation: Isolation = "user"
    objective: Literal["bpb"] = "bpb"
    runs: int = Field(default=1, ge=1, le=64)
    rounding: float = Field(default=0.001, gt=0, le=1)
    advance: int = Field(default=0, ge=0, le=1000)  # each of them is probed again before the release
    budget: Budget
    limits: Limits = Limits()
    evaluation: Evaluation = Evaluation()
    probes: Probes = Probes()
    quota: Quota = Quota()
    launch: Launch = Launch()
    visibility: Visibility = Visibility()

    @field_validator("timezone")
    @classmethod
    def known_zone(cls, name: str) -> str:
        if name not in available_timezones():
            raise ValueError("not a name of the IANA time zone database, such as Europe/Berlin")
        return name

    def quota_window(self, now: datetime) -> tuple[datetime, datetime]:
        """Return start and end (aware, UTC) of the quota window that holds `now`.

        Windows are cut at midnights of the phase's zone (weeks at Monday's), so a window with a change of clocks in it
        is an hour shorter or longer than the others.
        """
        zone = ZoneInfo(self.timezone)
        first = now.astimezone(zone).date()
        days = 1
        if self.quota.per == "week":
            first -= timedelta(days=first.weekday())
            days = 7
        ends = (datetime.combine(day, time(), zone) for day in (first, first + timedelta(days=days)))
        start, end = (edge.astimezone(UTC) for edge in ends)
        return start, end
