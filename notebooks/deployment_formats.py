"""Models converted to other formats: the table of docs/deployment.md.

    pip install onnxmltools skl2onnx onnxruntime treelite tl2cgen sklearn2pmml jpmml_evaluator \
        shap mlflow
    python notebooks/deployment_formats.py

Converts each model in every way, and prints the largest difference from the host's own
predictions, or the error. A package that is not installed shows as an error in its lines. PMML
needs Java.
"""

import os
import subprocess
import sys
import tempfile
import warnings
from importlib import import_module

import lightgbm
import numpy as np
import xgboost

import boostrank.lightgbm
import boostrank.xgboost
from boostrank.datasets import make_ranking

DATA = make_ranking(100, 20, n_features=8, seed=1)
X = DATA.X.astype(np.float32).astype(float)  # ONNX and XGBoost compute in float32
CLICKS = (DATA.y > 1).astype(float)
PLACE = np.tile(np.arange(1, 21), 100)  # where each document was shown
MARGIN = np.digitize(X[:, 0], [0.0, 0.5, 0.8])
PAIRS = [(row, row + 1) for row in range(0, len(X), 2) if DATA.y[row] > DATA.y[row + 1]]
PARTS = {"relevance": boostrank.Blend(), "margin": boostrank.QueryRMSE()}
WEIGHTS = {"relevance": 0.7, "margin": 0.3}
#: Our objectives, and the labels that each learns from.
OURS = {
    "Blend": (boostrank.Blend(), DATA.y),
    "Several": (boostrank.Several(PARTS, labels={"margin": MARGIN}, weights=WEIGHTS), DATA.y),
    "Unbiased": (boostrank.Unbiased(boostrank.Blend(), position=PLACE), CLICKS),
    "Preferences": (boostrank.Preferences("ranknet", PAIRS), 0 * DATA.y),
}


def trained(kind, objective, labels=DATA.y):
    """Return a fitted ranker, of a host or of boostrank."""
    own = {"verbosity": -1} if "LGBM" in kind.__name__ else {"base_score": 0}
    ranker = kind(objective=objective, n_estimators=30, n_jobs=1, **own)
    return ranker.fit(X, labels, group=DATA.group)


def booster_of(ranker):
    """Return the host's name and its Booster."""
    if isinstance(ranker, lightgbm.LGBMRanker):
        return "lightgbm", ranker.booster_
    return "xgboost", ranker.get_booster()


def host(model):
    """Predict with the host itself."""
    if isinstance(model, lightgbm.Booster):
        return model.predict(X, raw_score=True)
    return model.predict(xgboost.DMatrix(X), output_margin=True)


def plain(ranker):
    """Return the host's own ranker with the same trees."""
    return ranker.to_host() if hasattr(ranker, "to_host") else ranker


def the_file(ranker):
    """Load the host's own file, in a process that cannot import boostrank."""
    name, model = booster_of(ranker)
    model.save_model("model.json")
    np.save("X.npy", X)
    rows, raw = ("X", "raw_score") if name == "lightgbm" else ("h.DMatrix(X)", "output_margin")
    code = (
        "import sys; sys.modules['boostrank'] = None; import numpy as np; X = np.load('X.npy'); "
        f"import {name} as h; p = h.Booster(model_file='model.json').predict({rows}, {raw}=True); "
        "np.save('p.npy', p)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    return np.load("p.npy")


def treelite_predict(ranker, compiled=False):
    """Predict with treelite, or with C code that tl2cgen makes of its model."""
    import treelite

    name, model = booster_of(ranker)
    made = getattr(treelite.frontend, f"from_{name}")(model)
    kind = "float64" if "64" in made.input_type else "float32"
    if not compiled:
        return treelite.gtil.predict(made, X.astype(kind))
    import tl2cgen

    tl2cgen.export_lib(made, toolchain="gcc", libpath="compiled.so", params={})
    predictor = tl2cgen.Predictor("./compiled.so")
    return predictor.predict(tl2cgen.DMatrix(X.astype(kind), dtype=kind))


def onnx_predict(ranker, renamed=False):
    """Convert with onnxmltools, under an objective that it knows, and run with onnxruntime."""
    import onnxmltools
    import onnxruntime
    from onnxmltools.convert.common.data_types import FloatTensorType

    name, model = booster_of(plain(ranker) if renamed else ranker)
    if renamed and name == "xgboost":
        model = model.copy()
        model.set_param({"objective": "reg:squarederror"})
    types = [("input", FloatTensorType([None, X.shape[1]]))]
    made = getattr(onnxmltools, f"convert_{name}")(model, initial_types=types)
    session = onnxruntime.InferenceSession(made.SerializeToString())
    return session.run(None, {"input": X.astype(np.float32)})[0]


def mlflow_predict(ranker, whole=False):
    """Save and load a Booster, or the whole ranker, with MLflow."""
    (name, model), path = booster_of(ranker), tempfile.mkdtemp(dir=".")
    flavour, more = import_module(f"mlflow.{name}"), {"pip_requirements": []}
    if not whole:
        flavour.save_model(model, path, **more)
        return host(flavour.load_model(path))
    if name == "lightgbm":
        more["serialization_format"] = "cloudpickle"
    flavour.save_model(ranker, path, **more)
    return flavour.load_model(path).predict(X)


def pmml_predict(ranker):
    """Write PMML with sklearn2pmml, and predict with it in Java."""
    import pandas as pd
    from jpmml_evaluator import make_evaluator
    from sklearn2pmml import sklearn2pmml
    from sklearn2pmml.pipeline import PMMLPipeline

    pipeline = PMMLPipeline([("model", plain(ranker))])
    names = [f"f{i}" for i in range(X.shape[1])]
    pipeline.active_fields, pipeline.target_fields = np.array(names), np.array(["y"])
    sklearn2pmml(pipeline, "model.pmml")
    evaluator = make_evaluator("model.pmml").verify()
    return evaluator.evaluateAll(pd.DataFrame(X, columns=names)).iloc[:, 0].to_numpy(float)


def shap_sums(ranker):
    """Return the sums of SHAP values and their base value."""
    import shap

    explainer = shap.TreeExplainer(booster_of(ranker)[1])
    return explainer.shap_values(X).sum(axis=1) + explainer.expected_value


WAYS = {
    "the host's file": the_file,
    "treelite": treelite_predict,
    "tl2cgen (C)": lambda ranker: treelite_predict(ranker, compiled=True),
    "onnxmltools": onnx_predict,
    "onnxmltools, objective renamed": lambda ranker: onnx_predict(ranker, renamed=True),
    "sklearn2pmml": pmml_predict,
    "shap": shap_sums,
    "mlflow": mlflow_predict,
    "mlflow, the ranker": lambda ranker: mlflow_predict(ranker, whole=True),
}


def main():
    """Print a line for each way and model."""
    warnings.simplefilter("ignore")
    os.chdir(tempfile.mkdtemp())
    rankers = {"lightgbm lambdarank": trained(lightgbm.LGBMRanker, "lambdarank")}
    rankers["xgboost rank:pairwise"] = trained(xgboost.XGBRanker, "rank:pairwise")
    for kind in (boostrank.lightgbm.LGBMRanker, boostrank.xgboost.XGBRanker):
        for name, (objective, labels) in OURS.items():
            rankers[f"{kind.__module__} {name}"] = trained(kind, objective, labels)
    for way, convert in WAYS.items():
        for name, ranker in rankers.items():
            try:
                far = np.abs(np.ravel(convert(ranker)) - host(booster_of(ranker)[1]))
                outcome = f"largest difference {far.max():.1g}, {(far > 1e-5).sum()} rows off"
            except Exception as error:
                outcome = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:150]}"
            print(f"{way} | {name} | {outcome}", flush=True)


if __name__ == "__main__":
    main()
