"""Paired tests of two learners, and intervals of means over queries."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from boostrank.messages import load
from boostrank.objectives.validation import Floats

RESAMPLES = 10_000
#: The paired tests, in words.
TESTS = {
    "randomisation": f"paired randomisation test, {RESAMPLES:,} resamples",
    "t": "paired t-test",
    "sign": "sign test",
}
#: The report and the figures call a difference significant if p (Holm) is below it.
SIGNIFICANT = 0.05
# Signs drawn at a time, over all queries: 80 MB.
_SIGNS_PER_BATCH = 10_000_000


def load_stats() -> Any:
    """Return scipy.stats, or say that it is missing: before anything is trained."""
    return load("scipy.stats", "the paired test needs SciPy", "scipy")


def differences(a: Floats, b: Floats) -> Floats:
    """Return a - b, which is 0 where the two are equal up to rounding; NaN where one is."""
    return np.where(np.isclose(a, b, rtol=1e-12, atol=1e-12), 0.0, a - b)


def paired_p_value(difference: Floats, *, seed: int, test: str = "randomisation") -> float:
    """Return p of a two-sided paired test; 1 if all pairs are equal, or there are fewer than two.

    `difference` has the `differences` of all pairs, one per query; NaN are left out. docs/papers.md
    says what each of `TESTS` looks at. With 13 pairs or fewer, "randomisation" tries all changes of
    signs, else 10,000 of them with this seed.
    """
    stats = load_stats()
    difference = difference[~np.isnan(difference)]
    if len(difference) < 2 or not difference.any():
        return 1.0
    if test == "sign":
        differing = np.count_nonzero(difference)
        return float(stats.binomtest(np.count_nonzero(difference > 0.0), differing).pvalue)
    if test == "t":
        with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of equal differences
            return float(stats.ttest_1samp(difference, 0.0).pvalue)
    found = stats.permutation_test(
        (difference,),
        np.mean,
        permutation_type="samples",  # one sample of differences: every sign may change
        alternative="two-sided",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=max(1, _SIGNS_PER_BATCH // len(difference)),
        random_state=seed % 2**32,  # SciPy takes no larger ones
    )
    return float(found.pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's step-down procedure, in their order."""
    order = np.argsort(p_values, kind="stable")
    multiplied = np.asarray(p_values)[order] * np.arange(len(order), 0, -1)
    corrected = np.minimum(np.maximum.accumulate(multiplied), 1.0)
    return [float(p) for p in corrected[np.argsort(order)]]


def half_width(values: Floats) -> float:
    """Return half the normal 95 % interval of the mean over queries; NaN are left out."""
    values = values[~np.isnan(values)]
    return 1.96 * float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else np.nan
