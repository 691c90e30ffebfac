"""`boostrank objectives`: lists all objectives, or shows one in full."""

import inspect
import re
from dataclasses import MISSING, asdict
from typing import Annotated, Any

import typer

from boostrank.lab.cli.options import Json, completion
from boostrank.lab.cli.output import make_console, print_json, print_note
from boostrank.objectives import REGISTRY, Objective
from boostrank.objectives.base import HOST_PARAMETERS, listed
from boostrank.registry import check_name, make_objective, objective_names

EXAMPLES = """
**Examples**

    boostrank objectives
    boostrank objectives shf-sdcg
"""


def objectives(
    name: Annotated[
        str | None,
        typer.Argument(
            help="The objective to show in full.", autocompletion=completion(objective_names)
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """List the objectives, or show one with its parameters and its contract."""
    if name is not None:
        name = make_objective(check_name(name), {}, 1).name  # "auto" is a way to set `blend`
    if json_:
        described = [_as_json(each) for each in objective_names() if name in (None, each)]
        print_json(described[0] if name else described)
    elif name is not None:
        _print_details(name)
    else:
        _print_list()


def _print_list() -> None:
    console = make_console()
    names = objective_names()
    width = max(map(len, names)) + 2
    for name in names:
        print_note(console, f"{name:<{width}}{_summary(name)}", hanging=width)
    print_note(console, "'boostrank objectives NAME' shows its parameters and its contract.")


def _print_details(name: str) -> None:
    console, described = make_console(), _as_json(name)
    print_note(console, f"{name}: boostrank.{described['class']}")
    print_note(console, described["summary"])
    documented = _documented(Objective) | _documented(REGISTRY[name])
    for heading, host in (("Parameters", False), ("For the host's training", True)):
        params = {
            param: default
            for param, default in _parameters(name).items()
            if (param in HOST_PARAMETERS) == host
        }
        if params:
            console.print(f"\n{heading}")
        for param, default in params.items():
            value = "required" if default is MISSING else f"default {default!r}"
            text = f"{param}: {value}. {documented.get(param, '')}".strip()
            print_note(console, text, indent=2, hanging=4)
    console.print("\nContract")
    for claim, value in described["contract"].items():
        if value != "":
            print_note(console, f"{claim.replace('_', ' ')}: {value}", indent=2, hanging=4)


def _documented(cls: type[Objective]) -> dict[str, str]:
    """Return the text on each parameter from a class's docstring, with its choices first."""
    sections = re.split(r"^(\w[\w ]*)\n-+\n", inspect.getdoc(cls) or "", flags=re.MULTILINE)
    text = dict(zip(sections[1::2], sections[2::2], strict=True)).get("Parameters", "")
    entries = re.split(r"^([\w, ]+) : (.*)\n", text, flags=re.MULTILINE)[1:]
    return {
        name: " ".join([*re.findall(r"\{.*?\}", kind), *body.replace("``", "`").split()])
        for names, kind, body in zip(entries[::3], entries[1::3], entries[2::3], strict=True)
        for name in names.split(", ")
        if body.strip()
    }


def _as_json(name: str) -> dict[str, Any]:
    parameters = _parameters(name)
    contract = make_objective(name, {}, rounds=1).contract
    return {
        "name": name,
        "class": REGISTRY[name].__name__,
        "summary": _summary(name),
        "required": [param for param, default in parameters.items() if default is MISSING],
        "defaults": {
            param: default for param, default in parameters.items() if default is not MISSING
        },
        "contract": asdict(contract) | {"cost": str(contract.cost)},
    }


def _parameters(name: str) -> dict[str, Any]:
    """Return all parameters with their defaults, those of the objective itself first."""
    cls = REGISTRY[name]
    return {field.name: field.default for field in listed(cls)} | dict(cls.presets.get(name, {}))


def _summary(name: str) -> str:
    return (REGISTRY[name].__doc__ or "").partition("\n")[0].replace("``", "`")
