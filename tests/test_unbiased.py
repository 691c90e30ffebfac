"""Training on clicks: losses corrected for positions, and the factors that training learns."""

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from boostrank.objectives.corrections import Call, Shown
from oracle import gradient, lambdarank_pairs
from test_edge_cases import queries_of
from test_estimators import make_ranker
from training import LIGHTGBM, MODEL, XGBOOST, cv_boosters, dataset, loop, matrix, predicted, train

import boostrank
from boostrank import LambdaRank, RankNet, Unbiased, position_bias
from boostrank.datasets import make_ranking, simulate_clicks
from boostrank.hosts import handover

GIVEN = (1.0, 0.6, 0.3, 0.25, 0.2, 0.15)
FORMS = ("pairwise", "additive")
VALID = make_ranking(30, 6, n_features=6, seed=8, noise=1.0)


@pytest.fixture(scope="module")
def log():
    return simulate_clicks(make_ranking(80, 6, 6, seed=3), eta=1.0, sessions=6, seed=1)


@pytest.fixture
def sessions(rng):
    group = np.array([4, 1, 6, 3, 5])
    scores = rng.normal(size=group.sum())
    clicks = np.zeros(len(scores))
    clicks[[1, 5, 6, 8, 16]] = 1.0
    position = np.concatenate([rng.permutation(n) + 1 for n in group])
    return scores, clicks, group, position


def learnt(form, **changes):
    objective = boostrank.RankNet() if form == "pairwise" else boostrank.Blend(perturb=None)
    return Unbiased(objective, propensity=form, **changes)


def of_xgboost(objective, log, rounds=8, position=None, **kwargs):
    data = matrix(log.data, label_lower_bound=position)
    return xgb.train(XGBOOST, data, rounds, obj=objective, **kwargs)


every_form = pytest.mark.parametrize("form", FORMS)


# ---- the loss ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "objective",
    [
        RankNet(), boostrank.ListNet(), boostrank.SHFSDCG(perturb=None), boostrank.SDCG(k=2),
        boostrank.Regression(), boostrank.Calibrated(), boostrank.Blend(signal="low", perturb=None),
        boostrank.Mix(RankNet(), boostrank.SDCG(), 0.3),
    ],
    ids=lambda objective: objective.name,
)  # fmt: skip
def test_given_propensities_weigh_each_click_equation_4(objective, sessions):
    scores, clicks, group, position = sessions
    unbiased = Unbiased(objective, position=position, propensity=GIVEN, clip=0.2)
    want = []
    for s, clicked, places in queries_of(group, scores, clicks, position):
        n = len(s)
        nothing = objective.loss(s, np.zeros(n), [n])[0]
        want.append(nothing)
        for i in np.flatnonzero(clicked):
            alone = objective.loss(s, np.eye(n)[i], [n])[0]
            want[-1] += (alone - nothing) / max(GIVEN[places[i] - 1], 0.2)
    np.testing.assert_allclose(unbiased.loss(scores, clicks, group), want, rtol=1e-12)
    grad, hess = unbiased.grad_hess(scores, clicks, group)
    numeric = gradient(lambda s: unbiased.loss(s, clicks, group).sum(), scores.tolist())
    np.testing.assert_allclose(grad, numeric, rtol=1e-7, atol=1e-8)
    assert (hess > 0).all()


def test_its_expectation_over_sessions_is_the_loss_of_relevance(rng):
    """All outcomes of a position-based model, each position looked at or not, by their chances."""
    relevant, p = np.array([1.0, 0.0, 1.0]), np.array([1.0, 0.5, 0.25])
    scores, total = rng.normal(size=3), 0.0
    unbiased = Unbiased(boostrank.SDCG(), position=[1, 2, 3], propensity=p, clip=1e-9)
    for seen in np.ndindex(2, 2, 2):
        chance = np.prod(np.where(seen, p, 1.0 - p))
        total += chance * unbiased.loss(scores, relevant * seen, [3])[0]
    parts = [boostrank.SDCG().loss(scores, each, [3])[0] for each in np.diag(relevant)[[0, 2]]]
    assert total == pytest.approx(sum(parts), rel=1e-12)


@pytest.mark.parametrize("objective", [RankNet(sigma=2.0), LambdaRank(), LambdaRank(norm=False)])
def test_pairwise_divides_each_pair_by_both_factors_equation_21(objective, sessions):
    scores, clicks, group, position = sessions
    factors = np.array([[1, 0.7, 0.5, 0.4, 0.3, 0.2], [1, 0.9, 1.1, 0.8, 0.7, 0.6]])
    unbiased = Unbiased(objective, position=position, propensity="pairwise", initial=factors)
    grad, hess = unbiased.grad_hess(scores, clicks, group)
    sigma, sums = objective.sigma, np.zeros((2, 6))
    want, bend = np.zeros((2, len(scores)))
    for own, clicked, place, pull, size in queries_of(
        group, scores, clicks, position - 1, want, bend
    ):
        for i in np.flatnonzero(clicked):
            if isinstance(objective, LambdaRank):
                only = np.eye(len(own))[i]
                pairs = lambdarank_pairs(own, only, norm=objective.norm)
            else:
                pairs = [(i, j, 1.0) for j in range(len(own))]
            for _, j, w in pairs:
                if clicked[j]:
                    continue
                k, m = place[[i, j]]
                x = sigma * (own[i] - own[j])
                rho = 1.0 / (1.0 + np.exp(x))
                weight = w / (factors[0, k] * factors[1, m])
                pull[i] -= sigma * rho * weight
                pull[j] += sigma * rho * weight
                size[[i, j]] += sigma**2 * rho * (1 - rho) * weight
                sums[0, k] += w * np.log1p(np.exp(-x)) / factors[1, m]
                sums[1, m] += w * np.log1p(np.exp(-x)) / factors[0, k]
    np.testing.assert_allclose(grad, want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(hess, np.maximum(bend, 1e-10), rtol=1e-9)
    boundaries = np.append(0, np.cumsum(group))
    shown = Shown(scores, clicks, boundaries, position - 1, factors, np.ones(len(scores)))
    found = unbiased.correction.write_part(objective, shown, Call(None, grad, hess))
    np.testing.assert_allclose(found, sums, rtol=1e-9)
    new = unbiased.replace(regularization=1.0).correction.learnt(factors, sums)
    seen = sums > 0
    np.testing.assert_allclose(new[seen], np.sqrt(sums / sums[:, :1])[seen])
    np.testing.assert_array_equal(new[~seen], factors[~seen])
    # Nothing was shown at position 1: what was learnt is relative to the next one.
    deeper = unbiased.correction.learnt(factors[:, 1:], np.insert(sums[:, 2:], 0, 0.0, axis=1))
    want = factors[:, 2:3] * sums[:, 2:] / sums[:, 2:3]
    np.testing.assert_allclose(deeper[:, 1:][seen[:, 2:]], want[seen[:, 2:]])


def test_pairs_that_are_far_apart_lose_what_the_logistic_loss_says():
    objective = Unbiased(RankNet(), position=[1, 2], propensity="pairwise")
    for lead in (-700.0, -30.0, 0.0, 1e-8, 30.0, 700.0):
        loss = objective.loss([lead, 0.0], [1, 0], [2])[0]
        assert loss == pytest.approx(np.logaddexp(0.0, -lead), rel=1e-9, abs=1e-300)


def test_additive_factors_shift_the_scores(sessions):
    scores, clicks, group, position = sessions
    b = np.array([0.0, -0.5, -1.0, -1.2, -1.5, -1.7])
    inner = boostrank.SDCG()
    unbiased = Unbiased(inner, position=position, initial=b)
    got = unbiased.grad_hess(scores, clicks, group)
    want = inner.grad_hess(scores + b[position - 1], clicks, group)
    np.testing.assert_array_equal(got, want)
    shared = unbiased.replace(last=3).grad_hess(scores, clicks, group)
    want = inner.grad_hess(scores + b[np.minimum(position, 3) - 1], clicks, group)
    np.testing.assert_array_equal(shared, want)


def test_it_is_one_object_with_what_is_inside():
    unbiased = Unbiased(boostrank.Blend(seed=4), position=[1, 2])
    assert unbiased.perturb == "gumbel"
    assert unbiased.seed == 4
    assert unbiased.replace(regularization=np.float32(0.0)) == unbiased
    assert unbiased.replace(seed=5).objective.seed == unbiased.replace(seed=5).seed == 5
    assert unbiased == pickle.loads(pickle.dumps(unbiased)) == copy.deepcopy(unbiased)
    assert hash(unbiased) == hash(pickle.loads(pickle.dumps(unbiased)))
    for other in ([2, 1], None):
        assert unbiased != unbiased.replace(position=other)
    for each in (unbiased, pickle.loads(pickle.dumps(unbiased))):
        with pytest.raises(ValueError, match="read-only"):
            each.position.values[0] = 3
    assert unbiased.contract.gradient == "frozen"
    assert unbiased.contract.frozen == "w, the pairs' normalisation; factors"


MASKED = np.ma.masked_equal([1, 2], 2)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Unbiased("blend"), "^objective must be an objective"),
        (lambda: Unbiased(Unbiased(RankNet())), "^objective must not be Unbiased"),
        (lambda: boostrank.Mix(Unbiased(RankNet()), RankNet(), 0.5), "^first must not be Unbiased"),
        (lambda: Unbiased(RankNet(), propensity="dual"), "^propensity must be one of 'pairwise'"),
        (lambda: Unbiased(RankNet(), propensity=[]), "^propensity must be one number for each"),
        (lambda: Unbiased(RankNet(), propensity=[[1.0]]), "^propensity must be one number for"),
        (lambda: Unbiased(RankNet(), propensity=[1, 0]), "^propensity must be above 0 and finite"),
        (lambda: Unbiased(RankNet(), propensity=[1, -1]), "^propensity must be above 0 and finite"),
        (lambda: Unbiased(RankNet(), propensity=[np.nan]), "^propensity must be above 0"),
        (lambda: Unbiased(boostrank.Blend(), propensity="pairwise"), "is for logistic losses on"),
        (lambda: Unbiased(RankNet(), position=[0, 1]), "numbers from 1, got 0 at row 0 .* add 1"),
        (lambda: Unbiased(RankNet(), position=[1, np.inf]), "^position must hold .* got inf at"),
        (lambda: Unbiased(RankNet(), position=[True]), "^position must hold .* got booleans"),
        (lambda: Unbiased(RankNet(), position=MASKED), "^position must have no masked values"),
        (lambda: Unbiased(RankNet(), propensity=MASKED), "^propensity must have no masked values"),
        (lambda: Unbiased(RankNet(), initial=MASKED), "^initial must have no masked values"),
        (lambda: Unbiased(RankNet(), position=[1.5]), "^position must hold whole numbers"),
        (lambda: Unbiased(RankNet(), clip=0), "^clip must be a positive"),
        (lambda: Unbiased(RankNet(), regularization=-1), "^regularization must be finite and"),
        (lambda: Unbiased(RankNet(), regularization=False), "^regularization must be a number"),
        (lambda: Unbiased(RankNet(), initial=[[1], [2], [3]]), "^initial must be 1 x n_positions"),
        (lambda: Unbiased(RankNet(), propensity=[1], initial=[0]), "^initial is where learnt"),
    ],
)
def test_bad_parameters_are_refused(build, message):
    with pytest.raises((TypeError, ValueError), match=message):
        build()


@pytest.mark.parametrize(
    ("given", "clicks", "message"),
    [
        ({}, [1, 0.5], "^labels must be clicks, 0 or 1, got 0.5 at row 1"),
        ({}, [1, 2], "^labels must be probabilities.*; a click is 1, and none is 0"),
        ({}, [1, np.nan], r"^labels must be probabilities.*; drop their rows$"),
        (
            {"position": [1, 10**9], "propensity": "additive"},
            [1, 0],
            "^position must be at most 100000 where each has a factor .*, got 1000000000: let deep",
        ),
        ({}, [1], "^position must have one rank for each of the 1 documents, got 2"),
        ({}, [1, 0], "^propensity has numbers for 1 positions.* up to 2"),
        (
            {"position": [1, 2, 1], "propensity": [1.0, 0.5, 1.0]},
            [1, 0, 0],
            "^propensity has one number for each of the 3 documents, but position is at most 2",
        ),
        ({"position": None}, [1], "^position is missing"),
        ({"propensity": "additive", "initial": [0]}, [1, 0], "^initial has factors of 1 position"),
    ],
)
def test_bad_sessions_are_refused(given, clicks, message):
    objective = Unbiased(RankNet(), **{"position": [1, 2], "propensity": [1.0]} | given)
    with pytest.raises(ValueError, match=message):
        objective.grad_hess(np.zeros(len(clicks)), clicks, [len(clicks)])


def test_as_many_positions_as_documents_by_chance():
    objective = Unbiased(RankNet(), position=[1, 2, 1], propensity=[1.0, 0.5, 0.4])
    objective.loss(np.zeros(3), [1, 0, 0], [3])


def test_a_comparison_refuses_before_training(monkeypatch):
    """Without positions it trained the built-ins first, and then asked for what it refuses."""
    monkeypatch.setattr("boostrank.lab.runner.run_fold", None)
    objective = Unbiased(RankNet(), last=8)
    with pytest.raises(ValueError, match=r"^a comparison trains on parts .* positions"):
        boostrank.compare(make_ranking(10, 4, 2, seed=0), objectives=[objective], rounds=1)


# ---- in the hosts --------------------------------------------------------------------------------


def test_a_booster_gets_the_corrected_gradients(host, log):
    """With given propensities: the same trees as with a function that calls grad_hess itself."""
    objective = Unbiased(RankNet(), position=log.position, propensity=log.propensity)
    booster, other = train(host, objective, log.data, 3), loop(host, objective, log.data, 3)
    X = log.data.X
    np.testing.assert_allclose(predicted(booster, X), predicted(other, X), atol=1e-6)
    with pytest.raises(ValueError, match=r"^this model has no position factors"):
        position_bias(booster)


@every_form
def test_factors_are_learnt_and_stay_with_the_model(host, form, log):
    objective = learnt(form, position=log.position)
    booster = train(host, objective, log.data, 30)
    bias = position_bias(booster)
    assert bias.form == form
    assert bias.propensity[0] == 1.0
    assert (bias.propensity[1:] < 0.9).all()
    again = position_bias(pickle.loads(pickle.dumps(booster)))
    np.testing.assert_array_equal(again.factors, bias.factors)
    # The objective itself has learnt nothing: another training begins where this one did.
    same = position_bias(train(host, objective, log.data, 30))
    np.testing.assert_array_equal(same.factors, bias.factors)
    if host == "xgboost":
        np.testing.assert_array_equal(position_bias(copy.deepcopy(booster)).factors, bias.factors)
        np.testing.assert_array_equal(position_bias(booster[:3]).factors, bias.factors)
    else:
        with pytest.raises(ValueError, match="no position factors"):
            position_bias(copy.deepcopy(booster))


@every_form
def test_continued_training_goes_on_with_the_factors(host, form, log):
    objective = learnt(form, position=log.position)
    whole = position_bias(train(host, objective, log.data, 10)).factors
    first = train(host, objective, log.data, 6)
    rest = position_bias(train(host, objective, log.data, 4, **{MODEL[host]: first})).factors
    np.testing.assert_allclose(rest, whole, rtol=1e-6)
    if host == "lightgbm":
        folds = [2 * (np.arange(len(log.data.y)),)]
        (other,) = cv_boosters(objective, dataset(log.data), 4, folds, init_model=first)
        np.testing.assert_allclose(position_bias(other).factors, whole, rtol=1e-6)
        # From factors that a user kept.
        kept = learnt(form, position=log.position, initial=position_bias(first).factors)
        for start in (lgb.Booster(model_str=first.model_to_string()), first):
            rest = train(host, kept, log.data, 4, init_model=start)
            np.testing.assert_allclose(position_bias(rest).factors, whole, rtol=1e-6)
        # Of a Booster that was kept, LightGBM continues all rounds, and the ranker the best ones.
        stopped = train(host, objective, log.data, 6, keep_training_booster=True)
        stopped.best_iteration = 3
        rest = position_bias(train(host, objective, log.data, 4, init_model=stopped)).factors
        np.testing.assert_allclose(rest, whole, rtol=1e-6)
        rows = {"X": log.data.X, "y": log.data.y, "qid": log.data.qid, "position": log.position}
        starts = stopped, train(host, objective, log.data, 3)
        more = [make_ranker(host, learnt(form)).fit(**rows, init_model=each) for each in starts]
        np.testing.assert_array_equal(*(position_bias(each).factors for each in more))
    other = learnt("additive" if form == "pairwise" else "pairwise", position=log.position)
    with pytest.raises(ValueError, match=f"learnt {form} factors"):
        train(host, other, log.data, 1, **{MODEL[host]: first})
    with pytest.warns(UserWarning, match=r"^initial has no effect"):
        train(host, objective.replace(initial=whole), log.data, 1, **{MODEL[host]: first})


def test_trainings_in_threads_share_nothing(host, log):
    other = simulate_clicks(make_ranking(80, 6, n_features=6, seed=3), eta=3.0, sessions=6, seed=2)
    logs = [log, other]
    objectives = [learnt("additive", position=each.position) for each in logs]

    def factors(n):
        return position_bias(train(host, objectives[n], logs[n].data, 8)).factors

    alone = [factors(0), factors(1)]
    assert np.abs(alone[0] - alone[1]).max() > 0.1
    with ThreadPoolExecutor(4) as pool:
        np.testing.assert_equal(list(pool.map(factors, [0, 1] * 2)), alone * 2)


def test_a_round_that_fails_teaches_no_positions(log, monkeypatch):
    """Its gradients are found not to be finite; the update loop goes on."""
    objective = learnt("additive", position=log.position)
    convert, found = handover.to_float32, []
    for failing in (False, True):
        booster = lgb.Booster(LIGHTGBM, dataset(log.data))
        for m in range(4):
            if failing and m == 2:
                monkeypatch.setattr(handover, "to_float32", lambda *args: (*convert(*args)[:2], 0))
                with pytest.raises(ValueError, match="not finite"):
                    booster.update(fobj=objective)
                monkeypatch.setattr(handover, "to_float32", convert)
            booster.update(fobj=objective)
        found.append(position_bias(booster).factors)
    np.testing.assert_array_equal(*found)


def test_lightgbms_datasets_bring_positions_in_an_order_of_their_own(log):
    data = dataset(log.data, position=log.position.astype(np.int32))
    booster = lgb.train({**LIGHTGBM, "objective": learnt("additive")}, data, 8)
    by_rank = train("lightgbm", learnt("additive", position=log.position), log.data, 8)
    ranks = position_bias(by_rank).factors[0]
    first_seen = list(dict.fromkeys(log.position.tolist()))
    b = position_bias(booster).factors[0]
    np.testing.assert_allclose(
        b, ranks[np.array(first_seen) - 1] - ranks[first_seen[0] - 1], atol=0.02
    )
    for start in (booster, by_rank):
        again = dataset(log.data, position=log.position.astype(np.int32))
        unsure = pytest.warns(UserWarning, match="factors may be taken for those of other")
        with unsure if start is by_rank else nullcontext():
            lgb.train({**LIGHTGBM, "objective": learnt("additive")}, again, 1, init_model=start)
    for objective, message in (
        (learnt("additive", last=3), "LightGBM renumbers the positions"),
        (learnt("additive", initial=ranks), "LightGBM renumbers the positions"),
        (Unbiased(RankNet(), propensity=GIVEN), "LightGBM renumbers the positions"),
        (learnt("additive", position=log.position), "positions are given twice"),
    ):
        with pytest.raises(ValueError, match=message):
            lgb.train({**LIGHTGBM, "objective": objective}, data, 1)


def test_folds_of_lightgbms_cv_keep_the_positions_of_their_data(log):
    """Those that an objective holds: test_preferences.py."""
    data = dataset(log.data, position=log.position.astype(np.int32))
    folds = boostrank.group_folds(log.data.group, 2)
    for booster in cv_boosters(learnt("additive"), data, 8, folds):
        assert position_bias(booster).factors.shape == (1, 6)


def test_xgboosts_matrices_bring_positions(log):
    by_objective = of_xgboost(learnt("additive", position=log.position), log)
    by_matrix = of_xgboost(learnt("additive"), log, position=log.position)
    np.testing.assert_array_equal(
        position_bias(by_matrix).factors, position_bias(by_objective).factors
    )
    assert (
        "boostrank_position_bias" in json.loads(by_matrix.save_raw("json"))["learner"]["attributes"]
    )
    data = matrix(log.data, label_lower_bound=log.position)
    xgb.cv(XGBOOST, data, 2, nfold=2, obj=learnt("additive"), custom_metric=boostrank.metric("map"))
    for held, brought, message in (
        (log.position, log.position, "positions are given twice"),
        (None, log.position - 1, "label_lower_bound, of positions, must hold whole"),
        (None, None, "^position is missing"),
        (log.position[::2], None, "^position must have one rank for each of the"),
    ):
        with pytest.raises(ValueError, match=message):
            of_xgboost(learnt("additive", position=held), log, 1, position=brought)


@every_form
def test_rankers_take_positions_in_fit(host, form, log):
    data, order = log.data, np.random.default_rng(0).permutation(len(log.position))
    every, odd = slice(None), np.flatnonzero(data.qid % 2)

    def fit(rows, objective=None, rounds=1, **given):
        ranker = make_ranker(host, objective or learnt(form)).set_params(n_estimators=rounds)
        given |= {"qid": data.qid[rows], "position": log.position[rows]}
        return position_bias(ranker.fit(data.X[rows], data.y[rows], **given)).factors

    # Within queries the order affects only sums, and sessions of weight 0 teach nothing.
    np.testing.assert_allclose(fit(order, rounds=5, sort=True), fit(every, rounds=5), atol=1e-3)
    np.testing.assert_allclose(fit(every, sample_weight=data.qid % 2), fit(odd), atol=1e-3)
    with pytest.raises(ValueError, match=r"^position is ignored by blend"):
        fit(every, "blend")
    with pytest.raises(ValueError, match="positions are given twice, by the objective and to fit"):
        fit(every, learnt("additive", position=log.position))
    shown = pd.DataFrame(data.X).assign(rank=log.position.astype(float))
    held = learnt(form, position=log.position)
    for objective, position in ((learnt(form), log.position), (held, None)):
        with pytest.raises(ValueError, match=r"has the position among its features, in .*'rank'"):
            make_ranker(host, objective).fit(shown, data.y, qid=data.qid, position=position)


def test_all_data_have_their_own_positions(log):
    data, part = log.data, log.data.select(np.unique(log.data.qid)[:100])
    objective = learnt("additive", position=log.position[: len(part.y)])
    ranker = make_ranker("lightgbm", objective).fit(
        part.X, part.y, qid=part.qid, eval_set=[(data.X, data.y)], eval_qid=[data.qid],
        callbacks=[lgb.early_stopping(2, verbose=False)],
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"^unbiased has positions .* pass position= for all rows"):
        ranker.fit_all(data.X, data.y, qid=data.qid)
    whole = ranker.fit_all(data.X, data.y, qid=data.qid, position=log.position)
    assert whole.objective_ == learnt("additive", position=log.position)


def test_clicks_teach_and_grades_measure(host, log):
    """As docs/clicks.md advises: a metric of biased clicks prefers the biased model."""
    ranker, judged = make_ranker(host, learnt("additive")), make_ranking(9, 6, 6, seed=8)
    rows = {"qid": log.data.qid, "position": log.position}
    sets = {"eval_set": [(judged.X, judged.y)], "eval_qid": [judged.qid]}
    ranker.fit(log.data.X, log.data.y, **rows, **sets)
    (history,) = ranker.evals_result_.values()
    assert ranker.score(judged.X, judged.y, qid=judged.qid) == pytest.approx(history["ndcg@10"][-1])
    with pytest.raises(ValueError, match=r"between 0 and 1, got [2-4]"):
        ranker.fit(judged.X, judged.y, qid=judged.qid, position=judged.y + 1)
    with pytest.raises(ValueError, match="between 0 and 1000, got -1"):
        ranker.score(judged.X, -judged.y, qid=judged.qid)


@every_form
@pytest.mark.parametrize("before", [0, 3])
def test_factors_of_a_stopped_model_are_those_of_its_best_round(host, form, before, log):
    """As if the training, also one that continues another, had ended there."""
    data = log.data
    rows = {"X": data.X, "y": data.y, "qid": data.qid, "position": log.position}

    def fitted(rounds, patience=None, **more):
        params = {"n_estimators": rounds, "learning_rate": 0.5, "early_stopping_rounds": patience}
        sets = {"eval_set": [(VALID.X, VALID.y > 2)], "eval_qid": [VALID.qid]}
        return make_ranker(host, learnt(form), **params).fit(**rows, **sets, **more)

    first = {MODEL[host]: fitted(before)} if before else {}
    stopped = fitted(60, 5, **first)
    best = stopped._chosen_rounds
    assert before < best < before + 55
    plain = fitted(best - before, **first)
    np.testing.assert_array_equal(stopped.predict(data.X), plain.predict(data.X))
    factors = position_bias(plain).factors
    for each in (stopped, pickle.loads(pickle.dumps(stopped))):
        np.testing.assert_array_equal(position_bias(each).factors, factors)
    goes_on = [fitted(3, **{MODEL[host]: each}) for each in (stopped, plain)]
    np.testing.assert_array_equal(*(position_bias(each).factors for each in goes_on))
    np.testing.assert_array_equal(*(each.predict(data.X) for each in goes_on))


def test_factors_of_xgboosts_own_training_are_those_of_the_round_it_calls_best(log):
    """It keeps the trees of later rounds, and predicts without them where it is asked to."""
    objective = learnt("additive", position=log.position)
    sets = {"evals": [(xgb.DMatrix(VALID.X, VALID.y > 2, group=VALID.group), "valid")]}
    booster = of_xgboost(
        objective, log, 60, early_stopping_rounds=5, custom_metric=boostrank.metric("ndcg"), **sets
    )
    rounds = booster.best_iteration + 1
    assert rounds == booster.num_boosted_rounds() - 5
    plain = of_xgboost(objective, log, rounds)
    np.testing.assert_array_equal(position_bias(booster).factors, position_bias(plain).factors)
    # Only rounds that may be the best are kept.
    kept = json.loads(booster.attr("boostrank_position_bias"))["rounds"]
    assert len(kept) == 6
    assert len(json.loads(plain.attr("boostrank_position_bias"))["rounds"]) == 1


# The odds of a pair are more uneven than its probabilities, which are not small here.
@pytest.mark.parametrize(
    ("objective", "atol"), [(RankNet(), 0.08), (boostrank.XENDCG(gamma=1.0), 0.06)]
)
def test_the_factors_come_close_to_the_truth(objective, atol):
    """Where documents change places, e^b is the propensity, for pairs and for a softmax."""
    data = make_ranking(150, 8, n_features=6, seed=5)
    log = simulate_clicks(data, eta=1.0, noise=0.05, sessions=150, seed=1, randomized=1.0)
    ranker = make_ranker("lightgbm", Unbiased(objective), n_estimators=150)
    ranker.fit(log.data.X, log.data.y, qid=log.data.qid, position=log.position)
    np.testing.assert_allclose(position_bias(ranker).propensity, log.propensity, atol=atol)
