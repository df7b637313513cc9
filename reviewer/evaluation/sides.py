"""Whether a place runs when the model is trained, when it is scored, or both."""

from __future__ import annotations

from typing import Literal

import libcst as cst

from reviewer.script import Script

Side = Literal["both", "train", "eval", "neither"]


class Sides:
    """Where the functions of one script run."""

    def __init__(self, script: Script) -> None:
        self._script = script
        loaders = [f for f in script.forwards if f.name.value == "load_for_eval"]
        forwards = [f for f in script.forwards if f.name.value != "load_for_eval"]
        self._scored = script.calls.reachable([*loaders, *forwards])
        self._trained = script.calls.reachable([script.tree.module, *forwards])

    def of(self, node: cst.CSTNode) -> Side:
        """Return the side of a place. What stands at the top of the file runs on both."""
        function = self._script.scopes.function_of(node)
        if function is None:
            return "train" if self._is_main(node) else "both"
        trained, scored = id(function) in self._trained, id(function) in self._scored
        return "both" if trained and scored else "train" if trained else "eval" if scored else "neither"

    def _is_main(self, node: cst.CSTNode) -> bool:
        below = node
        for above in self._script.tree.ancestors(node):
            if isinstance(above, cst.If) and below is above.body and self._script.asks_main(above.test):
                return True
            below = above
        return False
