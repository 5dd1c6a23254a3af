"""The compiled loops that a command's first call after installation is to compile in a second process, side by side
with its own: the last and longest first, so that the two meet in the middle."""

from __future__ import annotations

_TRIE = "cgbench.benchmark.known_ngrams.trie_kernels."
_NOVELTY = "cgbench.benchmark.stats.novelty_kernels."
_OVERLAP = "cgbench.benchmark.overlap.automaton_kernels."
_ARPA = "cgbench.lm.arpa_kernels."
_SMOOTHING = "cgbench.lm.smoothing_kernels."
_LEARN = (f"{_TRIE}_enter_nodes", f"{_TRIE}copy_spans", f"{_TRIE}_sort_first", f"{_TRIE}count_places",
          f"{_TRIE}_write_runs")  # fmt: skip

DEGREE = ("cgbench.benchmark.known_ngrams.cover_kernels._cover_greedy", f"{_TRIE}grow_trie", *_LEARN)
STATS = (*DEGREE[:2], f"{_NOVELTY}enter_ngrams", f"{_NOVELTY}mark_seen", *_LEARN)
OVERLAP = tuple(
    f"{_OVERLAP}{name}"
    for name in (
        *("measure", "find_ends", "settle", "merge_matches"),
        *("walk", "enter_pairs", "enter_edges", "build_automaton"),
    )
)
LM = (f"{_ARPA}_write_ngrams", f"{_ARPA}write_words", f"{_ARPA}_show_words", f"{_SMOOTHING}_weigh_contexts",
      f"{_ARPA}_to_millionths", f"{_SMOOTHING}_interpolate", f"{_SMOOTHING}enter_counts",
      f"{_SMOOTHING}tally_order")  # fmt: skip


def expect(names: tuple[str, ...]) -> None:
    """Say which of them this command will need."""
    from cgbench import compiled

    compiled.expect(*names)
