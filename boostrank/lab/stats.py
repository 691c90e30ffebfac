"""The paired test of two learners, and intervals of means over queries."""

from collections.abc import Sequence

import numpy as np

from boostrank.objectives.validation import Floats

RESAMPLES = 10_000
#: The report and the figures call a difference significant if p is below it.
SIGNIFICANT = 0.05
# Signs drawn at a time, over all queries: 80 MB.
_SIGNS_PER_BATCH = 10_000_000


def paired_p_value(a: Floats, b: Floats, *, seed: int) -> float:
    """Two-sided paired randomisation test of the mean difference.

    Parameters
    ----------
    a, b : float64 arrays (n_queries,)
        One value per query; pairs with a NaN are left out.
    seed : int
        Seed of the 10,000 resamples; with 13 pairs or fewer all sign changes are counted.

    Returns
    -------
    float
        Share of sign changes with a mean difference at least as large; 1 if all pairs are equal.

    Raises
    ------
    ImportError
        Without SciPy: ``pip install "boostrank[cli]"``.
    """
    try:
        from scipy.stats import permutation_test
    except ImportError as error:
        raise ImportError(
            f'the paired test needs SciPy: pip install "boostrank[cli]" ({error})'
        ) from error
    pairs = ~(np.isnan(a) | np.isnan(b))
    difference = (a - b)[pairs]
    if not difference.any():
        return 1.0
    test = permutation_test(
        (difference,),
        np.mean,
        permutation_type="samples",  # one sample of differences: every sign may change
        alternative="two-sided",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=max(1, _SIGNS_PER_BATCH // len(difference)),
        random_state=seed,
    )
    return float(test.pvalue)


def half_width(folds: Sequence[Floats]) -> float:
    """Return half the normal 95 % interval of a mean over folds of means over queries."""
    variances = []
    for values in folds:
        values = values[~np.isnan(values)]
        variances.append(values.var(ddof=1) / len(values) if len(values) > 1 else np.nan)
    return 1.96 * float(np.sqrt(np.sum(variances))) / len(folds)
