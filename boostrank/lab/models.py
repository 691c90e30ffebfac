"""The hosts by name, those that are installed, and model files."""

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from boostrank.hosts.model_files import outputs_of_xgboost, read_booster
from boostrank.lab.catboost_model import CatBoostModel
from boostrank.lab.lightgbm_model import LightGBMModel
from boostrank.lab.model import Model
from boostrank.lab.xgboost_model import XGBoostModel
from boostrank.messages import package_of

FileModel = LightGBMModel | XGBoostModel
#: Those that take our objectives.
HOSTS: Mapping[str, type[FileModel]] = {
    model.host: model for model in (LightGBMModel, XGBoostModel)
}
#: Every host that a comparison can train.
TRAINERS: Mapping[str, type[Model]] = {**HOSTS, CatBoostModel.host: CatBoostModel}


def installed() -> list[str]:
    """Return those of `HOSTS` that are installed, or say how to install one if none is."""
    found = [host for host in HOSTS if find_spec(host) is not None]
    if not found:
        commands = " or ".join(f"pip install {package_of(host)}" for host in HOSTS)
        raise ImportError(f"none of {', '.join(HOSTS)} is installed: {commands}")
    return found


def missing_hosts() -> list[str]:
    """Say which hosts are left out because they are not installed."""
    found = installed()
    return [
        f"{host} is not installed and left out: pip install {package_of(host)}."
        for host in HOSTS
        if host not in found
    ]


def load_model(path: Path) -> FileModel:
    """Read a model file of either host, which is recognised by the content.

    It must be a complete model with one score for each document. It predicts in one thread.
    """
    booster = read_booster(path)
    if hasattr(booster, "num_model_per_iteration"):
        host, n_outputs = "lightgbm", booster.num_model_per_iteration()
    else:
        booster.set_param({"nthread": 1})
        learner = json.loads(booster.save_config())["learner"]
        host, n_outputs = "xgboost", outputs_of_xgboost(learner)
    if n_outputs > 1:
        raise ValueError(
            f"{path} has {n_outputs} scores for each document, as models of several classes have; "
            "ranking needs one"
        )
    return HOSTS[host](booster, threads=1)
