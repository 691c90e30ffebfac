"""A comparison as a table for LaTeX."""

from collections.abc import Sequence

from boostrank.lab.results import Row, best_first, holm_p_values
from boostrank.lab.settings import Settings, sign_of
from boostrank.lab.stats import SIGNIFICANT, TESTS
from boostrank.lab.words import counted, p_in_words

# Of LaTeX's special characters, those that names of learners and metrics may have.
_ESCAPES = str.maketrans({char: rf"\{char}" for char in "_%&#{}"})


def latex_table(rows: Sequence[Row], settings: Settings) -> str:
    r"""Return the rows, best first, as a ``table`` for ``\usepackage{booktabs}``."""
    baseline = rows[0]
    metrics = list(dict.fromkeys((settings.metric, *settings.other_metrics)))
    best = {name: max(sign_of(name) * row.mean(name) for row in rows) for name in metrics}
    corrected = holm_p_values(rows)
    lines = []
    for row in best_first(rows):
        cells = [_escaped(row.learner)]
        for name in metrics:
            shown = f"{row.mean(name):.4f}"
            is_best = shown == f"{sign_of(name) * best[name]:.4f}"
            cells.append(rf"\textbf{{{shown}}}" if is_best else shown)
        if row.baseline is None:
            cells += ["", "", ""]
        else:
            low, high = row.difference_interval
            star = "^{*}" if corrected[row.learner] < SIGNIFICANT else ""
            cells += [
                rf"${row.difference:+.4f}{star} \pm {(high - low) / 2:.4f}$",
                f"${p_in_words(row.p_value)}$",
                f"${p_in_words(corrected[row.learner])}$",
            ]
        lines.append("    " + " & ".join(cells) + r" \\")
    headings = ["", *(_escaped(name.upper()) for name in metrics)]
    caption = (
        f"Means over {baseline.n_tested:,} test queries. Differences in {baseline.metric.upper()} "
        f"from {baseline.learner}, with half of their 95 % intervals; $p$ of a two-sided "
        f"{TESTS[settings.test]} over queries, and corrected for "
        f"{counted(len(rows) - 1, 'comparison')} by Holm's procedure. "
        f"* below {SIGNIFICANT:g} after the correction."
    )
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{_escaped(caption)}}}",
            rf"  \begin{{tabular}}{{l{'r' * (len(headings) + 2)}}}",
            r"    \toprule",
            "    " + " & ".join([*headings, "difference", "$p$", "$p$ (Holm)"]) + r" \\",
            r"    \midrule",
            *lines,
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
    )


def _escaped(text: object) -> str:
    return str(text).translate(_ESCAPES)
