"""The paper's ablation: what every component of the method brings, from one configuration."""

from zerokin.benchmark.ablation.config import AblationConfig, NetworkPlan, RowPlan
from zerokin.benchmark.ablation.run import run_ablation

__all__ = ["AblationConfig", "NetworkPlan", "RowPlan", "run_ablation"]
