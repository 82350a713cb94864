"""Few-shot recognition measured: episodes, peers, and what is chosen on validation classes."""

from zerokin.benchmark.few_shot.episodes import Episodes, draw_episodes, mean_with_ci95
from zerokin.benchmark.few_shot.evaluation import EpisodePlan, FewShotEvaluation

__all__ = ["EpisodePlan", "Episodes", "FewShotEvaluation", "draw_episodes", "mean_with_ci95"]
