"""Data made by the recipe of the RankNet and LambdaRank papers."""

from typing import Any

import numpy as np

from boostrank.datasets.ranking_data import RankingData
from boostrank.objectives.validation import (
    Floats,
    Integers,
    check_amount,
    check_count,
    check_seed,
    check_whole,
)

# Shares of the grades 0..4 among the judgements of MSLR-WEB30K, a web search engine's.
GRADE_SHARES = (0.52, 0.32, 0.13, 0.022, 0.008)


def _standardise(values: Floats) -> Floats:
    """Scale to zero mean and unit variance; if all values are equal, they become 0."""
    centred = values - values.mean()
    return np.asarray(centred / (centred.std() or 1.0))


def _check_sizes(n_queries: int, n_docs: Any) -> Integers:
    if np.ndim(n_docs) == 0:
        return np.full(n_queries, check_count("n_docs", np.asarray(n_docs)[()]))
    sizes = check_whole("n_docs", n_docs, 1)
    if len(sizes) != n_queries:
        raise ValueError(
            f"n_docs must be one number or one for each of the {n_queries} queries, got "
            f"{len(sizes)}"
        )
    return sizes


def _grades(target: Floats) -> Floats:
    """Cut the target into grades of the shares `GRADE_SHARES`."""
    counts = np.diff(np.rint(np.cumsum(GRADE_SHARES) * len(target)).astype(np.int64), prepend=0)
    y = np.empty(len(target))
    y[np.argsort(target, kind="stable")] = np.repeat(np.arange(len(counts)), counts)
    return y


def make_ranking(
    n_queries: int,
    n_docs: Any,
    n_features: int = 50,
    *,
    seed: int,
    noise: float = 0.0,
) -> RankingData:
    """Make the random cubic polynomial data of the RankNet and LambdaRank papers.

    Features are uniform on [-1, 1]. The target is the mean of three terms, each scaled to zero
    mean and unit variance over the data: a linear function with random weights, a quadratic form
    ``sum_i x_i x_Q(i)`` and a cubic form ``sum_i x_i x_Q(i) x_R(i)``, where Q and R are random
    permutations of the features. Grades 0 to 4 cut the target at its quantiles so that their
    shares are .52, .32, .13, .022 and .008, as in the web search data MSLR-WEB30K.

    Parameters
    ----------
    n_queries : int
        Number of queries, at least 1.
    n_docs : int or array_like of integers (n_queries,)
        Documents per query, the same for all or one number for each, at least 1.
    n_features : int, default 50
        Number of features, at least 1; 50 as in the papers.
    seed : int
        Equal arguments give equal data. Another seed draws another polynomial, so make one data
        set and split it into training and test queries.
    noise : float, default 0.0
        Standard deviation of normal noise that is added to the target, scaled to unit variance,
        before it is cut into grades. The default is the papers' clean data; at 1.0, half of what
        decides the grades cannot be learnt.

    Returns
    -------
    RankingData
        Query ids 1..n_queries.

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong type or out of range.

    References
    ----------
    Burges et al.: Learning to rank using gradient descent. ICML 2005 (the polynomial).
    Burges, Ragno, Le: Learning to rank with nonsmooth cost functions. NIPS 2006, section 6.3.1
    (five grades, 50 features, 50 documents per query).

    Examples
    --------
    >>> import numpy as np
    >>> from boostrank.datasets import make_ranking
    >>> data = make_ranking(100, 20, seed=1)
    >>> data
    RankingData(100 queries, 2000 documents, 50 features)
    >>> np.bincount(data.y.astype(int)).tolist()
    [1040, 640, 260, 44, 16]
    """
    check_count("n_queries", n_queries)
    check_count("n_features", n_features)
    noise = check_amount("noise", noise)
    group = _check_sizes(n_queries, n_docs)

    # Noise is always drawn, and last, so X and the polynomial are the same at every noise level.
    rng = np.random.default_rng(check_seed(seed))
    X = rng.uniform(-1.0, 1.0, (int(group.sum()), n_features))
    weights = rng.uniform(-1.0, 1.0, n_features)
    q = rng.permutation(n_features)
    r = rng.permutation(n_features)
    products = X[:, q]
    quadratic = np.einsum("ij,ij->i", X, products)
    products *= X
    cubic = np.einsum("ij,ij->i", products, X[:, r])
    target = (_standardise(X @ weights) + _standardise(quadratic) + _standardise(cubic)) / 3.0
    target = _standardise(target) + noise * rng.standard_normal(len(target))
    return RankingData(X, _grades(target), np.repeat(np.arange(1, n_queries + 1), group))
