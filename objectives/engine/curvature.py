"""The kinds of Hessian as kernels know them, and the floors of Hessians.

Four floors keep Newton steps finite, in this order:

====================  ===========================  =================================================
floor                 relative to                  applied
====================  ===========================  =================================================
`INDEFINITE_FLOOR`    a query's mean magnitude     here, to exact Hessians that may be negative
`HESSIAN_FLOOR`       nothing: absolute            by kernels, to every Hessian of `grad_hess`
`hessian_share`       the mean Hessian             for boosters, by ``hosts/handover.py`` and, for
                                                   the parts of a mixture, by `mix.on_one_scale`
`HOST_HESSIAN_FLOOR`  the mean Hessian             for boosters, by ``hosts/handover.py``, after
                                                   weights
====================  ===========================  =================================================
"""

from ..validation import Floats
from .jit import jit_helper

# Hessian choices as the kernels know them.
CONSTANT, GAUSS_NEWTON, EXACT = 0, 1, 2
HESSIANS = {"constant": CONSTANT, "gauss-newton": GAUSS_NEWTON, "exact": EXACT}

# No returned Hessian is below this. It is far below the curvature of any query that still has
# something to learn (1e-6 per document for lists of 10,000), and far above float32's smallest
# number.
HESSIAN_FLOOR = 1e-10

# Indefinite diagonals are floored, query by query, at this share of their mean magnitude:
# with a curvature near zero, a Newton step would be arbitrarily long.
INDEFINITE_FLOOR = 0.1


@jit_helper
def floor_indefinite(hess: Floats) -> None:
    """Floor a query's diagonal at `INDEFINITE_FLOOR` of its mean magnitude, in place."""
    total = 0.0
    for i in range(len(hess)):
        total += abs(hess[i])
    floor = max(HESSIAN_FLOOR, INDEFINITE_FLOOR * total / max(1, len(hess)))
    for i in range(len(hess)):
        hess[i] = max(hess[i], floor)
