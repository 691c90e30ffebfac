"""The hosts by name, and model files of either host."""

from collections.abc import Mapping
from pathlib import Path

from boostrank.hosts.model_files import host_of
from boostrank.lab.catboost_model import CatBoostModel
from boostrank.lab.lightgbm_model import LightGBMModel
from boostrank.lab.model import FileModel, Model
from boostrank.lab.xgboost_model import XGBoostModel

#: Those that take our objectives.
HOSTS: Mapping[str, type[FileModel]] = {
    model.host: model for model in (LightGBMModel, XGBoostModel)
}
#: Every host that a comparison can train.
TRAINERS: Mapping[str, type[Model]] = {**HOSTS, CatBoostModel.host: CatBoostModel}


def load_model(path: Path) -> FileModel:
    """Read a model file of either host, which is recognised by the content.

    It must be a complete model with one score for each document.
    """
    content = path.read_bytes()
    return HOSTS[host_of(path, content)].load(path, content)
