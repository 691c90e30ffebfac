"""`boostrank objectives`: lists all objectives, or shows one in full."""

import inspect
import re
from collections.abc import Mapping
from dataclasses import MISSING, asdict
from typing import Annotated, Any

import typer

from boostrank.lab.cli.options import Json, completion
from boostrank.lab.cli.output import print_json, print_note
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
    described = [_described(each) for each in objective_names() if name in (None, each)]
    if json_:
        print_json(described[0] if name else described)
        return
    if name is not None:
        _print_details(described[0])
        return
    width = max(len(each["name"]) for each in described) + 2
    for each in described:
        print_note(f"{each['name']:<{width}}{each['summary']}", hanging=width)
    print_note("'boostrank objectives NAME' shows its parameters and its contract.")


def _print_details(described: Mapping[str, Any]) -> None:
    name = described["name"]
    print_note(f"{name}: boostrank.{described['class']}")
    print_note(described["summary"])
    documented = _documented(Objective) | _documented(REGISTRY[name])
    values = dict.fromkeys(described["required"], "required")
    values |= {param: f"default {default!r}" for param, default in described["defaults"].items()}
    for heading, host in (("Parameters", False), ("For the host's training", True)):
        shown = [param for param in values if (param in HOST_PARAMETERS) == host]
        if shown:
            typer.echo(f"\n{heading}")
        for param in shown:
            text = f"{param}: {values[param]}. {documented.get(param, '')}".strip()
            print_note(text, indent=2, hanging=4)
    typer.echo("\nContract")
    for claim, value in described["contract"].items():
        if value != "":
            print_note(f"{claim.replace('_', ' ')}: {value}", indent=2, hanging=4)


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


def _described(name: str) -> dict[str, Any]:
    """Return what is said of an objective; its own parameters come before those of all."""
    cls, contract = REGISTRY[name], make_objective(name, {}, rounds=1).contract
    parameters: dict[str, Any] = {field.name: field.default for field in listed(cls)}
    parameters |= cls.presets.get(name, {})
    return {
        "name": name,
        "class": cls.__name__,
        "summary": (cls.__doc__ or "").partition("\n")[0].replace("``", "`"),
        "required": [param for param, default in parameters.items() if default is MISSING],
        "defaults": {
            param: default for param, default in parameters.items() if default is not MISSING
        },
        "contract": asdict(contract) | {"cost": str(contract.cost)},
    }
