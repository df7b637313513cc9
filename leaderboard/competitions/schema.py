"""The competition file as data: `[[phases]]` are `PhaseSpec` with a name and dates."""

from itertools import pairwise
from typing import Annotated, Any

from pydantic import AwareDatetime, Field, StringConstraints, ValidationInfo, field_validator

from leaderboard.competitions.spec import PhaseSpec, Table

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,59}$")]
Title = Annotated[str, StringConstraints(min_length=1, max_length=120, strip_whitespace=True)]


class ShardsTable(Table):
    """Which shard set is used; it was built before."""

    set: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,59}$")]


class KitTable(Table):
    """A folder, relative to the file or to the project, and what its content is called."""

    path: Annotated[str, StringConstraints(min_length=1)]
    version: Annotated[str, StringConstraints(min_length=1, max_length=40)]


class PhaseTable(PhaseSpec):
    """One `[[phases]]` table."""

    slug: Slug
    title: Title
    opens: AwareDatetime
    closes: AwareDatetime

    @field_validator("closes")
    @classmethod
    def runs_forward(cls, closes: AwareDatetime, info: ValidationInfo) -> AwareDatetime:
        opens = info.data.get("opens")
        if opens is not None and closes <= opens:
            raise ValueError(f"the phase closes before it opens, which is on {opens.isoformat()}")
        return closes

    def spec(self) -> dict[str, Any]:
        """Return the rules alone, as `Phase.spec` keeps them."""
        return self.model_dump(mode="json", exclude={"slug", "title", "opens", "closes"})


class CompetitionFile(Table):
    """The whole file."""

    slug: Slug
    title: Title
    description: str = ""
    shards: ShardsTable
    kit: KitTable
    policy: dict[str, Any]
    phases: tuple[PhaseTable, ...] = Field(min_length=1)

    def conflicts(self) -> list[tuple[tuple[str | int, ...], str]]:
        """Return (key, sentence) for what each phase alone cannot know: names used twice and dates that overlap."""
        found: list[tuple[tuple[str | int, ...], str]] = []
        for index, (before, phase) in enumerate(pairwise(self.phases), 1):
            if phase.slug in {earlier.slug for earlier in self.phases[:index]}:
                found.append((("phases", index, "slug"), f"there are two phases called {phase.slug!r}"))
            if phase.opens < before.closes:
                sentence = f"the phase opens before {before.slug!r}, the one above, closes: {before.closes.isoformat()}"
                found.append((("phases", index, "opens"), sentence))
        return found
