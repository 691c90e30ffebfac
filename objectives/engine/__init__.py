"""The compiled engine under the losses. CONTRIBUTING.md has a line for each of its files.

Rules of this room
    Trust. Scores, labels and group have been checked (`validation`, `intake`). No kernel checks an
    argument, raises or warns.

    Queries are alone. What a kernel writes for a query depends on its scores, labels and
    parameters, to the last bit: not on its neighbours, on its place in the data or on the number of
    threads. A query is computed whole by one thread (`threads`); what is drawn is a hash of its
    scores (`draws`); sums over all documents are sums of fixed blocks.

    Loops over queries are written once, in `driver`, and bound to the functions of a loss. A loss's
    own file holds its mathematics.

    Every function is compiled in one of the ways of `jit`, which says when to use which. Functions
    that are kept on disk are kept by name: `bind` gives them one that tells them apart.

    Scratch has names. Numbers of documents stand in columns (`columns`) or, of short queries, in
    lanes (`lanes`), and a function names those it uses in its first lines.

    Nothing overflows, whatever the scores. Exponents are of differences to a score of the same
    block, at most 150, and where the differences are larger, pairs are taken one by one. 1 - G is
    never formed by subtraction where G is near 1.

    Inner loops run over whole vectors. They count unsigned, because an index that may be negative
    keeps them from vectorising, take no slices, and end with padding that adds nothing.

    What is not exact says how far off it is, and a test holds it to that: the far field, 1e-10 of a
    query's largest gradient.

    What Numba does not document is used in `jit` alone; boostrank/hosts/undocumented.py lists it,
    with what happens where it is missing.
"""
