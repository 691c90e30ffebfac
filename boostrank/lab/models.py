"""The hosts by name, and model files of either host."""

from collections.abc import Mapping
from pathlib import Path

from boostrank.lab.lightgbm_model import LightGBMModel
from boostrank.lab.model import Model
from boostrank.lab.xgboost_model import XGBoostModel

HOSTS: Mapping[str, type[Model]] = {model.host: model for model in (LightGBMModel, XGBoostModel)}


def load_model(path: Path, threads: int = 1) -> Model:
    """Read a model file of either host, which is recognised by the content.

    Parameters
    ----------
    path : Path
    threads : int, default 1
        For prediction.

    Returns
    -------
    Model

    Raises
    ------
    ValueError
        If it is not a model of LightGBM or XGBoost.
    OSError
        If it cannot be read.
    """
    with path.open("rb") as file:
        start = file.read(4)
    if start == b"tree":
        return LightGBMModel.load(path, threads)
    if start.startswith(b"{"):  # JSON and UBJSON alike
        return XGBoostModel.load(path, threads)
    raise ValueError(
        f"{path} is not a model of LightGBM (text) or XGBoost (JSON, UBJSON), as 'boostrank train' "
        "writes them"
    )
