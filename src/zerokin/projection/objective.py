"""The objective L(W, E) of projection learning, from five numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from zerokin.parameters import Ranges, Real, check_parameters


@dataclass(frozen=True)
class Parameters:
    """The four parameters that users set, and the weights of the objective they stand for.

    Attributes
    ----------
    alpha : float in [0, 1)
        Share of the reconstruction of features from semantics, μ = α/(1−α).
    beta : float in (0, 1]
        How freely a sample's semantics may leave its prototype, ν = (1−β)/β.
    epsilon : float >= 0
        Smoothness over the graph, ε′ = ε/(β(1−α)).
    gamma : float >= 0
        Ridge on W, η = γ/(1−α).

    Examples
    --------
    >>> Parameters(alpha=0.5, beta=0.5, epsilon=0.1, gamma=0.01).mu
    1.0
    """

    alpha: float
    beta: float
    epsilon: float
    gamma: float = 0.01

    _parameter_ranges: ClassVar[Ranges] = {
        "alpha": Real(0, 1, closed="left", words="lie in [0, 1)"),
        "beta": Real(0, 1, closed="right", words="lie in (0, 1]"),
        "epsilon": Real(0, words="be 0 or more"),
        "gamma": Real(0, words="be 0 or more"),
    }

    def __post_init__(self) -> None:
        check_parameters(self)

    @property
    def mu(self) -> float:
        """Weight of ‖F − EWᵀ‖²."""
        return self.alpha / (1 - self.alpha)

    @property
    def nu(self) -> float:
        """Weight of ‖E − E⁰‖²."""
        return (1 - self.beta) / self.beta

    @property
    def eta(self) -> float:
        """Weight of ‖W‖²."""
        return self.gamma / (1 - self.alpha)

    @property
    def smoothness(self) -> float:
        """Weight ε′ of tr(EᵀLE)."""
        return self.epsilon / (self.beta * (1 - self.alpha))


class Terms(NamedTuple):
    """The five terms of the objective, before their weights."""

    semantics: float
    """‖FW − E‖²"""
    features: float
    """‖F − EWᵀ‖²"""
    roughness: float
    """tr(EᵀLE)"""
    departure: float
    """‖E − E⁰‖²"""
    ridge: float
    """‖W‖²"""


def objective(terms: Terms, parameters: Parameters) -> float:
    """Return ‖FW − E‖² + μ‖F − EWᵀ‖² + ε′ tr(EᵀLE) + ν‖E − E⁰‖² + η‖W‖².

    Examples
    --------
    >>> objective(Terms(1.0, 2.0, 3.0, 4.0, 5.0), Parameters(0.5, 0.5, 0.25, 0.5))
    15.0
    """
    return (
        terms.semantics
        + parameters.mu * terms.features
        + parameters.smoothness * terms.roughness
        + parameters.nu * terms.departure
        + parameters.eta * terms.ridge
    )
