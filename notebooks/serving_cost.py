"""What scoring one query costs in each host's own calls: figures of docs/serving.md.

    python notebooks/serving_cost.py

Times are the fastest of 200 calls, because other work on the machine only adds to a time.
"""

import time

import lightgbm
import numpy as np
import xgboost

from boostrank.datasets import make_ranking

data = make_ranking(200, 100, n_features=50, seed=1)
X = data.X.astype(np.float32)
query = X[:100]

dataset = lightgbm.Dataset(X, data.y, group=data.group)
params = {"objective": "lambdarank", "verbosity": -1, "num_threads": 1}
booster = lightgbm.train(params, dataset, 300)

params = {"objective": "rank:ndcg", "max_leaves": 31, "max_depth": 0, "nthread": 1}
params["grow_policy"] = "lossguide"
model = xgboost.train(params, xgboost.DMatrix(X, data.y, group=data.group), 300)
ranker = xgboost.XGBRanker(n_jobs=1)
ranker.load_model(bytearray(model.save_raw("ubj")))

CALLS = {
    "`lightgbm.Booster.predict`": lambda: booster.predict(query, num_threads=1),
    "`xgboost.Booster.inplace_predict`": lambda: model.inplace_predict(query),
    "`xgboost.Booster.predict`, with a new DMatrix": lambda: model.predict(
        xgboost.DMatrix(query, nthread=1)
    ),
    "`xgboost.XGBRanker.predict`": lambda: ranker.predict(query),
}

print("| call | ms |\n|---|---|")
for name, call in CALLS.items():
    call()
    seconds = []
    for _ in range(200):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    print(f"| {name} | {1000 * min(seconds):.2f} |")
