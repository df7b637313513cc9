"""The rules by dotted path, so that importing this list imports no parser."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reviewer.rules.base import Rule

PATHS = (
    "reviewer.rules.k101_env_read.EnvRead",
    "reviewer.rules.k102_cli_flag.CliFlag",
    "reviewer.rules.e201_eval_fork.EvalFork",
    "reviewer.rules.e204_eval_only_logit_transform.EvalOnlyLogitTransform",
    "reviewer.rules.e205_reads_validation_split.ReadsValidationSplit",
    "reviewer.rules.d301_network.Network",
    "reviewer.rules.d302_pretrained_or_hub.PretrainedOrHub",
    "reviewer.rules.d303_outside_path.OutsidePath",
    "reviewer.rules.d305_unsafe_load.UnsafeLoad",
    "reviewer.rules.s401_dynamic_code.DynamicCode",
    "reviewer.rules.s402_process_spawn.ProcessSpawn",
    "reviewer.rules.o601_packed_code.PackedCode",
    "reviewer.rules.t901_no_load_for_eval.NoLoadForEval",
    "reviewer.rules.t902_runs_on_import.RunsOnImport",
    "reviewer.rules.t903_no_checkpoint_written.NoCheckpointWritten",
    "reviewer.rules.t904_launch_mismatch.LaunchMismatch",
    "reviewer.rules.h701_silent_fallback.SilentFallback",
)


@cache
def load() -> tuple[Rule, ...]:
    """Import every rule and return one instance of each."""
    found: list[Rule] = []
    for path in PATHS:
        module, _, name = path.rpartition(".")
        found.append(getattr(import_module(module), name)())
    return tuple(found)
