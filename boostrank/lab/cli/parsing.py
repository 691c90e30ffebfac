"""What users write in options: objectives with parameters, and comma-separated lists."""

import ast
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from boostrank import presets
from boostrank.lab.rivals import TRAINERS
from boostrank.lab.settings import Settings
from boostrank.objectives import Objective
from boostrank.objectives.blend import AUTO
from boostrank.objectives.validation import check_choice
from boostrank.registry import check_name, make_objective

PRESETS = ("regularized", "accuracy")
#: As many as in the published comparisons; enough to see which objectives overfit.
PRESET_ROUNDS = 300


def _value(text: str) -> Any:
    """Read a parameter: a Python literal if it is one, otherwise a word."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def parse_params(pairs: list[str], objective: str) -> dict[str, Any]:
    """Read ``k=10`` and the like."""
    params = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not (key and equals and text):
            raise ValueError(
                f"a parameter of {objective} is written name=value, such as k=10; got {pair!r}"
            )
        params[key.strip()] = _value(text.strip())
    return params


def parse_objectives(texts: list[str], rounds: int) -> dict[str, Objective] | None:
    """Read ``sdcg``, ``sdcg,lambdarank`` and ``sdcg:k=10,alpha=2``; None if nothing is named."""
    labels: list[str] = []
    for piece in ",".join(texts).split(",") if texts else []:
        if labels and "=" in piece and ":" not in piece:  # one more parameter of that objective
            labels[-1] += f",{piece.strip()}"
        else:
            labels.append(piece.strip())
    made = {}
    for label in labels:
        name, colon, rest = label.partition(":")
        if name != AUTO:
            check_name(name)
        params = parse_params(rest.split(",") if colon else [], name)
        made[label] = make_objective(name, params, rounds)
    return made or None


def accuracy_objectives(rounds: int) -> dict[str, Objective]:
    """Return what ``--preset accuracy`` compares: defaults, and SHF-SDCG without noise."""
    made = parse_objectives(
        ["blend,sdcg,shf-sdcg,shf-sdcg:perturb=None,reg-shf-sdcg,lambdarank,ranknet,gbrank"],
        rounds,
    )
    assert made is not None
    return made


def read_params(path: Path | None, hosts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read the hosts' parameters from a JSON file, by host; a single host may be left unnamed."""
    if path is None:
        return {}
    expected = 'expected {"lightgbm": {"name": value}, "xgboost": {...}}'
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path}, line {error.lineno}: not JSON ({error.msg}); {expected}"
        ) from error
    if isinstance(read, dict) and len(hosts) == 1 and not set(read) & set(TRAINERS):
        read = {hosts[0]: read}
    if not isinstance(read, dict) or not all(isinstance(own, dict) for own in read.values()):
        raise ValueError(f"{path}: {expected}, got {json.dumps(read)[:60]}")
    return {check_choice(f"host in {path}", host, TRAINERS): own for host, own in read.items()}


def with_preset(preset: str | None, params: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the hosts' parameters on top of those of ``--preset regularized``.

    Parameters of the preset that have an option of their own, such as ``--leaves``, are left out.
    """
    if preset is not None:
        check_choice("preset", preset, PRESETS)
    if preset != "regularized":
        return params
    chosen = {}
    for host, model in TRAINERS.items():
        options = model.shared(Settings())
        own = presets.REGULARIZED.get(host, {})
        chosen[host] = {name: value for name, value in own.items() if name not in options}
    return {host: {**own, **params.get(host, {})} for host, own in chosen.items()}


def parse_gain(text: str | None) -> str | tuple[float, ...] | None:
    """Read a word, or comma-separated numbers."""
    if text is None or text.replace("-", "").isalpha():
        return text
    try:
        return tuple(float(piece) for piece in text.split(","))
    except ValueError:
        raise ValueError(
            "gain is exponential, linear, or comma-separated numbers, one for each grade from 0, "
            f"such as 0,1,3,10; got {text!r}"
        ) from None


def parse_folds(text: str) -> list[int]:
    """Read comma-separated numbers."""
    try:
        return [int(piece) for piece in text.split(",")]
    except ValueError:
        raise ValueError(f"folds are comma-separated numbers, such as 1,2; got {text!r}") from None


def parse_words(text: str) -> list[str]:
    """Read comma-separated words."""
    return [piece.strip() for piece in text.split(",")]
