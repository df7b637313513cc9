"""Compares where a step boundary is reported with where the optimizer is stepped.

Both are followed outwards, through helpers to their calls. The innermost loop or function that both are in is one turn
of training: in it, every step of the optimizer needs one report behind it, under no condition that the step is not
under as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from reviewer.dataflow.helpers import where_given
from reviewer.dataflow.ways import Guard, Order, Way, guards, is_loop, regions, ways
from reviewer.fold import UNKNOWN, names_in
from reviewer.report import Severity
from reviewer.script import Script
from reviewer.training.ranks import who
from reviewer.training.stepping import SYNCHRONISING, is_over_optimizers, steps

_MOST_CALLS = 32
_MOST_STEPS = 64

Said = tuple[cst.CSTNode, str, Severity]


@dataclass(frozen=True)
class Event:
    """A report or a step in one region: its key there, what decides about it, the loops between it and the region."""

    call: cst.CSTNode
    key: tuple[int, ...]
    guards: dict[Guard, cst.CSTNode]
    loops: tuple[cst.CSTNode, ...]


@dataclass
class Turn:
    """A loop or function in which reports and steps meet."""

    region: cst.CSTNode
    reports: list[Event] = field(default_factory=list)
    steps: list[Event] = field(default_factory=list)


class Boundaries:
    """The reports of one script."""

    def __init__(self, script: Script, calls: Sequence[cst.Call]) -> None:
        self._script = script
        self._calls = calls[:_MOST_CALLS]
        self._order = Order()
        self._steps: dict[int, list[tuple[Way, cst.CSTNode | None]]] = defaultdict(list)  # by the region they are in
        for call, stepped in list(steps(script))[:_MOST_STEPS]:
            for way in ways(script, call):
                for region in (r for r in regions(way.nodes) if not is_over_optimizers(r, stepped)):
                    self._steps[id(region)].append((way, stepped))

    def found(self) -> Iterator[Said]:
        """Yield what is wrong, each place once."""
        said: set[int] = set()
        turns: dict[int, Turn] = {}
        for call in self._calls:
            places = [self._turn_of(way) for way in ways(self._script, call)]
            for region, way in (p for p in places if p is not None):
                turns.setdefault(id(region), Turn(region)).reports.append(self._event(way, region, None))
            if not any(places):
                said.add(id(call))
                yield self._lost(call)
        for turn in turns.values():
            for place, what, severity in (*self._judged(turn), *self._numbers(turn)):
                if id(place) not in said:
                    said.add(id(place))
                    yield place, what, severity

    def _turn_of(self, way: Way) -> tuple[cst.CSTNode, Way] | None:
        """Return the innermost region of a report that holds a step as well, else its innermost loop."""
        every = list(regions(way.nodes))
        for region in every:
            if id(region) in self._steps:
                return region, way
        return next(((region, way) for region in every if is_loop(region)), None)

    def _lost(self, call: cst.CSTNode) -> Said:
        if any(way.unseen for way in ways(self._script, call)):
            return call, "Who calls this, and how often, cannot be seen", "review"
        return call, "This is no part of a loop that trains, so it says nothing about steps", "reject"

    def _event(self, way: Way, region: cst.CSTNode, stepped: cst.CSTNode | None) -> Event:
        nodes = way.upto(region)
        inner = tuple(r for r in regions(nodes[:-1]) if is_loop(r) and not is_over_optimizers(r, stepped))
        return Event(way.place, self._order.key(nodes), guards(self._script, nodes), inner)

    def _judged(self, turn: Turn) -> Iterator[Said]:
        turn.steps = [self._event(way, turn.region, stepped) for way, stepped in self._steps[id(turn.region)]]
        self._script.budget.spend(len(turn.steps) * len(turn.reports))
        reports = list({id(one.call): one for one in turn.reports}.values())
        direct = [one for one in turn.steps if not one.loops]
        if turn.steps and not direct:
            for report in reports:
                if not is_loop(turn.region) or not report.loops:
                    yield report.call, "The optimizer is stepped in a loop, and this is not part of that loop", "reject"
            return
        for report in reports:
            if report.loops:
                yield report.call, "This is in a loop of its own, so one step is reported many times", "reject"
        reports = [one for one in reports if not one.loops]
        yield from self._doubled(reports, direct)
        if direct:
            yield from self._uncovered(reports, direct)
            yield from self._skipped(turn, reports, direct)
        else:
            for report in reports:
                if why := self._condition(report, {}):
                    yield report.call, why, "reject"
        yield from self._early(turn, reports, direct)

    def _doubled(self, reports: list[Event], direct: list[Event]) -> Iterator[Said]:
        ordered = sorted([*reports, *direct], key=lambda one: one.key)
        latest: list[Event] = []  # reports since the last step
        for one in ordered:
            if not any(one is report for report in reports):
                latest = [other for other in latest if _exclude(one, other)]
            elif any(not _exclude(one, other) for other in latest):
                yield one.call, "One step is reported twice", "reject"
            else:
                latest.append(one)

    def _uncovered(self, reports: list[Event], direct: list[Event]) -> Iterator[Said]:
        """Find steps without a report behind them, and say it at the report that comes closest."""
        for step in direct:
            behind = [one for one in reports if one.key > step.key and not _exclude(one, step)]
            if not behind:
                before = [one for one in reports if not _exclude(one, step)]
                for report in before[-1:]:
                    yield report.call, "This comes before the optimizer's step, which is not done yet", "reject"
                continue
            whys = [self._condition(one, step.guards) for one in behind]
            if all(whys) and not _either(behind, step):
                yield behind[0].call, whys[0], "reject"

    def _condition(self, report: Event, known: dict[Guard, cst.CSTNode]) -> str:
        """Return what is wrong with the condition that a report is under and its step is not; empty if nothing is."""
        for (text, holds), test in report.guards.items():
            if (text, holds) in known:
                continue
            if isinstance(test, cst.ExceptHandler | cst.ExceptStarHandler):
                return "This is called only after an error, so most steps are not reported"
            asked = isinstance(test, cst.BaseExpression)
            if asked and self._is_certain(test, holds):
                continue
            passing = who(self._script, test, holds) if asked else "anyone"
            if passing == "others":
                return "This is not called in process 0, and only its reports count"
            if passing == "anyone":
                return "This is under a condition that the optimizer's step is not under, so steps go unreported"
        return ""

    def _is_certain(self, test: cst.CSTNode, holds: bool) -> bool:
        """Tell whether a condition is constant, or asks whether there is a kit."""
        value = self._script.values.constant(test)
        if value is not UNKNOWN:
            return bool(value) == holds
        names = names_in(test)
        if any(name.endswith("step_boundary") for name in names):
            return holds
        if not isinstance(test, cst.Name):
            return False
        bindings = self._script.scopes.of(test).find(test.value)
        attempts = {id(self._script.tree.enclosing(b.node, cst.Try)) for b in bindings if b.node is not None}
        constant = all(b.kind == "expr" and self._script.values.constant(b.node) in (True, False) for b in bindings)
        return holds and len(bindings) > 1 and constant and len(attempts) == 1 and id(None) not in attempts

    def _skipped(self, turn: Turn, reports: list[Event], direct: list[Event]) -> Iterator[Said]:
        """Find a `continue` or `return` between a step and its report."""
        kind = cst.Continue if is_loop(turn.region) else cst.Return
        for leaving in self._script.tree.of(kind):
            way = self._inside(leaving, turn.region)
            if not way:
                continue
            self._script.budget.spend(len(way))
            key, under = self._order.key(way), guards(self._script, way)
            if any(self._passes_by_others(test, holds) for (_, holds), test in under.items()):
                continue
            one = Event(leaving, key, under, ())
            for step in direct:
                later = [r for r in reports if r.key > key and not _exclude(r, step)]
                if step.key < key and later and not _exclude(one, step) and set(under) - set(step.guards):
                    earlier = [r for r in reports if step.key < r.key < key and not _exclude(r, step)]
                    if not earlier and not _exclude(one, later[0]):
                        yield leaving, "Where this leaves, the step that was made goes unreported", "reject"

    def _passes_by_others(self, test: cst.CSTNode, holds: bool) -> bool:
        return isinstance(test, cst.BaseExpression) and who(self._script, test, holds) == "others"

    def _inside(self, leaving: cst.CSTNode, region: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
        """Return the nodes from a `continue` or `return` to the region, if it is that which it leaves."""
        nodes = [leaving]
        for above in self._script.tree.ancestors(leaving):
            nodes.append(above)
            if above is region:
                return tuple(nodes)
            if isinstance(above, cst.FunctionDef | cst.ClassDef) or (
                isinstance(leaving, cst.Continue) and is_loop(above)
            ):
                return ()
        return ()

    def _early(self, turn: Turn, reports: list[Event], direct: list[Event]) -> Iterator[Said]:
        """Find reports before the device is waited for."""
        for _, call in self._script.calling(SYNCHRONISING):
            way = self._inside(call, turn.region)
            if not way or any(is_loop(r) for r in regions(way[:-1])):
                continue
            self._script.budget.spend(len(way))
            key, under = self._order.key(way), guards(self._script, way)
            for report in reports:
                known = {*report.guards, *(guard for step in direct for guard in step.guards)}
                nearer = any(report.key < step.key < key for step in direct)
                if report.key < key and not nearer and not set(under) - known:
                    yield report.call, "This comes before the device is waited for, so the step is not done", "reject"

    def _numbers(self, turn: Turn) -> Iterator[Said]:
        """Find reports whose number is not the step's."""
        for report in turn.reports:
            call = report.call
            first = call.args[0].value if isinstance(call, cst.Call) and call.args else None
            for place, given in where_given(self._script, call, first):
                if given is None or self._script.values.constant(given) is UNKNOWN:
                    continue
                yield place, f"`{self._script.tree.code(given)}` is no number that counts the steps", "reject"


def _exclude(one: Event, other: Event) -> bool:
    """Tell whether only one of two can happen in one turn."""
    return any((text, not holds) in other.guards for text, holds in one.guards)


def _either(behind: list[Event], step: Event) -> bool:
    """Tell whether two reports stand on the two sides of one question, and on every way one is met."""
    open_ = [{g for g in one.guards if g not in step.guards} for one in behind]
    single = {next(iter(g)) for g in open_ if len(g) == 1}
    return any((text, not holds) in single for text, holds in single)
