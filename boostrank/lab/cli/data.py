"""What the commands read: files, or embedded data where none is given."""

from pathlib import Path

from boostrank.datasets import RankingData, load_letor, load_letor_parts, make_ranking

N_PARTS = 5
# Small enough for all learners in about a minute, large enough to tell some of them apart.
EMBEDDED = {"n_queries": 120, "n_docs": 20, "n_features": 10}


def _shuffled(data: RankingData, seed: int, keep_order: bool) -> RankingData:
    return data if keep_order else data.shuffle_within_queries(seed)


def read_files(data: list[Path], seed: int, keep_order: bool) -> RankingData:
    """Read files as one data set."""
    return _shuffled(load_letor(data), seed, keep_order)


def read_whole(data: list[Path], seed: int, keep_order: bool) -> tuple[str, RankingData]:
    """Return what the data is, in words, and the data: that of the files, or embedded data."""
    if data:
        return ", ".join(path.name for path in data), read_files(data, seed, keep_order)
    made = make_ranking(**EMBEDDED, seed=seed)
    return "embedded, random cubic polynomials", _shuffled(made, seed, keep_order)


def read_parts(data: list[Path], seed: int, keep_order: bool) -> tuple[str, list[RankingData]]:
    """Return what the data is, in words, and its five parts."""
    if len(data) == N_PARTS:
        source = f"{data[0].name} ... {data[-1].name}, five partitions in LETOR's rotation"
        parts = load_letor_parts(data)
    else:
        source, whole = read_whole(data, seed, keep_order=True)
        if len(whole.group) < N_PARTS:
            raise ValueError(
                f"{source}: the {N_PARTS} parts of a comparison need at least {N_PARTS} queries, "
                f"got {len(whole.group)}"
            )
        parts = whole.split(N_PARTS, seed=seed)
        source += ", queries split into five parts"
    return source, [_shuffled(part, seed, keep_order) for part in parts]


def order_in_words(seed: int, keep_order: bool) -> str:
    """Say in which order documents are."""
    return "in file order" if keep_order else f"shuffled within queries (seed {seed})"
