"""Models converted to other formats: the table of docs/deployment.md.

    pip install onnxmltools skl2onnx onnxruntime treelite tl2cgen sklearn2pmml jpmml_evaluator \
        shap mlflow
    python notebooks/deployment_formats.py

Trains small models on each host with a built-in ranking objective, with `Blend` and with the
objectives that hold another one (for several labels, clicks and pairs). Converts each model in
every way, and prints the largest difference from the host's own predictions, or the error. A
package that is not installed shows as an error in its lines. PMML needs Java.
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

import boostrank
from boostrank.datasets import make_ranking

DATA = make_ranking(100, 20, n_features=8, seed=1)
X = DATA.X.astype(np.float32).astype(float)  # ONNX and XGBoost compute in float32
NAMES = [f"f{i}" for i in range(X.shape[1])]
CLICKS = (DATA.y > 1).astype(float)
PLACE = np.tile(np.arange(1, 21), 100)  # where each document was shown
MARGIN = np.digitize(X[:, 0], [0.0, 0.5, 0.8])
PAIRS = [(row, row + 1) for row in range(0, len(X), 2) if DATA.y[row] > DATA.y[row + 1]]
PARTS = {"relevance": boostrank.Blend(), "margin": boostrank.QueryRMSE()}
#: Our objectives, and the labels that each learns from.
OURS = {
    "Blend": (boostrank.Blend(), DATA.y),
    "Several": (
        boostrank.Several(
            PARTS, labels={"margin": MARGIN}, weights={"relevance": 0.7, "margin": 0.3}
        ),
        DATA.y,
    ),
    "Unbiased": (boostrank.Unbiased(boostrank.Blend(), position=PLACE), CLICKS),
    "Preferences": (boostrank.Preferences("ranknet", PAIRS), 0 * DATA.y),
}


def lightgbm_model(objective, labels=DATA.y):
    """Train on LightGBM."""
    params = {"objective": objective, "metric": "None", "verbosity": -1, "num_threads": 1}
    dataset = lightgbm.Dataset(X, labels, group=DATA.group)
    return lightgbm.train(params, dataset, 30)


def xgboost_model(objective, labels=DATA.y):
    """Train on XGBoost; None is its own `rank:pairwise`."""
    params = {"objective": "rank:pairwise", "nthread": 1}
    params |= {} if objective is None else {"base_score": 0}
    matrix = xgboost.DMatrix(X, labels, group=DATA.group)
    return xgboost.train(params, matrix, 30, obj=objective)


def host_of(model):
    """Return the name of the host, which is that of its module."""
    return type(model).__module__.partition(".")[0]


def host(model, X):
    """Predict with the host itself."""
    if isinstance(model, lightgbm.Booster):
        return model.predict(X, raw_score=True)
    return model.predict(xgboost.DMatrix(X), output_margin=True)


def file_of(model):
    """Save a model and return the path, in the folder that all functions write to."""
    path = "lightgbm.txt" if isinstance(model, lightgbm.Booster) else "xgboost.json"
    model.save_model(path)
    return path


def renamed(model):
    """Return the same trees under an objective that converters know."""
    if isinstance(model, xgboost.Booster):
        made = model.copy()
        made.set_param({"objective": "reg:squarederror"})
        return made
    text = model.model_to_string().replace(" custom]", " lambdarank]")
    if "\nobjective=" not in text:
        text = text.replace("\nfeature_names=", "\nobjective=lambdarank\nfeature_names=", 1)
    return lightgbm.Booster(model_str=text)


def the_file(model):
    """Load the host's own file, in a process that cannot import boostrank."""
    path = file_of(model)
    np.save("X.npy", X)
    load = {
        "lightgbm": f"h.Booster(model_file={path!r}).predict(X, raw_score=True)",
        "xgboost": f"h.Booster(model_file={path!r}).predict(h.DMatrix(X))",
    }[host_of(model)]
    code = (
        "import sys; sys.modules['boostrank'] = None; import numpy as np; "
        f"X = np.load('X.npy'); import {host_of(model)} as h; np.save('p.npy', {load})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    return np.load("p.npy")


def treelite_predict(model, compiled=False):
    """Predict with treelite, or with C code that tl2cgen makes of its model."""
    import treelite

    made = getattr(treelite.frontend, f"from_{host_of(model)}")(model)
    kind = "float64" if "64" in made.input_type else "float32"
    if not compiled:
        return treelite.gtil.predict(made, X.astype(kind))
    import tl2cgen

    tl2cgen.export_lib(made, toolchain="gcc", libpath="compiled.so", params={})
    predictor = tl2cgen.Predictor("./compiled.so")
    return predictor.predict(tl2cgen.DMatrix(X.astype(kind), dtype=kind))


def onnx_predict(model):
    """Convert with onnxmltools and run with onnxruntime."""
    import onnxmltools
    import onnxruntime
    from onnxmltools.convert.common.data_types import FloatTensorType

    types = [("input", FloatTensorType([None, X.shape[1]]))]
    made = getattr(onnxmltools, f"convert_{host_of(model)}")(model, initial_types=types)
    session = onnxruntime.InferenceSession(made.SerializeToString())
    return session.run(None, {"input": X.astype(np.float32)})[0]


def ranker_of(model, package=None):
    """Return a fitted estimator with the model: the host's own, or boostrank's."""
    if isinstance(model, xgboost.Booster):
        ranker = (package or xgboost).XGBRanker()
        ranker.load_model(file_of(model))
        return ranker
    ranker = (package or lightgbm).LGBMRanker(n_estimators=1, verbosity=-1)
    ranker.fit(X, DATA.y, group=DATA.group)
    ranker._Booster = model
    return ranker


def mlflow_predict(model, ranker=False):
    """Save and load a model, or boostrank's ranker that has it, with MLflow."""
    name, path, more = host_of(model), tempfile.mkdtemp(dir="."), {"pip_requirements": []}
    flavour = import_module(f"mlflow.{name}")
    if not ranker:
        flavour.save_model(model, path, **more)
        return host(flavour.load_model(path), X)
    if name == "lightgbm":
        ours = ["boostrank.lightgbm.LGBMRanker", "boostrank.objectives.blend.Blend"]
        more["skops_trusted_types"] = ours
    flavour.save_model(ranker_of(model, import_module(f"boostrank.{name}")), path, **more)
    raw = "raw_score" if name == "lightgbm" else "output_margin"
    return flavour.load_model(path).predict(X, **{raw: True})


def pmml_predict(model):
    """Write PMML with sklearn2pmml, and predict with it in Java."""
    import pandas as pd
    from jpmml_evaluator import make_evaluator
    from sklearn2pmml import sklearn2pmml
    from sklearn2pmml.pipeline import PMMLPipeline

    pipeline = PMMLPipeline([("model", ranker_of(model))])
    pipeline.active_fields, pipeline.target_fields = np.array(NAMES), np.array(["y"])
    sklearn2pmml(pipeline, "model.pmml")
    evaluator = make_evaluator("model.pmml").verify()
    return evaluator.evaluateAll(pd.DataFrame(X, columns=NAMES)).iloc[:, 0].to_numpy(float)


def shap_sums(model):
    """Return the sums of SHAP values and their base value."""
    import shap

    explainer = shap.TreeExplainer(model)
    return explainer.shap_values(X).sum(axis=1) + explainer.expected_value


WAYS = {
    "the host's file": the_file,
    "treelite": treelite_predict,
    "tl2cgen (C)": lambda model: treelite_predict(model, compiled=True),
    "onnxmltools": onnx_predict,
    "onnxmltools, objective renamed": lambda model: onnx_predict(renamed(model)),
    "sklearn2pmml": pmml_predict,
    "sklearn2pmml, objective renamed": lambda model: pmml_predict(renamed(model)),
    "shap": shap_sums,
    "mlflow": mlflow_predict,
    "mlflow, boostrank's ranker": lambda model: mlflow_predict(model, ranker=True),
}


def main():
    """Print a line for each way and model."""
    warnings.simplefilter("ignore")
    os.chdir(tempfile.mkdtemp())
    models = {"lightgbm lambdarank": lightgbm_model("lambdarank")}
    models |= {f"lightgbm {name}": lightgbm_model(*each) for name, each in OURS.items()}
    models["xgboost rank:pairwise"] = xgboost_model(None)
    models |= {f"xgboost {name}": xgboost_model(*each) for name, each in OURS.items()}
    for way, convert in WAYS.items():
        for name, model in models.items():
            try:
                far = np.abs(np.ravel(convert(model)) - host(model, X))
                outcome = f"largest difference {far.max():.1g}, {(far > 1e-5).sum()} rows off"
            except Exception as error:
                outcome = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:150]}"
            print(f"{way} | {name} | {outcome}", flush=True)


if __name__ == "__main__":
    main()
