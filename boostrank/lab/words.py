"""What was compared, and how: sentences for tables, reports and files."""

from collections.abc import Iterable, Sequence

from boostrank.lab.environment import machine, versions
from boostrank.lab.plan import Plan
from boostrank.lab.results import Row
from boostrank.lab.stats import TESTS
from boostrank.metrics.conventions import find_convention

#: The subject of what was left out, and why.
LEFT_OUT = "Left out"


def counted(n: int, one: str, many: str = "") -> str:
    """Return a number with its noun, whose plural has an s if it is not given."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def p_in_words(p_value: float) -> str:
    """Return a p-value with four digits; none is 0, however small."""
    return f"{p_value:.4f}" if p_value >= 0.0001 else "<0.0001"


def share_in_words(share: float) -> str:
    """Return a relative difference in percent; nothing if there is none."""
    return f"{share:+.1%}" if share == share else ""


def one_line(error: Exception | str) -> str:
    """Return an error's message without line breaks."""
    return " ".join(str(error).split())


def versions_in_words(hosts: Iterable[str]) -> str:
    """Name the versions of what a result depends on."""
    return ", ".join(f"{name} {version}" for name, version in versions(hosts).items())


def comparison_in_words(plan: Plan, rows: Sequence[Row]) -> dict[str, str]:
    """Say what was compared, and how: sentences by subject."""
    settings, data = plan.settings, plan.folds.data
    hosts = dict.fromkeys(row.learner.host for row in rows)
    limits = {
        "lightgbm": f"at least {settings.min_docs} documents per leaf on LightGBM",
        "xgboost": "min_child_weight 1 on XGBoost",
        "catboost": "CatBoost's own trees of depth 6",
    }
    leaves = ", ".join(text for host, text in limits.items() if host in hosts)
    rules = find_convention(settings.convention, settings.gain)
    baseline = next(row.learner for row in rows if row.baseline is None)
    folds = ", ".join(str(fold.fold) for fold in rows[0].folds)
    by = f"rounds chosen by validation {settings.metric.upper()}"
    rounds = "all rounds" if settings.fixed_rounds else by
    chosen = "; ".join(row.chosen for row in rows if row.chosen)
    seconds = sum(settings.rounds * fold.seconds_per_round for row in rows for fold in row.folds)
    time = f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.1f} min"
    return {
        "Data": f"{plan.folds.about}; {counted(len(data.group), 'query', 'queries')}, "
        f"{counted(len(data.y), 'document')}, {counted(data.X.shape[1], 'feature')}.",
        **({LEFT_OUT: " ".join(plan.notes)} if plan.notes else {}),
        "Figures": f"means over the test queries of folds {folds}, convention "
        f"{settings.convention}, {rounds}.",
        **({"Chosen": f"{chosen}."} if chosen else {}),
        "Trees": f"{settings.rounds} rounds, learning rate {settings.learning_rate:g}, "
        f"{settings.leaves} leaves, {leaves}, {counted(settings.threads, 'thread')}, "
        f"seed {settings.seed}."
        + "".join(
            f" But on {host}: {', '.join(f'{name}={value}' for name, value in own.items())}."
            for host, own in settings.params.items()
            if own and host in hosts
        ),
        **({"Convention": f"{rules}."} if settings.graded else {}),
        "Difference and p": f"{settings.metric.upper()} against {baseline}, ± half a "
        f"95 % interval, two-sided {TESTS[settings.test]}, over "
        f"{counted(rows[0].n_tested, 'query', 'queries')}; p (Holm) is corrected for the "
        f"{counted(len(rows) - 1, 'comparison')}.",
        "Versions": f"{versions_in_words(hosts)}.",
        "Machine": f"{machine()}. Training took {time} in all.",
    }
