"""The compiled engine under the losses.

Rules of the engine
    Inputs are trusted. Scores, labels and group have been checked (`validation`). No
    kernel checks an argument, raises or warns.

    Queries are independent. What a kernel writes for a query depends, to the last bit, only on its
    scores, labels and parameters: not on its neighbours, its place in the data or the number of
    threads. One thread computes a whole query (`threads`). Random draws are hashes of the query's
    scores (`draws`). Sums over all documents are sums of fixed blocks.

    Loops over queries are written once. That of the sigmoid losses (`sigmoid`) is compiled once for
    all of them: what is a loss's own is a pointer to a compiled function (`pointers`), or numbers.
    Other losses have one function for a query, to which `driver` binds its loop. A loss's own file
    holds its mathematics.

    A sum over pairs is written three times: one by one (`pairs`), by sums of exponentials between
    blocks (`far_field`), and by grades (`parts`). A loss brings what a pair adds, and coefficients.

    Every function is compiled with one of the decorators of `jit`, which says when to use which.
    Functions on disk are found by name, so `bind` and `pair_loop` give them distinct names.

    Scratch has names: the numbers of documents are kept in columns (`columns`). A function names
    those it uses in its first lines. NumPy makes the scratch: each array that a kernel makes takes
    long to compile. A helper that makes none counts no references (`jit`).

    Where one way of summing takes over from another is data (`columns.Tuning`), not code: tests
    pass small numbers.

    Nothing overflows, whatever the scores. Exponents are differences from a score of the same block
    and at most 150. Where differences are larger, pairs are computed one by one. 1 - G is never
    computed by subtraction where G is near 1.

    Inner loops run over whole vectors. Their counters are unsigned, because an index that may be
    negative prevents vectorisation, and takes three instructions more. They take no slices, each of
    which takes as long as ten documents, and they end in padding that adds nothing.

    Approximations state their error, and a test checks it: for the far field, 1e-10 of a query's
    largest gradient.

    Undocumented parts of Numba are used in `jit` and `cache` alone. boostrank/hosts/undocumented.py
    lists them, with what happens if one is missing.

jit              how kernels are compiled: one decorator for each use
cache            their machine code on disk
pointers         functions of losses as pointers, so that what calls them is compiled once
sigmoid          the loop of all sigmoid losses
driver           kernels, and the loop of other losses
columns          scratch for the sigmoid losses, in named columns
pairs            sums over pairs inside a block, each taken once
far_field        sums over pairs of different blocks, in linear time
parts            long lists in parts of equal grade, or of a range of grades
logistic         the pairs of RankNet and LambdaRank
divided          coefficients of pairs divided by their score difference
smooth_ranks     what SDCG and SHF-SDCG share
bisection        divide and conquer over grades
hinge            the hinges of GBRank and RankSVM
soft_indicators  the smoothing of SmoothNDCG and SmoothPrecision
swaps            how much a swap of two documents changes each metric
gains            gains and the ideal DCG
curvature        kinds of Hessians, and their floors
order            sorting by score
vector           exponentials and logarithms of whole vectors
draws            random numbers that depend on the query alone
threads          spreads queries and passes across threads
"""
