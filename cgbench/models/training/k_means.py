"""K-means: Lloyd's algorithm from k-means++ seeds, the best of several starts, as in scikit-learn's ``KMeans``.

Greedy k-means++ (Arthur and Vassilvitskii, 2007): each further seed is the best of 2 + ⌊ln K⌋ points, drawn with
probability proportional to their squared distance from the nearest seed. A start ends when no point changes its
cluster, or when the centroids move by less than ``TOLERANCE`` times the mean variance of a component. Unlike in
scikit-learn, a cluster that loses all its points keeps its centroid.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

TOLERANCE = 1e-4


def k_means(
    points: Tensor, k: int, random: np.random.Generator, *, restarts: int = 10, iterations: int = 100
) -> Tensor:
    """Return the centroids [k, width] of points [n, width] from the start with the least sum of squared distances.

    Deterministic for the same points, generator and number of threads.

    :param points: float32 on the CPU, at least one.
    :param iterations: maximum per start.
    """
    mean = points.mean(0)
    if k == 1:
        return mean[None]
    points = points - mean  # more precise squared distances
    norms = points.square().sum(1)
    centroids = torch.stack([_seeds(points, norms, k, random) for _ in range(restarts)])
    least = TOLERANCE * float(points.square().mean())
    labels = torch.full((restarts, len(points)), -1)
    active = torch.arange(restarts)
    for _ in range(iterations):
        found = _distances(points, norms, centroids[active]).argmin(1)
        moved = _means(points, found, centroids[active])
        shift = (moved - centroids[active]).square().sum((1, 2))
        converged = (found == labels[active]).all(1) | (shift <= least)
        centroids[active], labels[active] = moved, found
        active = active[~converged]
        if not len(active):
            break
    sums = _distances(points, norms, centroids).amin(1).clamp(min=0).double().sum(1)
    return centroids[int(sums.argmin())] + mean


def _distances(points: Tensor, norms: Tensor, centroids: Tensor) -> Tensor:
    """Squared distances [..., k, n] of points [n, width] from centroids [..., k, width]."""
    flat = centroids.flatten(0, -2)
    squares = torch.addmm(flat.square().sum(1)[:, None], flat, points.T, alpha=-2).add_(norms)
    return squares.view(*centroids.shape[:-1], len(points))


def _means(points: Tensor, labels: Tensor, centroids: Tensor) -> Tensor:
    """The means of clusters, [starts, k, width]; ``labels`` [starts, n]. An empty cluster keeps its centroid."""
    starts, k, _ = centroids.shape
    belongs = (labels[:, None] == torch.arange(k)[:, None]).to(points.dtype)
    counts = belongs.sum(2, keepdim=True)
    sums = (belongs.flatten(0, 1) @ points).view(starts, k, -1)  # one product; a batched one would copy the points
    return torch.where(counts > 0, sums / counts.clamp(min=1), centroids)


def _seeds(points: Tensor, norms: Tensor, k: int, random: np.random.Generator) -> Tensor:
    chosen = [int(random.integers(len(points)))]
    closest = _distances(points, norms, points[chosen])[0].clamp(min=0)
    for _ in range(1, k):
        sums = closest.double().numpy().cumsum()
        drawn = np.searchsorted(sums, random.random(2 + int(math.log(k))) * sums[-1])
        candidates = np.minimum(drawn, len(points) - 1)
        nearer = torch.minimum(closest, _distances(points, norms, points[candidates]).clamp(min=0))
        best = int(nearer.double().sum(1).argmin())
        chosen.append(int(candidates[best]))
        closest = nearer[best]
    return points[chosen]
