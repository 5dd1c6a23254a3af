"""The learning rate of each update."""

from __future__ import annotations

import math

from cgbench.models.config.common import TrainingConfig


def learning_rate(config: TrainingConfig, update: int, width: int) -> float:
    """Return the rate of update 1, 2, ...: a linear warm-up, then ``schedule``.

    :param width: of the model, for the schedule of Vaswani et al. (2017), section 5.3 (``noam``).
    """
    warmup = max(config.warmup_updates, 1)
    if config.schedule == "noam":
        return config.learning_rate / math.sqrt(width) * min(update**-0.5, update * warmup**-1.5)
    if update <= warmup:
        return config.learning_rate * update / warmup
    if config.schedule == "linear":
        return config.learning_rate * (config.max_updates + 1 - update) / (config.max_updates + 1 - warmup)
    if config.schedule == "constant":
        return config.learning_rate
    return config.learning_rate * math.sqrt(warmup / update)
