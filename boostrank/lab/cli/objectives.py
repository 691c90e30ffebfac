"""`boostrank objectives`: all objectives, their parameters and contracts."""

from dataclasses import MISSING, asdict, fields
from typing import Any

from rich import box
from rich.table import Table

from boostrank.lab.cli.options import Json
from boostrank.lab.cli.output import make_console, print_json
from boostrank.objectives import REGISTRY
from boostrank.objectives.base import HOST_PARAMETERS
from boostrank.registry import make_objective, objective_names


def objectives(json_: Json = False) -> None:
    """List the objectives with their parameters and what their derivatives claim to be."""
    if json_:
        print_json([_as_json(name) for name in objective_names()])
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", no_wrap=True)
    for heading in ("class and parameters", "contract", "what it is"):
        table.add_column(heading)
    for name in objective_names():
        table.add_row(name, _signature(name), _promise(name), _summary(name))
    make_console().print(table)


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
    cls = REGISTRY[name]
    own = {f.name: f.default for f in fields(cls) if f.name not in HOST_PARAMETERS}
    return own | dict(cls.presets.get(name, {}))


def _signature(name: str) -> str:
    params = ", ".join(
        param if default is MISSING else f"{param}={default!r}"
        for param, default in _parameters(name).items()
    )
    return f"{REGISTRY[name].__name__}({params})"


def _promise(name: str) -> str:
    contract = make_objective(name, {}, rounds=1).contract
    return (
        f"gradient {contract.gradient}, Hessian {contract.hessian}, "
        f"{'' if contract.shift_invariant else 'not '}shift-invariant, {contract.cost}; "
        f"labels: {contract.labels}"
    )


def _summary(name: str) -> str:
    return (REGISTRY[name].__doc__ or "").partition("\n")[0]
