"""Settings that change how compilers and libraries compute, with the values that a script gives them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from reviewer.dataflow.uses import once
from reviewer.environment.variables import set_variables
from reviewer.fold import UNKNOWN
from reviewer.matchers.stored import stored
from reviewer.script import Script

_VARIABLE = re.compile(
    r"NEURON_CC_FLAGS|NEURON_COMPILE_\w+|NEURON_FUSE_\w+|XLA_FLAGS|XLA_USE_\w+|XLA_DOWNCAST_\w+|TORCHINDUCTOR_\w+"
    r"|TORCH_COMPILE_\w+|NVIDIA_TF32_OVERRIDE|CUBLAS_WORKSPACE_CONFIG|TRITON_F32_\w+|TORCH_ALLOW_\w+|MKLDNN_\w+"
    r"|ONEDNN_DEFAULT_FPMATH_MODE|DNNL_DEFAULT_FPMATH_MODE"
)
# These change how long something takes, or what is printed, and nothing else.
_ONLY_SPEED = re.compile(
    r"benchmark(?:_limit)?|compile_threads|fx_graph_\w*cache|debug|trace|verbose\w*|TORCHINDUCTOR_CACHE_DIR"
    r"|TORCHINDUCTOR_COMPILE_THREADS|TORCHINDUCTOR_FX_GRAPH_CACHE|NEURON_COMPILE_CACHE_URL|TORCH_COMPILE_DEBUG"
)
_MODULES = ("torch.backends", "torch._inductor.config")
_SETTERS = (
    "torch.set_float32_matmul_precision torch.use_deterministic_algorithms torch.set_default_dtype "
    "torch.set_flush_denormal torch.set_deterministic_debug_mode torch.backends.cuda.enable_flash_sdp "
    "torch.backends.cuda.enable_math_sdp torch.backends.cuda.enable_mem_efficient_sdp "
    "torch.backends.cuda.enable_cudnn_sdp torch.backends.cuda.preferred_linalg_library torch.set_default_tensor_type "
    "torch.backends.cuda.preferred_blas_library torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp"
)
_CALLS = frozenset(_SETTERS.split())
COMPILE = "torch.compile"
_OF_COMPILE = ("mode", "backend", "options")


@dataclass(frozen=True)
class Switch:
    """At `node`, `name` is set to `value`, which is written as it stands where it is not known."""

    node: cst.CSTNode
    name: str
    value: str


def switches(script: Script) -> Iterator[Switch]:
    """Yield every such setting."""
    for place, name, value in set_variables(script):
        if _VARIABLE.fullmatch(name) and not _ONLY_SPEED.fullmatch(name):
            yield Switch(place, name, _value(script, value))
    if "torch" in script.text:
        yield from _attributes(script)
    for path, call in script.calling(_CALLS):
        yield Switch(call, path, ", ".join(_value(script, arg.value) for arg in call.args))
    for path, call in once(script.calling((COMPILE,))):
        given = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
        values = [f"{word}={_value(script, given[word])}" for word in _OF_COMPILE if word in given]
        yield Switch(call, path, ", ".join(values))


def _attributes(script: Script) -> Iterator[Switch]:
    if not any(word in script.text for word in ("backends", "_inductor", "getattr")):
        return
    for name, store in ((name, one) for name, ones in stored(script).items() for one in ones):
        plain = isinstance(store.base, cst.Name) and store.base.value == "self"
        if store.by_key or plain or _ONLY_SPEED.fullmatch(name):
            continue
        for path in script.values.paths(store.base):
            if f"{path}.".startswith(tuple(f"{module}." for module in _MODULES)):
                yield Switch(store.node, f"{path}.{name}", _value(script, store.value))
                break


def _value(script: Script, node: cst.BaseExpression | None) -> str:
    value = script.values.constant(node)
    return repr(value) if value is not UNKNOWN else script.tree.code(node) if node is not None else ""
