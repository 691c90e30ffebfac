"""The kinds of Hessian as kernels know them, and the floors of Hessians.

Three floors keep Newton steps finite, in this order:

====================  ===========================  =================================================
floor                 relative to                  applied
====================  ===========================  =================================================
`HESSIAN_FLOOR`       nothing: absolute            by kernels, to every Hessian of `grad_hess`
`hessian_share`       the mean Hessian             for boosters, where there is a gradient, by
                                                   ``hosts/handover.py`` and, for the parts of a
                                                   mixture, by `mix.on_one_scale`
`HOST_HESSIAN_FLOOR`  the mean Hessian             for boosters, by ``hosts/handover.py``, after
                                                   weights
====================  ===========================  =================================================
"""

# Hessian choices as the kernels know them.
CONSTANT, GAUSS_NEWTON, EXACT = 0, 1, 2
HESSIANS = {"constant": CONSTANT, "gauss-newton": GAUSS_NEWTON, "exact": EXACT}
LOSS = 3  # in place of a kind of Hessian

# No returned Hessian is below this. It is far below the curvature of any query that still has
# something to learn (1e-6 per document for lists of 10,000), and far above float32's smallest
# number.
HESSIAN_FLOOR = 1e-10
