"""Model files of the hosts, looked at before a host parses them, and cut to their best round.

LightGBM's parser ends the process on a file that is cut off, or reads fewer trees. XGBoost's does
so on UBJSON that is cut off and on deep JSON.
"""

import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from boostrank.messages import import_host

NAMES = {"lightgbm": "LightGBM", "xgboost": "XGBoost"}
#: The attribute of an XGBoost model that holds `missing` of the ranker that trained it.
MISSING = "boostrank_missing"

#: The attribute of an XGBoost model that says whether what a sparse matrix left out was missing.
SPARSE = "boostrank_sparse"
#: The attribute of models of 'boostrank train'.
FROM_TRAIN = "boostrank_train"
# XGBoost's numbers of the types of categories that are integers.
_INTEGER_TYPES = {9: "i1", 10: "u1", 11: "i2", 12: "u2", 13: "i4", 14: "u4", 15: "i8", 16: "u8"}

_BEST = ("best_iteration", "best_score")
_MOST_NESTED = 100  # a model has less than ten levels
# Bytes of what follows a marker of UBJSON.
_WIDTHS = dict(zip(b"TFZNiUCIldLD", (0, 0, 0, 0, 1, 1, 1, 2, 4, 4, 8, 8), strict=True))


def host_of(path: Path, content: bytes) -> str:
    """Return the host of a model file, and check that it is complete; the path is for messages."""
    if content.startswith(b"tree\r\n"):
        raise ValueError(
            f"{path} has the line ends of Windows, which LightGBM's sizes of trees do not count: "
            "copy the model as a binary file"
        )
    if content.startswith(b"tree\n"):
        host, damage = "lightgbm", _damage_of_text(content)
    elif content.startswith(b"{") and content[1:2] in b"iUIlL}" and content[1:2]:
        host, damage = "xgboost", _damage_of_ubjson(content)
    elif content.startswith(b"{"):
        host, damage = "xgboost", _damage_of_json(content)
    else:
        pickled = " (it looks like a pickle: load it in Python)" if content[:1] == b"\x80" else ""
        raise ValueError(
            f"{path} is not a model of LightGBM (text) or XGBoost (JSON, UBJSON), as 'boostrank "
            f"train' writes them{pickled}"
        )
    if damage:
        raise ValueError(f"{path} is not a complete {NAMES[host]} model: {damage}")
    return host


def _damage_of_text(content: bytes) -> str:
    """Say what is wrong with a model of LightGBM; "" if nothing is."""
    header, _, _ = content.partition(b"\n\n")
    sizes = next((x for x in header.split(b"\n") if x.startswith(b"tree_sizes=")), b"=")
    end = len(header)
    for number, size in enumerate(sizes.partition(b"=")[2].split()):
        start = content.find(b"Tree=", end)
        if not (size.isdigit() and content.startswith(b"Tree=%d\n" % number, start)):
            return f"tree {number} is missing"
        if number and start != end:  # where LightGBM's parser looks for it
            return f"the size of tree {number - 1} is not the one that is stated"
        end = start + int(size)
    trees, found, rest = content[end:].partition(b"end of trees")
    if not found:
        return "it has no end of trees"
    if trees.strip():
        return "the sizes of its trees do not match"
    rest, _, last = rest.strip().partition(b"pandas_categorical:")
    if rest and not rest.rstrip().endswith(b"end of parameters"):
        return "its parameters have no end, or something follows them"
    try:
        json.loads(last or b"null")
    except ValueError:
        return "its last line, the categories, is not JSON"
    return ""


def _damage_of_json(content: bytes) -> str:
    """Say whether JSON is too deep for XGBoost's parser, which recognises other damage itself."""
    marks = np.frombuffer(content, dtype=np.uint8)
    depth = np.isin(marks, list(b"[{")).astype(np.int32) - np.isin(marks, list(b"]}"))
    return "too many nested brackets" if np.cumsum(depth).max() > _MOST_NESTED else ""


def _damage_of_ubjson(content: bytes) -> str:
    """Say whether UBJSON is cut off or malformed; "" if it is neither."""
    try:
        end = _end_of_ubjson(content)
    except (IndexError, KeyError):
        end = -1
    return "" if end == len(content) else "it is cut off or malformed"


def _end_of_ubjson(content: bytes, at: int = 0, depth: int = 0) -> int:
    """Return the position after the value that begins at a position."""
    if depth > _MOST_NESTED:
        raise KeyError(depth)
    mark, at = content[at], at + 1
    if mark == ord("{"):
        while content[at] != ord("}"):
            length, at = _length_in_ubjson(content, at)  # of a key
            at = _end_of_ubjson(content, at + length, depth + 1)
        return at + 1
    if mark == ord("[") and content[at] == ord("$"):  # numbers of one type
        length, end = _length_in_ubjson(content, at + 3)
        return end + length * _WIDTHS[content[at + 1]]
    if mark == ord("[") and content[at] == ord("#"):
        length, at = _length_in_ubjson(content, at + 1)
        for _ in range(length):
            at = _end_of_ubjson(content, at, depth + 1)
        return at
    if mark == ord("["):
        while content[at] != ord("]"):
            at = _end_of_ubjson(content, at, depth + 1)
        return at + 1
    length, at = _length_in_ubjson(content, at) if mark in b"SH" else (_WIDTHS[mark], at)
    return at + length


def _length_in_ubjson(content: bytes, at: int) -> tuple[int, int]:
    """Return the length that stands at a position, and the position after it."""
    if content[at] not in b"iUIlL":
        raise KeyError(content[at])
    end = at + 1 + _WIDTHS[content[at]]
    value = int.from_bytes(content[at + 1 : end], "big", signed=content[at] != ord("U"))
    if value < 0:
        raise KeyError(value)
    return value, end


def read_booster(path: "str | Path | bytearray", host: str = "") -> Any:
    """Read a model file, or a bytearray of one, of one host or either, up to its best round."""
    if isinstance(path, bytearray):
        path, content = Path("the bytearray"), bytes(path)
    elif str(path).startswith(("tree\n", "{")):
        raise ValueError(
            "got the text of a model instead of its path: read it with "
            "lightgbm.Booster(model_str=text) or xgboost.Booster(model_file=bytearray(text, "
            "'utf-8')), and pass that"
        )
    else:
        path = Path(path)
        content = path.read_bytes()
    found = host_of(path, content)
    if host and found != host:
        raise ValueError(f"{path} is a model of {NAMES[found]}, not of {NAMES[host]}")
    return (lightgbm_booster if found == "lightgbm" else xgboost_booster)(path, content)


def lightgbm_booster(path: Path, content: bytes) -> Any:
    """Return the booster of a file that `host_of` knows; LightGBM writes no more than the best."""
    lightgbm = import_host("lightgbm")
    try:
        return lightgbm.Booster(model_str=content.decode())
    except (lightgbm.basic.LightGBMError, ValueError) as error:
        raise ValueError(f"{path} is not a complete LightGBM model: {error}") from error


def xgboost_booster(path: Path, content: bytes) -> Any:
    """Return the booster of a file that `host_of` knows, up to its best round."""
    xgboost = import_host("xgboost")
    booster = xgboost.Booster()
    try:
        booster.load_model(bytearray(content))
    except UnicodeDecodeError as error:  # of XGBoost's message, which quotes what it cannot read
        raise ValueError(f"{path} is not a complete XGBoost model: malformed JSON") from error
    except xgboost.core.XGBoostError as error:
        first = str(error).partition("\n")[0]
        raise ValueError(f"{path} is not a complete XGBoost model: {first}") from error
    try:
        return best_rounds(booster)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def best_rounds(booster: Any) -> Any:
    """Return an XGBoost booster without the rounds after its best one, which other tools use."""
    best = booster.attr("best_iteration")
    if best is None:
        return booster
    rounds = int(best) + 1
    if kind_of(booster) == "gblinear" or rounds >= booster.num_boosted_rounds():
        return booster
    boosted = learner_of(booster)["gradient_booster"]
    if any(weight != 1.0 for weight in dart_weights(boosted)):
        raise ValueError(
            f"DART has scaled the trees of the best round, {rounds}, in later rounds, so that "
            "model is lost: train without early stopping, or drop no trees"
        )
    shorter = booster[:rounds]
    if "c" in (booster.feature_types or ()):
        shorter = _with_categories(shorter, gbtree_of(boosted)["cats"])
    shorter.set_attr(**{key: booster.attr(key) for key in _BEST})
    return shorter


def kind_of(booster: Any) -> str:
    """Return the parameter `booster` of an XGBoost booster; from 3.3 on, "dart" is a "gbtree"."""
    return str(json.loads(booster.save_config())["learner"]["gradient_booster"]["name"])


def since(*version: int) -> bool:
    """Tell whether XGBoost is at least of this version."""
    import xgboost

    return tuple(map(int, xgboost.__version__.split(".")[:2])) >= version


def to_continue(booster: Any) -> Any:
    """Return an XGBoost booster to continue: up to its best round, which it no longer names.

    Otherwise the ranker would predict without the rounds of a new training.
    """
    if booster.attr("best_iteration") is None:
        return booster
    fresh = best_rounds(booster).copy()
    fresh.set_attr(**dict.fromkeys(_BEST))
    return fresh


def first_score(booster: Any) -> float | None:
    """Return the score of an XGBoost booster before its first tree; None: it has several.

    Its `base_score` is that in terms of its objective: of "binary:logistic", a probability.
    """
    import xgboost

    learner = json.loads(booster.save_config())["learner"]
    if outputs_of_xgboost(learner) > 1:
        return None
    base = json.loads(learner["learner_model_param"]["base_score"])
    params = {"objective": learner["objective"]["name"], "base_score": np.ravel(base)[0]}
    for own in learner["objective"].values():
        params |= own if isinstance(own, dict) else {}
    one = xgboost.DMatrix(np.zeros((1, 1)), [1.0])  # a label that every objective takes
    return float(xgboost.train(params, one, 0).predict(one, output_margin=True)[0])


def lightgbm_categories(booster: Any) -> dict[str, list[Any]] | None:
    """Return the values of the categories of a model of LightGBM, by feature, in order of codes.

    None: it does not tell of which columns, which are ordered, or next to others that are numbers.
    """
    lists, params = booster.pandas_categorical or (), booster.params
    if not lists:
        return {}
    said = list(params.get("categorical_column") or params.get("categorical_feature") or ())
    header = booster.model_to_string(num_iteration=1).partition("\nfeature_infos=")[2]
    # "2:-1:0" are codes, "[0:5]" numbers, and "none" does not vary. The parameter only decides on
    # the last: LightGBM also writes one that it has ignored.
    infos = header.partition("\n")[0].split(" ")
    columns = [
        i for i, info in enumerate(infos) if (i in said if info == "none" else info[0] != "[")
    ]
    # A file does not say which of several columns are of pandas.
    if len(columns) != len(lists):
        return None
    names, found = booster.feature_name(), list(zip(columns, lists, strict=True))
    for i, words in found:  # codes beyond the list are of another column
        if infos[i] != "none" and max(map(int, infos[i].split(":"))) >= len(words):
            return None
    return {names[i]: words for i, words in found}


def xgboost_categories(booster: Any) -> dict[str, Any]:
    """Return the values of the categories of a model of XGBoost, by feature, in order of codes."""
    if "c" not in (booster.feature_types or ()):
        return {}
    kept = gbtree_of(learner_of(booster)["gradient_booster"]).get("cats", {}).get("enc", ())
    found: dict[str, Any] = {}
    for name, each in zip(xgboost_names(booster), kept, strict=False):
        if "type" in each:
            found[name] = np.array(each["values"], _INTEGER_TYPES[each["type"]])
        elif each["values"]:
            text = np.array(each["values"], np.int8).tobytes()
            ends = each["offsets"]
            try:
                found[name] = [text[i:j].decode() for i, j in itertools.pairwise(ends)]
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"XGBoost has cut the categories of {name!r} in this model within letters "
                    "beyond ASCII: train again, with boostrank's XGBRanker or on a table of Arrow"
                ) from error
    return found


def is_dart(params: Mapping[str, Any]) -> bool:
    """Tell whether LightGBM's parameters, which may be in capitals, ask for DART."""
    names = ("boosting", "boosting_type", "boost")
    return any(str(params.get(name)).lower() == "dart" for name in names)


def check_stopping(host: str, params: Any, what: str = "early stopping") -> None:
    """Refuse what chooses a round of DART that drops trees, or of a linear booster."""
    kind = params.get("booster")
    drops = host == "xgboost" and (params.get("rate_drop") or params.get("one_drop"))
    if kind == "gblinear" or is_dart(params) or (drops and (kind == "dart" or since(3, 3))):
        which = "booster='gblinear'" if kind == "gblinear" else "DART"
        cure = "grow trees and drop none" if host == "xgboost" else "take boosting='gbdt'"
        raise ValueError(
            f"{what} cannot keep the best round of {which}: later rounds change what earlier ones "
            f"have learnt; train without it, or {cure}"
        )


def outputs_of_xgboost(learner: dict[str, Any]) -> int:
    """Return how many scores for each document an XGBoost model has, by its JSON or its config."""
    params = learner["learner_model_param"]
    return max(int(params["num_class"]), int(params.get("num_target", 1)), 1)


def names_of_array(host: str, width: int) -> list[str]:
    """Return what a host calls the features of an array."""
    word = {"lightgbm": "Column_", "xgboost": "f"}[host]
    return [f"{word}{i}" for i in range(width)]


def made_up(names: Sequence[str]) -> bool:
    """Tell whether LightGBM made the names of features up, as it does for arrays."""
    return list(names) == names_of_array("lightgbm", len(names))


def xgboost_names(booster: Any) -> list[str]:
    """Return the names of an XGBoost booster's features, as it calls them if it was given none."""
    return booster.feature_names or names_of_array("xgboost", booster.num_features())


def booster_of(model: Any, host: str = "") -> Any:
    """Return the booster of a model file or a ranker, of one host if given; else what came."""
    if isinstance(model, str | Path):
        return read_booster(model, host)
    if hasattr(type(model), "booster_"):  # which a ranker that is not fitted refuses
        booster = model.booster_
    else:
        booster = model.get_booster() if hasattr(model, "get_booster") else model
    if host and booster is not None and not isinstance(booster, sys.modules[host].Booster):
        kind = type(model)
        raise TypeError(
            f"the model to continue must be one of {NAMES[host]}, as a path, a Booster or a "
            f"ranker, got a {kind.__module__}.{kind.__qualname__}"
        )
    return booster


def is_of_train(booster: Any) -> bool:
    """Return whether 'boostrank train' has made a model, which never numbers features from 0."""
    if hasattr(booster, "attr"):
        return booster.attr(FROM_TRAIN) is not None
    # LightGBM writes [] for a frame without categories, null for an array or a svmlight file.
    return booster.pandas_categorical is not None


def missing_of(model: Any, booster: Any) -> float:
    """Return what stands for a missing value in a booster of XGBoost, or else in its ranker."""
    kept = booster.attr(MISSING)
    return float(getattr(model, "missing", np.nan) if kept is None else kept)


def of_sparse(booster: Any) -> bool | None:
    """Return whether an XGBoost booster was trained on a sparse matrix; None: not known."""
    kept = booster.attr(SPARSE)
    return None if kept is None else kept == "1"


def learner_of(booster: Any) -> dict[str, Any]:
    """Return what an XGBoost booster has learnt, as JSON."""
    return dict(json.loads(bytes(booster.save_raw("json")))["learner"])


def gbtree_of(boosted: dict[str, Any]) -> dict[str, Any]:
    """Return the trees and what belongs to them; XGBoost 3.2's dart wraps a gbtree."""
    model: dict[str, Any] = boosted.get("gbtree", boosted)["model"]
    return model


def dart_weights(boosted: dict[str, Any]) -> list[float]:
    """Return what each tree counts in a DART, or nothing; XGBoost 3.4 keeps it with the trees."""
    return list({**gbtree_of(boosted), **boosted}.get("weight_drop", ()))


def _with_categories(shorter: Any, cats: dict[str, Any]) -> Any:
    """Return a slice of a booster with the words that XGBoost 3.2 drops in it."""
    import xgboost

    made = json.loads(shorter.save_raw("json"))
    gbtree_of(made["learner"]["gradient_booster"])["cats"] = cats
    whole = xgboost.Booster()
    # XGBoost does not read \u00e9 in names for é.
    whole.load_model(bytearray(json.dumps(made, ensure_ascii=False), "utf-8"))
    return whole
