"""The flags that a script declares, with parsers of every make."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from reviewer.environment.flag import Flag
from reviewer.environment.flag_values import gives_more
from reviewer.fold import UNKNOWN, names_in
from reviewer.scope import dotted, parameters
from reviewer.script import Script
from reviewer.values import Own

# Whatever has one of these modules in it has parsers, and a method of these names is one flag.
_MODULES = frozenset([
    "absl", "argparse", "cappa", "chz", "click", "clize", "configargparse", "cyclopts", "defopt", "docopt",
    "draccus", "fire", "getopt", "hydra", "jsonargparse", "omegaconf", "optparse", "plac", "pyrallis",
    "simple_parsing", "tap", "transformers", "typer", "tyro",
])  # fmt: skip
_FLAG_METHODS = frozenset({"add_argument", "add_option"})
_DECLARING = frozenset({"click.option", "click.argument", "typer.Option", "typer.Argument"})
# These make a command of a function or class: its parameters or fields are the flags.
_WHOLE = frozenset([
    "cappa.parse", "chz.entrypoint", "clize.run", "defopt.run", "draccus.parse", "fire.Fire",
    "jsonargparse.CLI", "jsonargparse.auto_cli", "plac.call", "pyrallis.parse", "simple_parsing.parse",
    "transformers.HfArgumentParser", "typer.run", "tyro.cli", "tyro.extras.get_parser",
    "tyro.extras.subcommand_cli_from_dict",
])  # fmt: skip
_OPAQUE = frozenset([
    "cyclopts.App", "cyclopts.run", "docopt.docopt", "draccus.wrap", "getopt.getopt", "getopt.gnu_getopt",
    "hydra.compose", "hydra.main", "omegaconf.OmegaConf.from_cli", "pyrallis.wrap",
])  # fmt: skip
_READING = frozenset({"parse_args", "parse_known_args", "parse_intermixed_args", "parse_args_into_dataclasses"})
_STEPS = 64  # what one flag of a helper costs
_STORES: dict[object, bool] = {"store_true": False, "store_false": True}


def find_flags(script: Script) -> list[Flag]:
    """Return every setting that the command line can give; none where the parser is given constant words instead."""
    if not _imports_a_parser(script):
        return []
    found = list(_arguments(script)) if _reads_the_command(script) else []
    for _, call in script.calling(_DECLARING):
        found.append(_declared(script, call, {}))
    for path, call in script.calling(_WHOLE):
        found.extend(_of_callable(script, call, path))
    found += [Flag(call, path, whole=True) for path, call in script.calling(_OPAQUE)]
    for path, calls in script.called.items():
        if path.startswith("absl.flags.DEFINE_"):
            found.extend(_defined(script, call) for call in calls)
        elif path == "typer.Typer().command":
            found.extend(flag for call in calls for flag in _of_decorated(script, call))
    for node in script.tree.of(cst.ClassDef):
        found += [Flag(node, "tap.Tap", whole=True) for b in node.bases if "tap.Tap" in script.values.paths(b.value)]
    return found


def _reads_the_command(script: Script) -> bool:
    """Tell whether a parser reads the command: `parse_args([])` reads what stands there."""
    found = False
    for attribute in script.tree.of(cst.Attribute):
        call = script.tree.parent(attribute)
        if attribute.attr.value not in _READING or not isinstance(call, cst.Call) or call.func is not attribute:
            continue
        found = True
        words = next((a.value for a in call.args if a.keyword is None or a.keyword.value == "args"), None)
        if words is None or not isinstance(script.values.constant(words), list):
            return True
    return not found  # nobody can see where it is read


def _imports_a_parser(script: Script) -> bool:
    paths = [*(path for _, path in script.imports), *script.called]
    return any(path.partition(".")[0] in _MODULES for path in paths)


def _arguments(script: Script) -> Iterator[Flag]:
    """Yield a flag for each `add_argument`, at the helper's call where a helper decides about its name."""
    defaults = _set_defaults(script)
    for attribute in script.tree.of(cst.Attribute):
        call = script.tree.parent(attribute)
        if attribute.attr.value not in _FLAG_METHODS or not isinstance(call, cst.Call) or call.func is not attribute:
            continue
        if any(isinstance(v, Own) for v in script.values.of(attribute)):
            continue  # a method of this file with that name
        for place, given in _sites(script, call):
            yield _declared(script, call, given, place, defaults)


def _sites(script: Script, call: cst.Call) -> Iterator[tuple[cst.CSTNode, dict[str, Any]]]:
    """Yield a declaration's place with what is known there: the calls of the helper around it, if its name is given."""
    helper = script.scopes.function_of(call)
    first = next((a.value for a in call.args if a.keyword is None), None)
    if helper is not None and first is not None and script.values.constant(first) is UNKNOWN:
        names = {p.name.value for p in parameters(helper)}
        sites = script.calls.sites.get(id(helper), ())
        if sites and names & names_in(first):
            for site, own in sites:
                script.budget.spend(_STEPS)
                args = script.calls.arguments(helper, site, own)
                known = {name: script.values.constant(value) for name, value in args.items()}
                yield site, {name: value for name, value in known.items() if value is not UNKNOWN}
            return
    yield call, {}


def _declared(
    script: Script,
    call: cst.Call,
    given: dict[str, Any],
    place: cst.CSTNode | None = None,
    defaults: dict[str, Any] | None = None,
) -> Flag:
    """Read one declaration: its spellings, its name, its default and what follows it."""
    fold = script.values.constant
    keywords = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
    words = [fold(a.value, given) for a in call.args if a.keyword is None and not a.star]
    texts = tuple(w for w in words if isinstance(w, str))
    if any(p.startswith("typer.") for p in script.path_of(call)):
        return _of_typer(script, call, words, texts)
    longest = max(texts, key=lambda t: (t.startswith("--"), t.startswith("-"), len(t)), default="")
    dest, action = fold(keywords.get("dest"), given), fold(keywords.get("action"), given)
    name = dest if isinstance(dest, str) else longest.lstrip("-").split("/")[0].replace("-", "_")
    default = fold(keywords.get("default"), given)
    if "default" not in keywords:
        default = False if fold(keywords.get("is_flag"), given) is True else _STORES.get(action)
    if defaults and name in defaults:
        default = defaults[name]
    positional = not longest.startswith("-")
    required = fold(keywords.get("required"), given)
    if required is UNKNOWN:
        required = positional and "default" not in keywords and fold(keywords.get("nargs"), given) not in ("?", "*")
    takes = 0 if isinstance(action, str) and action.startswith(("store_", "count", "append_const")) else 1
    is_known = "nargs" not in keywords and ("action" not in keywords or isinstance(action, str))
    spellings = tuple(part for text in texts if text.startswith("-") for part in text.split("/"))
    kind = dotted(keywords["type"]) if "type" in keywords else ""
    required = bool(required and longest)
    more = gives_more(script, keywords, {name: fold(value, given) for name, value in keywords.items()})
    return Flag(place or call, longest, default, spellings, required, takes if is_known else None, kind, more=more)


def _of_typer(script: Script, call: cst.Call, words: list[Any], texts: tuple[str, ...]) -> Flag:
    name, default = _parameter_of(script, call), words[0] if words else UNKNOWN
    spellings = tuple(t for t in texts if t.startswith("-")) or (f"--{name.replace('_', '-')}",)
    return Flag(call, spellings[-1], default, spellings, takes=None)


def _set_defaults(script: Script) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for attribute in script.tree.of(cst.Attribute):
        call = script.tree.parent(attribute)
        if attribute.attr.value == "set_defaults" and isinstance(call, cst.Call):
            found |= {a.keyword.value: script.values.constant(a.value) for a in call.args if a.keyword is not None}
    return found


def _parameter_of(script: Script, node: cst.CSTNode) -> str:
    """Return the parameter whose default, or annotation, an expression is part of."""
    param = script.tree.enclosing(node, cst.Param)
    return param.name.value if param is not None else ""


def _of_callable(script: Script, call: cst.Call, path: str) -> Iterator[Flag]:
    """Yield a flag for each parameter or field of what a command is made of."""
    made = [v.node for arg in call.args[:1] for v in script.values.of(arg.value) if isinstance(v, Own)]
    if not made:
        yield Flag(call, path, whole=True)
    for node in made:
        settings = list(_fields(node) if isinstance(node, cst.ClassDef) else _parameters(node))
        if not settings:
            yield Flag(call, path, whole=True)
        for name, default, place in settings:
            if isinstance(default, cst.Call) and _DECLARING.intersection(script.path_of(default)):
                continue  # that call is a flag by itself
            value = script.values.constant(default) if default is not None else UNKNOWN
            spelled = (f"--{name}", f"--{name.replace('_', '-')}")
            yield Flag(place, spelled[0], value, spelled, takes=None)


def _of_decorated(script: Script, call: cst.Call) -> Iterator[Flag]:
    function = script.tree.enclosing(call, cst.FunctionDef)
    for name, default, place in _parameters(function) if function is not None else ():
        if not (isinstance(default, cst.Call) and _DECLARING.intersection(script.path_of(default))):
            value = script.values.constant(default) if default is not None else UNKNOWN
            yield Flag(place, f"--{name}", value, (f"--{name}", f"--{name.replace('_', '-')}"), takes=None)


def _fields(node: cst.ClassDef) -> Iterator[tuple[str, cst.BaseExpression | None, cst.CSTNode]]:
    for statement in node.body.body:
        for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
                yield small.target.value, small.value, small


def _parameters(node: cst.FunctionDef | cst.Lambda) -> Iterator[tuple[str, cst.BaseExpression | None, cst.CSTNode]]:
    for param in parameters(node):
        yield param.name.value, param.default, param


def _defined(script: Script, call: cst.Call) -> Flag:
    words = [script.values.constant(a.value) for a in call.args if a.keyword is None]
    name = words[0] if words and isinstance(words[0], str) else ""
    default = words[1] if len(words) > 1 else UNKNOWN
    return Flag(call, name and f"--{name}", default, (f"--{name}", f"--no{name}"), takes=None)
