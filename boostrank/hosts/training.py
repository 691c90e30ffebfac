"""The training that asks for gradients: its host and its workers, and what holds for all rounds."""

import json
import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from boostrank.hosts.collective import workers_of
from boostrank.hosts.data import Host, fold_of
from boostrank.hosts.undocumented import training_booster, xgboost_cross_validates
from boostrank.objectives.validation import Floats, Integers
from boostrank.objectives.view import Subset, View

T = TypeVar("T")
#: By Booster: what has been found out about its training.
_known: weakref.WeakKeyDictionary[Any, dict[Hashable, Any]] = weakref.WeakKeyDictionary()


class Training:
    """The training from which an objective is called, in one round."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._workers = workers_of(host)

    @cached_property
    def booster(self) -> Any:
        """The Booster of the host; None if it is not known."""
        return training_booster(self.host)

    @property
    def params(self) -> Mapping[str, Any]:
        """The parameters of the Booster; of XGBoost's, those that only its ranking losses read."""
        if self.host == "lightgbm":
            return dict(self.booster.params)
        config = json.loads(self.booster.save_config())["learner"]["objective"]
        return dict(config.get("lambdarank_param", {}))

    @property
    def known(self) -> dict[Hashable, Any]:
        """What has been found out about the training of the Booster, of which there must be one."""
        return _known.setdefault(self.booster, {})

    def once(self, key: Hashable, find: Callable[[], T]) -> T:
        """Return what `find` returns in the first round of the training that asks for the key."""
        if self.booster is None:
            return find()
        known = self.known
        if key not in known:
            known[key] = find()
        found: T = known[key]
        return found

    @property
    def data(self) -> "weakref.ref[Any] | None":
        """The Dataset that a LightGBM Booster trains on now, and which it outlives; else None."""
        data = getattr(self.booster, "train_set", None)
        return None if data is None else weakref.ref(data)

    @property
    def fold(self) -> tuple[Integers | None, Any]:
        """Which rows of a whole LightGBM Dataset are trained on (None: all), and that Dataset."""
        data = self.data
        if data is None:
            return None, None

        def find() -> tuple[Integers | None, Any]:
            rows, whole = fold_of(data())
            return rows, weakref.ref(whole)

        rows, whole = self.once(("fold", data), find)
        return rows, whole()

    @property
    def is_distributed(self) -> bool:
        """Whether other workers may be training together with this one."""
        return self._workers is not None

    def refuse_workers(self, who: str, what: str) -> None:
        """Refuse to train on several workers: `who` has `what` for the rows of the whole data."""
        if self.is_distributed:
            raise ValueError(
                f"{who} does not train on several workers, which do not know their rows of {what}"
            )

    def mean(self, numbers: Sequence[float] | Floats) -> Floats:
        """Return the mean of each number over the workers; without other workers, the number."""
        values = np.array(numbers, dtype=np.float64)
        return self._workers.mean(values) if self._workers else values

    @contextmanager
    def failing_together(self) -> Iterator[None]:
        """Raise an error of one worker on all of them."""
        try:
            yield
        except Exception as error:
            if self._workers:
                error.add_note("Row and query numbers refer to the documents of one worker.")
                self._workers.share_error(error)
            raise
        if self._workers:
            self._workers.share_error(None)


class TrainingView(View):
    """The documents of a round, and the rows of the user's data that they are."""

    def __init__(self, training: Training, own: View) -> None:
        super().__init__(own.scores, own.labels, own.boundaries, own.weight)
        self._training = training

    def subset(self, who: str, what: str) -> Subset | None:
        """Return the rows of a fold; see `View.subset`."""
        self._training.refuse_workers(who, what)
        if self._training.host == "xgboost" and xgboost_cross_validates():
            raise ValueError(
                "xgboost.cv does not tell which rows of the data a fold has, so those of "
                f"{who} cannot be found in it: train each fold with xgboost.train and what belongs "
                "to its rows, or cross-validate with lightgbm.cv"
            )
        rows, whole = self._training.fold
        return None if rows is None else Subset(rows, whole.get_group(), whole.num_data())

    def once(self, key: Hashable, find: Callable[[], T]) -> T:
        """Return what `find` returned in the first round with these data; see `View.once`."""
        return self._training.once((key, self._training.data), find)
