"""What an author of a benchmark asks first: how many pairs, how hard, how noisy, and what next.

The card, the page and the console begin with these answers.
"""

from collections.abc import Mapping
from typing import Any

from cgbench.benchmark.candidates.hardness import no_harder
from cgbench.benchmark.release.release import Release
from cgbench.text.profile import wilson_interval

SETS = (
    ("test", "on the test set"),
    ("control", "on the control set"),
    ("held_out", "on held-out training pairs"),
)


def answers(release: Release) -> list[tuple[str, str]]:
    """Questions and answers about a finished release."""
    counts = release.manifest["counts"]
    pairs = f"{counts['selected']:,}, from a pool of {counts['pool']:,}"
    if "control" in counts:
        pairs += f"; control set: {counts['control']:,}"
    return [
        ("How many pairs", pairs),
        ("How hard", how_hard(release.manifest.get("ensemble"))),
        ("How noisy", how_noisy(release.manifest)),
    ]


def how_hard(quality: Mapping[str, Any] | None) -> str:
    """chrF of the ensemble on the test set, beside easier sets."""
    values = [
        f"{scores['chrf']:.1f} {where}"
        for name, where in SETS
        if (scores := (quality or {}).get(name)) and scores.get("chrf") is not None
    ]
    if not values:
        return "not measured"
    text = f"chrF of the ensemble: {', '.join(values)}"
    return f"{text}; {doubt}" if (doubt := no_harder(quality)) else text


def how_noisy(manifest: Mapping[str, Any]) -> str:
    """The estimated share of noise among the candidates, with the sampling error of the estimate.

    Most noise that the estimate sees is counted by its unlikely half, which is doubled
    (:mod:`cgbench.benchmark.candidates.noise_share`), so the interval is that of such a half.
    """
    noise, counts = manifest.get("noise"), manifest["counts"]
    if not noise:
        return "not estimated; read a sample"
    candidates = counts["candidates"]
    counted = round(candidates * noise["share"] / 2)
    low, high = (min(1.0, 2 * bound) for bound in wilson_interval(counted, candidates))
    text = f"about {noise['share']:.1%} of the candidates by an estimate ({low:.1%} to {high:.1%})"
    if dropped := counts.get("dropped_reference"):
        share = dropped / candidates
        text += f"; the least likely references ({share:.1%}) were dropped"
    return f"{text}. Small errors are not in it: read a sample"


def next_steps(release: Release, folder: str) -> list[tuple[str, str]]:
    """What to do next with a finished release, and the command for it.

    :param folder: how the command names the release.
    """
    source = release.languages[0]
    hypotheses, has_control = "--hyp mine=test.hyp", "control" in release.manifest["counts"]
    if has_control:
        hypotheses += " --control-hyp mine=control.hyp"
    files = f"test.{source}{f' and control.{source}' if has_control else ''}"
    return [
        (
            f"Translate {files} with systems that were not trained on the pool, and score them",
            f"cgbench score bleu --release {folder} {hypotheses}",
        ),
        ("Read the page", f"cgbench report {folder} --out page.html"),
        ("Check it before you publish it", f"cgbench verify {folder}"),
    ]
