"""Early stopping waits for the second half of a fading mixture, and a cut schedule is said."""

import sys
from contextlib import nullcontext
from functools import partial

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from commands import refused, run, svmlight, write
from sklearn.base import clone
from test_estimators import make_ranker
from training import EVAL_START, MODEL, START

import boostrank
from boostrank.datasets import RankingData, make_ranking
from boostrank.hosts.stopping import first_stop
from boostrank.lab.model import Stopping
from boostrank.lab.models import HOSTS, load_model
from boostrank.lab.settings import Settings

ROUNDS = 20
TRAIN, VALID = make_ranking(40, 8, n_features=3, seed=3).split(2, seed=0)
# Nothing can be better than after the first round.
FLAT = RankingData(np.zeros_like(VALID.X), VALID.y, VALID.qid)
make = partial(make_ranker, n_estimators=ROUNDS)
ROWS = {"X": TRAIN.X, "y": TRAIN.y, "qid": TRAIN.qid}
ROWS |= {"eval_set": [(FLAT.X, FLAT.y)], "eval_qid": [FLAT.qid]}


def trained(ranker):
    """Return the number of rounds."""
    (history,) = ranker.evals_result_.values()
    return len(next(iter(history.values())))


def _lightgbm(objective):
    stop = lightgbm.early_stopping(3, verbose=False)
    return trained(make("lightgbm", objective).fit(**ROWS, callbacks=[stop]))


def _xgboost(objective, **more):
    return trained(make("xgboost", objective, **more).fit(**ROWS))


def _command(host, objective):
    counted = []
    settings = Settings(rounds=ROUNDS, min_docs=2)
    if isinstance(objective, str):
        objective = boostrank.objective(objective, total_rounds=ROUNDS)
    HOSTS[host].train(objective, TRAIN, settings, lambda: counted.append(1), Stopping(FLAT, 3))
    return len(counted)


WAYS = {
    "LGBMRanker": _lightgbm,
    "XGBRanker": lambda objective: _xgboost(objective, early_stopping_rounds=3),
    "XGBRanker, callback": lambda objective: _xgboost(
        objective, callbacks=[xgboost.callback.EarlyStopping(rounds=3, maximize=True)]
    ),
    "train on lightgbm": lambda objective: _command("lightgbm", objective),
    "train on xgboost": lambda objective: _command("xgboost", objective),
}


@pytest.mark.parametrize("way", WAYS)
def test_early_stopping_waits_for_the_second_half_and_the_cut_is_said(way):
    with pytest.warns(UserWarning, match="training ended early at round 13 of the 20 over which"):
        assert WAYS[way]("reg-shf-sdcg") == 13  # best in round 10, and three more


@pytest.mark.parametrize("way", WAYS)
def test_other_objectives_stop_as_ever(way):
    assert WAYS[way](boostrank.QueryRMSE()) == 4  # without a warning
    annealed = boostrank.SDCG(alpha=boostrank.Schedule("geometric", ROUNDS, first=1.0, last=4.0))
    with pytest.warns(UserWarning, match="training ended early at round 4 of the 20 over which"):
        assert WAYS[way](annealed) == 4


def test_lightgbms_dart_is_not_stopped(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)  # whose trees "rate_drop" alone may drop
    for params in ({"rate_drop": 0.5}, {"rate_drop": 0.5, "boosting": "dart"}):
        settings = Settings(rounds=2, min_docs=2, params={"lightgbm": params})
        refused = pytest.raises(ValueError, match=r"^early stopping .* DART.* take boosting=")
        with refused if "boosting" in params else nullcontext():
            HOSTS["lightgbm"].train(boostrank.QueryRMSE(), TRAIN, settings, None, Stopping(FLAT, 3))


@pytest.mark.parametrize("off", [None, 0, -1])
def test_early_stopping_may_be_off(host, off):
    if (host, off) != ("xgboost", -1):  # which XGBoost refuses
        never = make(host, "reg-shf-sdcg", early_stopping_rounds=off).fit(**ROWS)
        assert trained(never) == ROUNDS


def test_lightgbms_parameter_which_cannot_wait_is_refused():
    ranker = make("lightgbm", "reg-shf-sdcg", early_stopping_rounds=3)
    with pytest.raises(ValueError, match="early_stopping_rounds would end the training of reg-shf"):
        ranker.fit(**ROWS)
    stopped = make("lightgbm", "ranknet", early_stopping_rounds=3)
    assert stopped.fit(**ROWS).best_iteration_ == 1


def test_the_first_round_that_may_be_the_best():
    fading = boostrank.Schedule("logistic", 250)
    mix = boostrank.Mix(boostrank.Regression(), boostrank.SDCG(), fading)
    regression_first = boostrank.RegSHFSDCG(total_rounds=250)
    inside = boostrank.Mix(boostrank.RankNet(), regression_first, 0.5)
    for waiting in (mix, regression_first, inside, boostrank.Unbiased(mix, propensity=[1.0, 0.5])):
        assert first_stop(waiting) == 125
    for other in (
        boostrank.Blend(),
        boostrank.RegSHFSDCG(total_rounds=250, tau=0.9),
        boostrank.SDCG(alpha=boostrank.Schedule("geometric", 9, first=1.0, last=4.0)),
        "lambdarank",
    ):
        assert first_stop(other) == 1
    fading = boostrank.Schedule(lambda m, total: "x", 3)
    with pytest.raises(TypeError, match="schedule must be a number from 0 to 1, got 'x'"):
        first_stop(mix.replace(schedule=fading))


def test_the_wait_and_the_warning_count_from_start_round(host):
    again = {MODEL[host]: fit(make(host, "regression", n_estimators=30), TRAIN)}
    cases = (1, again, 13, "13 of the 20"), (11, {}, 8, "18 of the 30"), (31, {}, 4, "34 of the 50")
    for start, more, rounds, said in cases:
        objective = boostrank.RegSHFSDCG(total_rounds=1, start_round=start)
        with pytest.warns(UserWarning, match=f"ended early at round {said} over which"):
            fitted = stopped_ranker(host, objective).fit(**stopping(host) | ROWS | more)
        assert trained(fitted) == rounds


WHOLE = make_ranking(90, 6, n_features=3, seed=1, noise=1.0)
PART, HELD = (WHOLE.select(np.arange(*ends)) for ends in ((0, 60), (60, 90)))


def stopping(host):
    stop = {"callbacks": [lightgbm.early_stopping(3, verbose=False)]} if host == "lightgbm" else {}
    return {"eval_set": [(HELD.X, HELD.y)], "eval_qid": [HELD.qid], **stop}


def fit(ranker, data, **more):
    return ranker.fit(data.X, data.y, qid=data.qid, **more)


def stopped_ranker(host, objective="regression", **params):
    if host == "xgboost":
        stop = xgboost.callback.EarlyStopping(rounds=3, maximize=True)
        slower = xgboost.callback.LearningRateScheduler(lambda epoch: 0.1)
        params["callbacks"] = [stop, slower]
    return make(host, objective, **params)


def test_all_data_is_trained_for_the_rounds_that_were_chosen(host):
    fitted = fit(stopped_ranker(host, "auto"), PART, **stopping(host))
    chosen = fitted.predict(WHOLE.X)
    whole = fitted.fit_all(WHOLE.X, WHOLE.y, qid=WHOLE.qid)
    best = fitted.best_iteration_ if host == "lightgbm" else 1 + fitted.best_iteration
    assert 1 <= best < ROUNDS
    assert whole.n_estimators == round(1.5 * best)  # half as many documents more
    own = stopped_ranker(host, fitted.objective_, n_estimators=round(1.5 * best))
    if host == "xgboost":
        own.set_params(callbacks=own.callbacks[1:])
    np.testing.assert_array_equal(whole.predict(WHOLE.X), fit(own, WHOLE).predict(WHOLE.X))
    np.testing.assert_array_equal(fitted.predict(WHOLE.X), chosen)  # as it was
    for changes in ({"objective__gain": "linear"}, {"objective": "ranknet"}):
        again = fitted.set_params(**changes).fit_all(WHOLE.X, WHOLE.y, qid=WHOLE.qid)
        linear = fitted.objective_.replace(gain="linear")
        assert again.objective_ == (boostrank.RankNet() if "objective" in changes else linear)
    with pytest.raises(ValueError, match="early stopping has chosen no rounds"):
        whole.fit_all(WHOLE.X, WHOLE.y, qid=WHOLE.qid)


def test_of_a_continued_ranker_the_added_rounds_are_scaled(host):
    name = MODEL[host]
    plain = stopped_ranker(host)
    whole = {"callbacks": None} if host == "xgboost" else {}
    first = fit(clone(plain).set_params(n_estimators=4, **whole), PART)
    fitted = fit(clone(plain), PART, **stopping(host), **{name: first})
    best = fitted.best_iteration_ if host == "lightgbm" else 1 + fitted.best_iteration
    assert best > 4
    rows = {"X": WHOLE.X, "y": WHOLE.y, "qid": WHOLE.qid}
    assert fitted.fit_all(**rows, **{name: first}).n_estimators == round(1.5 * (best - 4))
    with pytest.raises(ValueError, match=f"^{name} must be given .* after 4 of another"):
        fitted.fit_all(**rows)
    alone = fit(clone(plain), PART, **stopping(host))
    with pytest.raises(ValueError, match=f"^{name} must be given .* else left out.* after 0"):
        alone.fit_all(**rows, **{name: first})


def test_all_data_have_the_columns_that_parameters_count(host):
    """Where a frame was put together in another order, say, from what was held out."""
    part, whole = (pd.DataFrame(data.X, columns=["a", "b", "c"]) for data in (PART, WHOLE))
    rising = stopped_ranker(host, monotone_constraints=(1, 0, 0))
    fitted = rising.fit(part, PART.y, qid=PART.qid, **stopping(host))
    fitted.fit_all(whole, WHOLE.y, qid=WHOLE.qid)
    with pytest.raises(ValueError, match="another order, in which 'monotone_constraints'"):
        fitted.fit_all(whole[["c", "b", "a"]], WHOLE.y, qid=WHOLE.qid)


def test_what_fit_had_is_not_forgotten(host):
    """Rounds that were chosen with weights, say, are not those of a training without."""
    zeros = {EVAL_START[host]: [np.zeros(len(HELD.y))]}
    cases = [("sample_weight", PART.y + 1.0, WHOLE.y + 1.0, {})]
    cases.append((START[host], PART.y / 2, WHOLE.y / 2, zeros))
    if host == "lightgbm":
        slower = lightgbm.reset_parameter(learning_rate=lambda round: 0.1 * 0.9**round)
        acting = ("callbacks", [*stopping(host)["callbacks"], slower], [slower], {})
        names = ("feature_name", ["a", "b", "c"], ["a", "b", "c"], {})
        cases += [("categorical_feature", [], [], {}), names, acting]
    rows = {"X": WHOLE.X, "y": WHOLE.y, "qid": WHOLE.qid}
    for name, given, again, more in cases:
        ranker = stopped_ranker(host)
        fitted = fit(ranker, PART, **stopping(host) | {name: given} | more)
        with pytest.raises(ValueError, match=f"^{name} must be given to fit_all too, for all rows"):
            fitted.fit_all(**rows)
        fitted.fit_all(**rows, **{name: again})
    if host == "lightgbm":  # the default may be written
        auto = {"categorical_feature": "auto", "feature_name": "auto"}
        fit(ranker, PART, **stopping(host), **auto).fit_all(**rows)


@pytest.mark.parametrize("objective", ["reg-shf-sdcg", "lightgbm:lambdarank"])
def test_the_command_trains_all_files_again(objective, tmp_path):
    for name, part in (("a", PART), ("b", HELD), ("whole", WHOLE)):
        write(tmp_path / name, svmlight(part))

    def trained(*args):
        command = ["train", "-o", objective, "--min-docs", 2, *args, "--model", tmp_path / "model"]
        run(*command, "--keep-order")
        return load_model(tmp_path / "model")

    stopping = [tmp_path / "a", "--valid", tmp_path / "b", "--patience", 40, "--rounds", 40]
    kept = trained(*stopping).n_trees
    again = trained(*stopping, "--refit")
    assert again.n_trees == round(1.5 * kept)
    plain = trained(tmp_path / "whole", "--rounds", round(1.5 * kept))
    np.testing.assert_array_equal(again.predict(WHOLE.X), plain.predict(WHOLE.X))
    files = [tmp_path / "a", "-o", "sdcg", "--valid", tmp_path / "a", "--model", tmp_path / "m"]
    said = run("train", *files, "--rounds", 1, "--min-docs", 2).stderr
    assert f"{tmp_path / 'a'} is among the files to train on, so that --valid chooses too" in said
    # Before training, which would be in vain.
    assert "no query in common" in refused("train", *files, "--refit", "--rounds", 10**9)
    for own in ("total_rounds=200", "start_round=3"):  # which were not trained again
        said = refused("train", *stopping, "--refit", "-o", f"reg-shf-sdcg:{own}", "--model", "m")
        assert "leave out total_rounds and start_round, or --refit" in said
    message = "--refit needs --valid, which chooses the rounds"
    assert message in refused("train", "x", "-o", "sdcg", "--refit", "--model", "m")


def test_the_order_of_a_validation_file_chooses_no_rounds(tmp_path):
    """Sorted by its labels, it made the first round, in which most scores are tied, the best."""
    best_first = np.lexsort((-HELD.y, HELD.qid))
    held = RankingData(HELD.X[best_first], HELD.y[best_first], HELD.qid[best_first])
    train, valid = (write(tmp_path / name, svmlight(of)) for name, of in (("a", PART), ("b", held)))
    model = tmp_path / "model"
    command = ["train", train, "-o", "ranknet", "--leaves", 2, "--rounds", 30, "--model", model]
    for options, first in ([], False), (["--keep-order"], True):
        run(*command, "--valid", valid, *options)
        assert (load_model(model).n_trees == 1) == first
