"""Mixtures of two objectives: the sum itself, and its parts on one scale in the hosts."""

import numpy as np
import pytest
from boostrank.objectives.engine.threads import BLOCK
from boostrank.objectives.mix import on_one_scale
from boostrank.objectives.view import Part
from test_estimators import HOSTS, make_ranker
from test_gains import AROUND
from training import train

import boostrank
from boostrank import Mix, Schedule


def test_a_mixture_of_mixtures_weighs_every_part():
    a, b, c = boostrank.RankNet(), boostrank.SDCG(), boostrank.GBRank()
    query = [0.9, 0.5, 0.1, -0.6], [0.0, 1.0, 1.0, 3.0], [4]
    for mix, shares in (
        (Mix(Mix(a, b, 0.2), c, 0.3), (0.06, 0.24, 0.7)),
        (Mix(c, Mix(a, b, 0.2), 0.3), (0.14, 0.56, 0.3)),
    ):
        for what in ("loss", "grad_hess"):
            parts = (np.array(getattr(part, what)(*query)) for part in (a, b, c))
            want = sum(share * part for share, part in zip(shares, parts, strict=True))
            np.testing.assert_allclose(getattr(mix, what)(*query), want, rtol=1e-12)


def test_contract_is_that_of_the_lesser_part():
    mix = Mix(boostrank.Regression(), boostrank.LambdaRank(), 0.5)
    assert (mix.contract.gradient, mix.contract.hessian) == ("frozen", "exact")
    assert "w" in mix.contract.frozen
    assert not mix.contract.shift_invariant
    mix = Mix(boostrank.RankSVM(), boostrank.SHFSDCG(k=3), 0.5)
    assert (mix.contract.gradient, mix.contract.hessian) == ("subgradient", "surrogate")
    mix = Mix(boostrank.RankSVM(), boostrank.SHFSDCG(k=3, hessian="constant"), 0.5)
    assert mix.contract.hessian == "surrogate"
    assert "s_m" in mix.contract.frozen
    assert mix.contract.shift_invariant
    assert mix.hessian == "surrogate"


# ---- in the hosts --------------------------------------------------------------------------------


@pytest.mark.parametrize("rescale", [True, False])
def test_on_one_scale(rescale):
    """Two parts of a sum, with mean Hessians of 2 and 50, over more documents than one block."""
    labels = np.zeros(0)
    parts = [Part(0.25, boostrank.Regression(), labels), Part(0.75, boostrank.SDCG(), labels)]
    assert boostrank.SDCG.hessian_share == 0.1
    derivatives = np.array([[[4.0, -4.0], [1.0, 3.0]], [[10.0, 20.0], [2.0, 98.0]]])
    copies = BLOCK
    got = on_one_scale(parts, np.tile(derivatives, copies), [2.0, 50.0], rescale=rescale)
    first, second = (2.0, 50.0) if rescale else (1.0, 1.0)
    grad = [0.25 * 4 / first + 0.75 * 10 / second, 0.25 * -4 / first + 0.75 * 20 / second]
    # The second part's Hessian of 2 lies below a tenth of its mean.
    hess = [0.25 * 1 / first + 0.75 * 5 / second, 0.25 * 3 / first + 0.75 * 98 / second]
    np.testing.assert_allclose(got, np.tile([grad, hess], copies), rtol=1e-15)


def test_parts_are_floored_where_they_have_a_gradient(rng):
    """Each at a tenth of its own mean. To the last bit: no product is fused with a sum."""
    share, means = np.array([[0.3], [0.7]]), np.array([[3.0], [5.0]])
    parts = [Part(weight, boostrank.SDCG(), np.zeros(0)) for weight in share[:, 0]]
    grad, hess = rng.normal(size=(2, 100)) * rng.integers(0, 2, (2, 100)), rng.random((2, 100))
    floored = np.maximum(hess, np.where(grad != 0.0, 0.1 * means, 0.0))
    got = on_one_scale(parts, np.stack([grad, hess], 1), means[:, 0], rescale=False)
    np.testing.assert_array_equal(got, [sum(share * grad), sum(share * floored)])


def test_rankers_stretch_the_schedules_of_all_parts(host, data):
    annealed = boostrank.SDCG(alpha=Schedule("geometric", 50, first=1.0, last=4.0))
    inner = boostrank.RegSHFSDCG(total_rounds=50)
    given = Mix(annealed, inner, Schedule("logistic", 50))
    fitted = make_ranker(host, given, n_estimators=3).fit(data.X, data.y, qid=data.qid)
    assert fitted.objective_ == Mix(
        boostrank.SDCG(alpha=Schedule("geometric", 3, first=1.0, last=4.0)),
        boostrank.RegSHFSDCG(total_rounds=3),
        Schedule("logistic", 3),
    )


@pytest.mark.parametrize("name", AROUND)
def test_schedules_of_what_is_inside(name, rng):
    """Of a wrapper: they are followed, and a ranker gives them its length."""
    X, y, group = rng.normal(size=(60, 3)), rng.integers(0, 2, 60), [10, 20, 30]

    def around(sigma):
        return AROUND[name](boostrank.RankNet(sigma=sigma))

    def rising(rounds):
        return around(Schedule("linear", rounds, first=1.0, last=3.0))

    query = rng.normal(size=60), y, group
    np.testing.assert_array_equal(
        rising(4).grad_hess(*query, round=4), around(3.0).grad_hess(*query, round=4)
    )
    with pytest.raises(ValueError, match=r"^round is missing"):
        rising(4).grad_hess(*query)
    for host in HOSTS:
        fitted = make_ranker(host, rising(1), n_estimators=5).fit(X, y, group=group)
        assert fitted.objective_ == rising(5)


def test_a_schedule_of_a_part_ends_too(data):
    annealed = boostrank.SDCG(alpha=Schedule("geometric", 2, first=1.0, last=4.0))
    objective = Mix(boostrank.RankNet(), annealed, 0.5)
    assert objective.scheduled
    first = train("lightgbm", objective, data, 2)
    with pytest.raises(ValueError, match="schedule of this mix ends with round 2"):
        train("lightgbm", objective, data, 1, init_model=first)


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("sdcg", boostrank.SDCG(), 0.5), TypeError, "first must be an objective .* got 'sdcg'"),
        ((boostrank.SDCG(), boostrank.SDCG, 0.5), TypeError, "second must be an objective"),
        ((boostrank.SDCG(), boostrank.SDCG(), 1.5), ValueError, "schedule must be from 0 to 1"),
        ((boostrank.SDCG(), boostrank.SDCG(), "logistic"), TypeError, "schedule must be a number"),
        ((boostrank.SDCG(), boostrank.SDCG()), TypeError, "schedule"),
        (
            (boostrank.SDCG(), boostrank.SDCG(query_fraction=0.5), 0.5),
            ValueError,
            "second must not have query_fraction of its own, got 0.5",
        ),
        (
            (boostrank.SDCG(perturb="gumbel"), boostrank.SDCG(), 0.5),
            ValueError,
            "first must not have perturb of its own, got 'gumbel'",
        ),
        (
            (boostrank.SDCG(), boostrank.SHFSDCG(perturb=None), 0.5),
            ValueError,
            "second must not have perturb of its own, got None",
        ),
    ],
    ids=range(8),
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        Mix(*arguments)


def test_a_mixture_checks_its_own_parameters_for_hosts():
    with pytest.raises(ValueError, match="seed must not be negative"):
        Mix(boostrank.SDCG(), boostrank.GBRank(), 0.5, seed=-1)


def test_a_weight_out_of_range_is_refused_where_it_happens():
    objective = Mix(
        boostrank.SDCG(), boostrank.GBRank(), Schedule("linear", 3, first=1.0, last=2.0)
    )
    objective.loss([0.0, 1.0], [0, 1], [2], round=1)
    with pytest.raises(ValueError, match=r"schedule must be from 0 to 1, got 1\.5"):
        objective.loss([0.0, 1.0], [0, 1], [2], round=2)
