"""Objectives as users write them, such as ``sdcg:k=10,alpha=2``, and as tables name them."""

import ast
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import MISSING
from typing import Any

from boostrank.hosts.rankers import check_unbound
from boostrank.lab.models import TRAINERS
from boostrank.objectives import REGISTRY, Objective
from boostrank.objectives.base import listed
from boostrank.objectives.blend import AUTO
from boostrank.registry import OF_HOSTS, check_name, make_objective

#: What to do with objectives that no fold can train.
OF_FOLDS = (
    "train on each fold yourself, with what belongs to its rows, and measure with "
    "boostrank.evaluate; lightgbm.cv finds those rows itself"
)
# Longer names would leave a table no room for its figures.
_LONGEST = 60


def parse_params(pairs: list[str], objective: str) -> dict[str, Any]:
    """Read ``k=10`` and the like; what is no literal of Python is a word."""
    params: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = (piece.strip() for piece in pair.partition("="))
        if not (key and equals and text):
            raise ValueError(
                f"a parameter of {objective} is written name=value, such as k=10; got {pair!r}"
            )
        if key in params:
            raise ValueError(f"the parameter {key!r} of {objective} is given twice")
        params[key] = text
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            params[key] = ast.literal_eval(text)
    return params


def parse_objectives(texts: Sequence[str], rounds: int) -> dict[str, Objective]:
    """Read ``sdcg``, ``sdcg,lambdarank`` and ``sdcg:k=10,alpha=2``."""
    labels: list[str] = []
    for piece in ",".join(texts).split(",") if texts else []:
        if labels and "=" in piece and ":" not in piece:  # one more parameter of that objective
            labels[-1] += f",{piece.strip()}"
        else:
            labels.append(piece.strip())
    return {label: parse_objective(label, [], rounds) for label in labels}


def parse_objective(label: str, more: list[str], rounds: int) -> Objective:
    """Read ``sdcg`` or ``sdcg:k=10,alpha=2``, and `more` parameters such as ``beta=2``."""
    name, colon, rest = label.partition(":")
    if name in TRAINERS or label.rpartition("@")[2] in TRAINERS:
        raise ValueError(_of_host(label))
    for host, model in TRAINERS.items():
        if label in model.builtins and label in OF_HOSTS:
            raise ValueError(
                f"unknown objective {label!r}: {host}:{label} is {host}'s own, which compare "
                f"trains by itself; ours is {OF_HOSTS[label][1]}"
            )
    if name not in (*REGISTRY, AUTO) and "=" not in rest:
        name = label  # no parameters follow: a host's name, such as rank:map
    params = parse_params((rest.split(",") if colon else []) + more, check_name(name))
    return make_objective(name, params, rounds)


def _of_host(label: str) -> str:
    """Say what is wrong with lightgbm:regression or regression@lightgbm among our objectives."""
    name, at, host = label.rpartition("@")
    if not at:
        host, _, name = label.partition(":")
    builtins = TRAINERS[host].builtins
    if name in builtins and not at:
        return f"{label} is {host}'s own, which compare trains if {host} is a host: leave it out"
    ours = ""
    if name.partition(":")[0] in REGISTRY:
        ours = f"; ours is written {name!r}, and the host apart (--host or --hosts {host})"
    return f"unknown objective {label!r}: {host}'s own are {', '.join(builtins)}{ours}"


def named_objectives(objectives: Iterable[str | Objective], rounds: int) -> dict[str, Objective]:
    """Return objectives, given by name, with parameters or as objects, by their names in tables."""
    made: dict[str, Objective] = {}
    for each in objectives:
        if isinstance(each, str):
            own = parse_objectives([each], rounds)
        elif isinstance(each, Objective):
            check_unbound(each, "a comparison", OF_FOLDS)
            own = {label_of(each): each}
        else:
            raise TypeError(f"objectives must be names or objectives, got {each!r}")
        for label, objective in own.items():
            if made.setdefault(label, objective) != objective:
                raise ValueError(f"two different objectives are called {label!r}: leave one out")
    return made


def label_of(objective: Objective) -> str:
    """Return an objective's name with what differs from its defaults, such as ``sdcg:k=10``."""
    presets = type(objective).presets.get(objective.name, {})
    changed, inside = [], []
    for field in listed(objective):
        value = getattr(objective, field.name)
        default = presets.get(field.name, field.default)
        if isinstance(value, Objective):
            inside.append(label_of(value))
        elif default is MISSING or value != default:
            changed.append(f"{field.name}={value}")
    name = objective.name if objective.name in REGISTRY else type(objective).__name__
    text = name + (f"({' + '.join(inside)})" if inside else "")
    text += ":" + ",".join(changed) if changed else ""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
