"""Passes over all documents of a call: what they refuse, and the same bits on any threads."""

import threading

import lightgbm as lgb
import numba
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from boostrank.objectives.engine.threads import BLOCK, over_documents

import boostrank
from boostrank.hosts import handover, passes
from boostrank.hosts.training import Training

MANY = 200_003  # documents: enough for several threads, and not a multiple of a block
LIMIT = 120  # seconds


# ---- blocks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_docs", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, MANY])
def test_every_block_is_passed_once(n_docs, n_threads):
    seen = np.zeros(n_docs)
    barrier = threading.Barrier(n_threads if n_docs == MANY else 1, timeout=LIMIT)
    met = threading.local()

    def driver(first, last, n, out, sums):
        if not hasattr(met, "others"):
            met.others = barrier.wait()  # all threads work, at the same time
        for block in range(first, last):
            rows = slice(block * BLOCK, min(n, (block + 1) * BLOCK))
            out[rows] += 1
            sums[block] = rows.stop - rows.start, block

    total = over_documents(driver, n_docs, seen, n_sums=2)
    assert (seen == 1).all()
    n_blocks = -(-n_docs // BLOCK)
    assert total.tolist() == [n_docs, n_blocks * (n_blocks - 1) / 2]


@pytest.mark.compiled
@pytest.mark.parametrize("weight", [None, "documents", "queries"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["lightgbm", "xgboost"])
@pytest.mark.parametrize("name", ["ranknet", "blend"])
def test_the_number_of_threads_changes_no_bit_of_a_call(name, dtype, weight, monkeypatch):
    rng = np.random.default_rng(7)
    group = np.append(np.full(MANY // 20, 20), MANY % 20)
    labels = rng.integers(0, 5, MANY).astype(np.float32)
    scores = rng.normal(size=MANY).astype(dtype)
    lengths = {None: 0, "documents": MANY, "queries": len(group)}
    weights = rng.random(lengths[weight]) if weight else None
    objective = boostrank.objective(name)
    got = []
    for threads in (1, 2, 7):
        monkeypatch.setattr(numba, "get_num_threads", lambda threads=threads: threads)
        got.append(objective(labels, scores.copy(), weights, group))
    np.testing.assert_array_equal(got, got[:1] * 3)


# ---- what comes in -------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [0, BLOCK, MANY - 1])
def test_one_bad_number_is_refused_wherever_it_stands(row, rng):
    arrays = rng.normal(size=MANY), rng.integers(0, 5, MANY).astype(np.float32)
    for column, message, values in (
        (0, "scores must be finite", [np.nan, np.inf, -np.inf]),
        (1, "labels must be", [np.nan, np.inf, -1.0, -1e-45]),
    ):
        for value in values:
            bad = [array.copy() for array in arrays]
            bad[column][row] = value
            with pytest.raises(ValueError, match=f"{message}.* at row {row} "):
                boostrank.RankNet()(bad[1], bad[0], None, [MANY])


# ---- what goes out -------------------------------------------------------------------------------


@pytest.mark.compiled
def test_float32_and_the_first_row_that_is_not_finite(rng, n_threads):
    grad, hess, weight = rng.normal(size=MANY), rng.random(MANY), rng.random(MANY)
    for w in (np.empty(0), weight):
        factor = w if len(w) else 1.0
        g, h, row = passes.to_float32(grad, hess, 0.3, w, 0.5, 1e-3)
        assert row == -1
        np.testing.assert_array_equal(g, (grad * (1.0 / 0.3) * factor).astype(np.float32))
        floored = np.maximum(np.maximum(hess * (1.0 / 0.3), 0.5) * factor, 1e-3)
        np.testing.assert_array_equal(h, floored.astype(np.float32))
    for row in (MANY - 1, BLOCK, BLOCK - 1, 0):  # each before the last one
        array = grad if row % 2 else hess
        array[row] = np.nan if row % 3 else 1e39
        assert passes.to_float32(grad, hess, 1.0, weight * 0 + 1, 0.0, 0.0)[2] == row


@pytest.mark.compiled
def test_sums_are_of_documents_with_a_gradient(rng, n_threads):
    grad, hess = rng.normal(size=MANY), rng.random(MANY)
    grad[rng.random(MANY) < 0.3] = 0.0
    for least in (0.0, 0.5):
        active = np.abs(grad) > least * hess
        pulls, bends, count = passes.active_sums(grad, hess, least)
        assert count == active.sum()
        assert pulls == pytest.approx(np.abs(grad[active]).sum(), rel=1e-12)
        assert bends == pytest.approx(hess[active].sum(), rel=1e-12)
    assert not passes.active_sums(grad[:0], hess[:0], 0.0).any()


@pytest.mark.compiled
@pytest.mark.parametrize("unit", [1.0, 1e-12, 1e12])
def test_rounding_does_not_move_the_mean_hessian(unit, rng):
    """Gradients that cancel are 0 on one processor and 1e-17 on another; small ones count."""
    hess = rng.random(1000) + 0.1
    grad = rng.normal(size=1000) * unit  # scores in any units
    grad[:100] *= 1e-6  # saturated: gradient and Hessian are small together
    hess[:100] *= 1e-6
    grad[100:400] = 0.0
    (exact,) = handover._mean_hessians(Training("lightgbm"), np.stack([grad, hess])[None])
    assert exact == pytest.approx(hess[grad != 0.0].mean(), rel=1e-12)
    grad[100:300] = rng.normal(size=200) * 1e-16 * unit
    (rounded,) = handover._mean_hessians(Training("lightgbm"), np.stack([grad, hess])[None])
    assert rounded == exact


@pytest.mark.compiled
def test_sums_are_the_same_bits_on_any_threads(rng, monkeypatch):
    grad, hess = rng.normal(size=MANY), rng.lognormal(0.0, 4.0, MANY)
    sums = set()
    for threads in (1, 2, 3, 7):
        monkeypatch.setattr(numba, "get_num_threads", lambda threads=threads: threads)
        sums.add(tuple(passes.active_sums(grad, hess, 1e-9)))
    assert len(sums) == 1


# ---- what a host holds ---------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:no query has two different labels:UserWarning")
@pytest.mark.parametrize("label_type", [np.float32, np.float64])
@pytest.mark.parametrize("score_type", [np.float32, np.float64])
def test_what_a_host_hands_over_stays_its_own(label_type, score_type, rng):
    ones = np.ones(60, np.float32)
    labels = [rng.integers(0, 3, 60).astype(label_type) for _ in range(4)]
    scores = [rng.normal(size=60).astype(score_type) for _ in range(4)]
    kept = [array.copy() for array in labels + scores]

    def called(form=np.asarray):
        pairs = zip(map(form, labels), map(form, scores), strict=True)
        got = [boostrank.QueryRMSE()(y, s, None, [30, 30]) for y, s in pairs]
        boostrank.QueryRMSE()(ones, ones, None, [30, 30])
        return got

    first, views = called(), called(pd.Series)
    np.testing.assert_equal(labels + scores, kept)
    np.testing.assert_array_equal((called(), views), (first, first))


def test_what_changes_between_two_rounds_is_seen(host, rng):
    X = rng.normal(size=(60, 2))
    labels = rng.integers(0, 3, (2, 60)).astype(float)
    weights = rng.random((2, 60 if host == "lightgbm" else 2))
    scores = rng.normal(size=60).astype(np.float32 if host == "xgboost" else np.float64)
    objective = boostrank.QueryRMSE()

    def made(**columns):
        if host == "lightgbm":
            return lgb.Dataset(X, **columns).construct()
        return xgb.DMatrix(X, **columns)

    columns = {"label": labels[0], "weight": weights[0], "group": [30, 30]}
    data = made(**columns)
    seen = [objective(scores, data)]
    for name, value in {"label": labels[1], "weight": weights[1], "group": [10, 50]}.items():
        getattr(data, f"set_{name}")(value)
        columns[name] = value
        seen.append(objective(scores, data))
        np.testing.assert_array_equal(seen[-1], objective(scores, made(**columns)), err_msg=name)
        assert not np.array_equal(seen[-1], seen[-2]), name
