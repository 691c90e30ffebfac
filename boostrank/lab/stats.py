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


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's step-down procedure.

    Parameters
    ----------
    p_values : sequence of float

    Returns
    -------
    list of float
        In the same order: the k-th smallest of m is multiplied by m + 1 - k, and none is smaller
        than the one before it.
    """
    corrected = [1.0] * len(p_values)
    largest = 0.0
    for place, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[i]))
        corrected[i] = largest
    return corrected


def half_width(values: Floats) -> float:
    """Return half the normal 95 % interval of the mean over queries; NaN are left out."""
    values = values[~np.isnan(values)]
    return 1.96 * float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else np.nan
