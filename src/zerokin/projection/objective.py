"""The objective L(W, E) of projection learning, from five numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from zerokin.declared import Declared, NotNegative, ShareBelowOne
from zerokin.parameters import Real


@dataclass(frozen=True)
class Parameters(Declared):
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

    alpha: ShareBelowOne
    beta: Annotated[float, Real(0, 1, closed="right")]
    epsilon: NotNegative
    gamma: NotNegative = 0.01

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
