"""What scripts claim about themselves: by kind, how it is said, and the rules whose finding says otherwise."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Repeats are bounded, and each text is one sentence of a few hundred characters.
_NO = (
    r"(?:no|without(?: any)?|zero|free of"
    r"|never (?:reads?|uses?|sees?|touch(?:es)?|needs?|has|loads?|calls?|takes?|trains? on)"
    r"|(?:does not|doesn't|do not|don't) (?:read|use|see|touch|need|have|load|call|take|train on|depend on|contain))"
)
_OF = r"\s+(?:(?:the|any|of|a|an|other|external|hidden|process|silent|extra|special|separate)\s+){0,2}"
_EVAL = r"(?:eval|evaluation|test|testing|inference|scoring|validation)"
_TRAIN = r"(?:train|training)"
_AND = r"(?:[- ]time)?\s*(?:and|/|&|or|as)\s*(?:in |at |for |during )?"
_BOTH = rf"(?:{_TRAIN}{_AND}{_EVAL}|{_EVAL}{_AND}{_TRAIN})"
_SAME = r"(?:identical|identically|the same|same|equal|equally|unchanged|bit-identical|no difference)"


@dataclass(frozen=True)
class Kind:
    """One kind of claim. A sentence with one of `words` is read with `pattern`; a finding of `rules` contradicts it."""

    about: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    rules: tuple[str, ...]


def _kind(about: str, words: str, rules: str, *patterns: str) -> Kind:
    spaced = "|".join(patterns).replace(" ", r"\s+")
    return Kind(about, tuple(words.split("|")), re.compile(spaced), tuple(rules.split()))


_SETTINGS = "K101 K102 K103"
_EVALUATION = "E201 E202 E203 E204 E206 C505"

KINDS = (
    _kind(
        "no environment",
        "env",
        "K101",
        (
            rf"\b{_NO}{_OF}(?:env|environment|environ|os\.environ|getenv)\b(?:[- ]?(?:vars?|variables?|reads?|"
            rf"knobs?|settings?|flags?)\b)?(?![- \w]{{0,12}}\)?\W{{0,2}}(?:->|=>|\bset\b|\bgiven\b))"
        ),
        r"\b(?:env|environment)(?: variables?)? (?:is|are) (?:not|never) (?:read|used)",
        r"\bnothing (?:\w+ ){0,3}from the (?:process )?environment\b",
    ),
    _kind(
        "no settings from outside",
        "knob|in this file|in the file|single file|one file|hard-coded|hardcoded|flags|config|command line|"
        "command-line|argparse",
        _SETTINGS,
        (
            rf"\b{_NO}{_OF}(?:knobs?|flags?|command[- ]lines?|cli|argparse|configs?|configuration|config files?|"
            rf"overrides)\b"
        ),
        (
            r"\b(?:everything|all(?: \w+){0,3}) (?:is|are|lives?|stands?) (?:\w+ )?(?:in|inside) (?:this|the|one|"
            r"a single) file\b"
        ),
        r"\b(?:all|every|everything)(?: \w+){0,3} (?:is|are) (?:hard-?coded|(?:a )?constants?|fixed)\b",
    ),
    _kind(
        "one file alone",  # which may well have settings
        "self-contained|self contained|single file|single-file|one file|one-file",
        "K103",
        r"\bself[- ]contained (?:\w+ )?(?:script|file|training|program|run)\b",
        r"\b(?:script|file|program) is self[- ]contained\b",
        r"\b(?:single|one)[- ]file(?:,| (?:\w+ )?(?:script|program|training|trainer|gpt|implementation|model|version))",
    ),
    _kind(
        "one model in training and evaluation",
        "eval|infer|scor|test",
        _EVALUATION,
        rf"\b{_NO}{_OF}{_EVAL}[- ]?(?:only|time|specific|mode)?[- ](?:\w+ )?(?:branch|branches|path|paths|fork|"
        rf"forks|code|logic|tricks?|"
        r"behaviou?r|switch|switches|hacks?|changes?|transform|transforms|difference)\b",
        rf"\b{_SAME}\b(?: \w+){{0,6}} {_BOTH}\b",
        rf"\b{_BOTH}\b(?: \w+){{0,3}} (?:are|is|use|uses|run|runs|share|shares|have|see) {_SAME}\b",
        rf"\b{_SAME} (?:\w+ )?(?:model|forward|path|arithmetic|logits|computation|function|network|weights|code)"
        rf"(?: \w+){{0,2}} (?:at|in|for|during|when) {_EVAL}\b",
        rf"\bnothing(?: \w+){{0,2}} (?:changes|differs|happens) (?:at|in|for|during) {_EVAL}\b",
    ),
    _kind(
        "no scaling of logits",
        "logit|temperature",
        "E204 E201",
        (
            rf"\b{_NO}{_OF}(?:eval(?:uation)?[- ])?(?:logits?|temperature)\b(?:[- ](?:scal\w+|temperature|bias\w*|"
            rf"transforms?|tweaks?|tricks?|hacks?))?"
        ),
        r"\blogits (?:are|is) (?:not|never) (?:scaled|changed|biased|transformed)",
    ),
    _kind(
        "no fallback",
        "fallback|fall back|fall-back|falls back",
        "H701",
        rf"\b{_NO}{_OF}fall-?backs?\b",
        r"\b(?:never|does not|doesn't|do not) falls? back\b",
    ),
    _kind(
        "no held-out data",
        "val|held|dev |dev-|test|eval",
        "E205",
        (
            rf"\b{_NO}{_OF}(?:val|validation|dev|held[- ]?out|test|eval|evaluation)[- ](?:data|set|split|text|"
            rf"tokens?|shards?|documents?|loss|rows?)\b"
        ),
        (
            r"\b(?:validation|held[- ]?out|dev|test) (?:data|set|split|text|tokens) (?:is|are) (?:not|"
            r"never) (?:read|used|seen|touched)"
        ),
    ),
    _kind(
        "training data alone",
        "training|kit",
        "E205 D301 D302 D303 D304 D306",
        (
            r"\b(?:only|solely|exclusively|nothing but|just) (?:\w+ ){0,3}(?:the )?training (?:data|split|text|"
            r"shards?|tokens)\b"
        ),
        r"\btraining (?:data|split|text|shards?|tokens) (?:only|alone)\b",
        r"\b(?:all|every|the) (?:data|tokens?|batch\w*)(?: \w+){0,2} (?:comes?|come) (?:only )?from the kit\b",
    ),
    _kind(
        "no network",
        "network|internet|download|offline|http|socket",
        "D301 D302",
        (
            rf"\b{_NO}{_OF}(?:network access|network connections?|network calls?|network requests?|internet|"
            rf"downloads?|downloading|https?|sockets?)\b"
        ),
        r"\bno network(?=[,.;:)]|$| is | needed| used| required| and | or )",
        r"\b(?:fully|runs|works|entirely) offline\b",
    ),
    _kind(
        "no pretrained weights",
        "pretrain|pre-train|scratch|external weights",
        "D302 D305 D306",
        rf"\b{_NO}{_OF}(?:pre-?trained(?: \w+)?|external weights)\b",
        r"\b(?:train(?:s|ed)?|learns?|learned|starts?|initiali[sz]ed) (?:\w+ ){0,2}from scratch\b",
    ),
    _kind(
        "a pure function",
        "pure|stateless|side effect|side-effect|no state",
        "E207 E208 E206",
        r"\bpure(?:ly)? (?:causal )?(?:function|functional|forward|model)\b",
        r"\b(?:is|are|stays?|remains?) pure\b",
        r"\bstateless\b",
        rf"\b{_NO}{_OF}(?:side[- ]effects?|state|mutable state|hidden state between calls)\b",
    ),
    _kind(
        "causal",
        "causal|future token|future tokens|look ahead|look-ahead|lookahead",
        "E208 E209 E210",
        r"\b(?:strictly|fully|purely|truly|always|is|are|remains?|stays?) causal\b(?! ?[=_])",
        rf"\b{_NO}{_OF}(?:future tokens?|look-?aheads?|peeking)\b",
    ),
    _kind(
        "deterministic",
        "deterministic|reproducible",
        "K104 E207 E208",
        r"\b(?:fully|bitwise|completely|is|are|strictly|entirely) (?:deterministic|reproducible)\b",
    ),
    _kind(
        "no adaptation in evaluation",
        "adapt|test-time|test time|ttt",
        "E206",
        (
            rf"\b{_NO}{_OF}(?:test[- ]time (?:training|adaptation)|ttt|adaptation|"
            rf"eval(?:uation)?[- ]time (?:training|adaptation))\b"
        ),
    ),
    _kind(
        "nothing hidden",
        "exec|eval(|dynamic|monkey|patch|subprocess|hidden|trick|packed|obfuscat|native code",
        "S401 S402 S403 S404 S405 S406 O601 O602",
        rf"\b{_NO}{_OF}(?:exec|eval\(\)|dynamic code|generated code|monkey-?patch\w*|subprocess(?:es)?|"
        rf"hidden \w+|tricks?|obfuscat\w+|"
        r"native code|packed code)(?![- ]only)\b",
    ),
    _kind(
        "no data in the file",
        "embedded|lookup table|stored",
        "D306",
        rf"\b{_NO}{_OF}(?:embedded|stored|precomputed|pre-computed) (?:data|weights|text|tables?|statistics)\b",
    ),
    _kind(
        "the platform's seed",
        "seed",
        "H704",
        rf"\b{_NO}{_OF}(?:fixed|own|hard-?coded|manual) seeds?\b",
        r"\bseed(?:s|ed)? (?:is|are|comes?|come|left)(?: \w+){0,2} (?:from|by|to) the (?:platform|kit)\b",
        r"\b(?:does not|doesn't|never) (?:set|fix|choose|seed)s? (?:a |the |its |any )?seeds?\b",
    ),
)
