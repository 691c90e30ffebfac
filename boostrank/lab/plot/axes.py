"""What all figures share: colours and line styles, Axes with a legend, checks of arguments, files.

Matplotlib is imported when something is drawn, pyplot only when a figure is made for the caller.
"""

import io
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import cycle, product
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from boostrank.lab.files import write_file
from boostrank.messages import load
from boostrank.objectives.validation import Floats, check_vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Four of Okabe and Ito's colours, and two more that colour-blind readers can distinguish from the
#: four as well as the four from each other. All have a contrast of at least 3 to 1 with white
#: and with black, which Okabe and Ito's paler ones do not have.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#9F64FB", "#E0004B")
#: For baselines and the hosts' own objectives, with which others are compared.
GREY = "#767676"
_OURS = ("-", ":", "-.")
_THEIRS = ("--", ":", "-.", "-")

#: Matplotlib settings that make a picture readable on a light page and on a dark one: use
#: ``with matplotlib.rc_context(ANY_BACKGROUND):`` around drawing and saving.
ANY_BACKGROUND: Mapping[str, Any] = {
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "legend.facecolor"), "none"),
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), GREY),
    **dict.fromkeys(("xtick.color", "ytick.color", "grid.color"), GREY),
    "savefig.facecolor": "auto",
}


def load_matplotlib() -> Any:
    """Return Matplotlib, or say how to install it."""
    load("matplotlib.figure", "figures need Matplotlib", "matplotlib")  # brings `axes` too
    return import_module("matplotlib")


def start_axes(ax: "Axes | None") -> "Axes":
    """Return Axes to draw into: the given ones, or those of a new figure."""
    matplotlib = load_matplotlib()
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(layout="constrained")[1]
    elif not isinstance(ax, matplotlib.axes.Axes):
        raise TypeError(
            f"ax must be Matplotlib's Axes, got {type(ax).__name__}; of several panels, pass one, "
            "such as panels[0]"
        )
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def finish_axes(ax: "Axes", given: "Axes | None") -> "Axes":
    """Add a legend if the Axes were made here and hold anything labelled."""
    if given is None and ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize="small")
    return ax


def check_labelled(name: str, values: Any, of_what: str) -> None:
    """Refuse anything but a non-empty mapping."""
    if not isinstance(values, Mapping):
        raise TypeError(
            f"{name} must map labels to {of_what}, got {type(values).__name__}; "
            f'for a single one pass {{"label": it}}'
        )
    if not values:
        raise ValueError(f"{name} must hold at least one of {of_what}, got none")


def check_curve(name: str, values: Any) -> Floats:
    """Return one value for each round or query, as float64."""
    curve = check_vector(name, values)
    if not len(curve):
        raise ValueError(f"{name} must hold at least one number, got none")
    return curve.astype(np.float64)


def line_styles(labels: Iterable[str], grey: Collection[str] = ()) -> dict[str, dict[str, Any]]:
    """Return colour and line style of each label, by its position among labels of its kind."""
    ours, theirs = cycle(product(_OURS, COLOURS)), cycle(product(_THEIRS, (GREY,)))
    looks = {label: next(theirs if label in grey else ours) for label in labels}
    return {
        label: {"color": colour, "linestyle": style} for label, (style, colour) in looks.items()
    }


def check_sequence(name: str, values: Any, kind: type) -> None:
    """Refuse anything but a non-empty sequence of one kind."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise TypeError(
            f"{name} must be a sequence of {kind.__name__}, got {type(values).__name__}"
        )
    if not values:
        raise ValueError(f"{name} must hold at least one {kind.__name__}, got none")
    for value in values:
        if not isinstance(value, kind):
            raise TypeError(
                f"{name} must hold {kind.__name__} only, got {type(value).__name__} among them"
            )


@contextmanager
def drawn(
    file: "IO[bytes] | str", looks: Mapping[str, Any], width: float, height: float, **kept: Any
) -> "Iterator[Figure]":
    """Yield a figure to draw into with Matplotlib's settings `looks`, then write it into a file."""
    matplotlib = load_matplotlib()
    with matplotlib.rc_context(looks):
        # Without pyplot a figure draws itself with Agg, whatever backend the process has.
        figure = matplotlib.figure.Figure((width, height), layout="constrained")
        yield figure
        figure.savefig(file, **kept)


@contextmanager
def figure_file(path: Path, width: float, height: float) -> "Iterator[Figure]":
    """Yield a figure to draw into, and write it in the format that the file's suffix names."""
    content = io.BytesIO()
    with drawn(content, ANY_BACKGROUND, width, height, format=path.suffix[1:], dpi=150) as figure:
        yield figure
    write_file(path, content.getvalue())
