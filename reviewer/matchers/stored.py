"""What a script sets as attributes and entries, by name: collected once, and asked by several rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from reviewer.matchers.attributes import Store, stores
from reviewer.script import Script

_KNOWN: WeakKeyDictionary[Script, Mapping[str, Sequence[Store]]] = WeakKeyDictionary()


def stored(script: Script) -> Mapping[str, Sequence[Store]]:
    """Return every attribute and entry that is set under a name that can be read, by that name."""
    known = _KNOWN.get(script)
    if known is None:
        found: dict[str, list[Store]] = defaultdict(list)
        for store in stores(script):
            if store.name is not None:
                found[store.name].append(store)
        known = _KNOWN[script] = dict(found)
    return known
