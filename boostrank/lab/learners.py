"""What is compared: one of our objectives on one host, or an objective built into a host."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from boostrank.lab.models import HOSTS, TRAINERS, installed
from boostrank.lab.settings import Settings
from boostrank.messages import import_host
from boostrank.objectives import Objective
from boostrank.objectives.validation import Floats, check_choice, check_labels, check_names
from boostrank.registry import make_objective, objective_names


@dataclass(frozen=True)
class Learner:
    """One objective on one host.

    Attributes
    ----------
    label : str
        The objective's name in the table: ours as the user wrote it, a built-in one with its
        host, such as ``lightgbm:lambdarank``.
    host : str
    objective : Objective or str
        Ours, or the host's name of a built-in one.
    """

    label: str
    host: str
    objective: Objective | str

    @property
    def builtin(self) -> bool:
        """Whether the objective is the host's own."""
        return isinstance(self.objective, str)

    def __str__(self) -> str:
        return self.label if self.builtin else f"{self.label}@{self.host}"


#: The hosts' own objectives by name, such as ``lightgbm:lambdarank``.
BUILTINS: Mapping[str, Learner] = {
    f"{host}:{name}": Learner(f"{host}:{name}", host, name)
    for host, model in TRAINERS.items()
    for name in model.builtins
}


def learners(
    objectives: Mapping[str, Objective] | None, hosts: Sequence[str] | None, rounds: int
) -> list[Learner]:
    """List the hosts' own objectives, then every objective on every host that takes ours.

    The objectives, by label, are all with their defaults if None, with schedules over so many
    rounds. Regression is always added. The hosts are those of LightGBM and XGBoost that are
    installed if None. ``"catboost"`` adds CatBoost's own objectives; it accepts none of ours.
    """
    if hosts is None:
        hosts = installed()
    check_names("hosts", hosts)
    if not hosts:
        raise ValueError(f"hosts must name at least one of {', '.join(TRAINERS)}")
    chosen = dict.fromkeys(check_choice("host", host, TRAINERS) for host in hosts)
    for host in chosen:
        import_host(host)
    if objectives is None:
        objectives = {name: make_objective(name, {}, rounds) for name in objective_names()}
    ours = {"regression": make_objective("regression", {}, rounds)} | dict(objectives)
    return [own for host in chosen for own in BUILTINS.values() if own.host == host] + [
        Learner(label, host, made)
        for label, made in ours.items()
        for host in chosen
        if host in HOSTS
    ]


def refusal(learner: Learner, labels: Floats, settings: Settings) -> str:
    """Say why a learner cannot be trained on these labels; "" if it can."""
    if isinstance(learner.objective, str):
        return TRAINERS[learner.host].refusal(learner.objective, labels, settings)
    objective, *_ = HOSTS[learner.host].arguments(learner.objective, labels, settings)
    assert isinstance(objective, Objective)
    try:
        check_labels(labels, len(labels), objective.contract.labels)
    except ValueError as error:
        return str(error)
    return ""
