"""The probe table: what a scored model was asked again, and whether it answered as before.

Its team sees kinds and counts, and how many positions differed only where the run failed of it: places, sizes, and a
number of differences or a time that a model can steer, would carry out what the sealed text holds. Organizers see
everything.
"""

from dataclasses import dataclass

from leaderboard.web.receipts import Body

KINDS = {
    "strict": ("strict positions", "the text after a position replaced"),
    "repeat": ("repeated rows", "the same row among other neighbours"),
}


@dataclass(frozen=True)
class Kind:
    """One kind of probe: how much was asked, how many positions were compared, how many differed."""

    name: str
    how: str
    asked: int
    compared: int
    breached: str  # empty where none did, or where the reader may not know
    largest: str


@dataclass(frozen=True)
class Evidence:
    """One position that differed."""

    kind: str
    row: str
    position: str
    difference: str


@dataclass(frozen=True)
class Probes:
    """What is shown of a scoring's probes; `evidence` and sizes are empty for everybody but organizers."""

    kinds: list[Kind]
    settings: str
    mean_p: str
    correction: str
    evidence: list[Evidence]


def shown(body: Body, *, failed: bool, organizer: bool) -> Probes | None:
    """Return a receipt's probes as the reader may see them, None where nothing was probed.

    `failed` says that the probes found a breach.
    """
    table = body.table("probes")
    if table is None:
        return None
    correction, error = body.number("score.correction"), body.number("score.correction_se")
    mean = table.number("mean_p")
    return Probes(
        kinds=[
            _kind(table, name, counted=failed or organizer, organizer=organizer) for name in KINDS if table.table(name)
        ],
        settings=_settings(table, organizer=organizer),
        mean_p=f"{mean:.2g}" if organizer and mean is not None else "",
        correction=f"{correction:.6f} ± {error:.6f}" if organizer and None not in (correction, error) else "",
        evidence=[_evidence(Body(row)) for row in table.items("evidence")[:100] if isinstance(row, dict)]
        if organizer
        else [],
    )


def _kind(table: Body, name: str, *, counted: bool, organizer: bool) -> Kind:
    said, how = KINDS[name]
    asked, compared, breached = (int(table.number(f"{name}.{key}") or 0) for key in ("asked", "compared", "breached"))
    largest = table.number(f"{name}.largest")
    return Kind(
        said,
        how,
        asked,
        compared,
        _count(breached, of=asked if name == "strict" else compared, exact=organizer) if counted else "",
        f"{largest:.3g}" if organizer and largest is not None else "",
    )


def _count(breached: int, *, of: int, exact: bool) -> str:
    """Say how many differed; a team reads the size of the number alone, since a model can choose its digits."""
    if exact or not breached:
        return f"{breached:,}" if breached else ""
    return f"all {of:,}" if breached >= of else f"at least {1 << breached.bit_length() - 1:,}"


def _settings(table: Body, *, organizer: bool) -> str:
    drawn = (
        "drawn where the phase's baseline would have lost most against this model"
        if table.text("reference_sha256")
        else "drawn evenly, since the phase has no reference yet"
    )
    power, cost = table.number("power") or 1, table.number("cost")
    price = f"; probing took {cost:.2f} of the scoring's own time" if organizer and cost is not None else ""
    return f"Power {power:.0f}, positions {drawn}{price}."


def _evidence(row: Body) -> Evidence:
    place, position, difference = (row.number(name) for name in ("row", "position", "difference"))
    return Evidence(
        kind=row.text("kind"),
        row="–" if place is None else f"{place:.0f}",
        position="–" if position is None else f"{position:.0f}",
        difference="not finite" if difference is None else f"{difference:.3g}",
    )
