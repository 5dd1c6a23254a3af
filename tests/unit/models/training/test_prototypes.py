"""Prototypes in training: what is clustered, how, when, and that a run with them is the same
however it is stopped.
"""

import numpy as np
import pytest
import torch
from few import few
from training_runs import PRESET, Killed, contents, log_of, train

from cgbench.errors import InputWarning
from cgbench.models.checkpoints import load_checkpoint, member_summary
from cgbench.models.config.architectures import build_model
from cgbench.models.text.subwords import Subwords
from cgbench.models.training import loop
from cgbench.models.training import prototypes as training_prototypes
from cgbench.models.training.prototypes import cluster, clustered_words, make_prototypes
from cgbench.models.training.training_data import Data

# An epoch is two updates, training 14.
SETTINGS = {"model.architecture": "proto_transformer", "model.prototype_layer": 1}
PROTO = PRESET.replace({**SETTINGS, "model.prototype_min_count": 20, "model.prototype_epochs": 2})


@pytest.fixture(scope="module")
def undisturbed(corpus, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "model"
    train(corpus, out, PROTO)
    return out


def slow_k_means(points, k, starts, iterations=100):
    """Lloyd's algorithm from given starts, point by point in float64; the best centroids and their
    sum of squares.
    """
    points, best = np.asarray(points, np.float64), None
    for centroids in np.asarray(starts, np.float64):
        labels = None
        for _ in range(iterations):
            found = [
                int(np.argmin([np.sum((point - centroid) ** 2) for centroid in centroids]))
                for point in points
            ]
            if found == labels:
                break
            labels = found
            for c in set(labels):
                centroids[c] = np.mean(
                    [point for point, own in zip(points, labels, strict=True) if own == c], 0
                )
        total = sum(
            float(np.sum((point - centroids[c]) ** 2))
            for point, c in zip(points, labels, strict=True)
        )
        if best is None or total < best[1]:
            best = centroids, total
    return best


def generator(seed=1):
    return np.random.Generator(np.random.PCG64(seed))


def test_clusters_that_lie_apart_are_found():
    draw = np.random.default_rng(0)
    middles = np.array([[0.0, 9.0], [9.0, 0.0], [-9.0, -9.0]])
    points = np.concatenate([middle + draw.normal(size=(20, 2)) for middle in middles])
    centroids = cluster(points.astype(np.float32), 3, generator())
    expected, _ = slow_k_means(points, 3, [middles])
    np.testing.assert_allclose(sorted(centroids.tolist()), sorted(expected.tolist()), atol=1e-4)


def test_of_several_starts_the_best_is_taken():
    """In a cloud without clusters starts end apart: close to the best from every triple of some
    points.
    """
    points = np.random.default_rng(3).normal(size=(60, 4)) + 5
    centroids = cluster(points.astype(np.float32), 3, generator()).double().numpy()
    total = ((points[:, None] - centroids) ** 2).sum(2).min(1).sum()
    triples = np.random.default_rng(4).choice(points, (40, 3))
    totals = [slow_k_means(points, 3, [triple])[1] for triple in triples]
    assert total <= min(totals) * 1.02 < np.median(totals)


def test_one_prototype_is_the_mean_and_equal_points_have_equal_ones():
    points = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    np.testing.assert_array_equal(cluster(points, 1, generator())[0], points.mean(0))
    same = points[:1].repeat(9, 0)
    np.testing.assert_allclose(cluster(same, 3, generator()), same[:3], atol=1e-6)
    two = np.concatenate((same, same[:1] + 5))
    for points in (two, two[-2:]):
        centroids = cluster(points, 3, generator()).numpy()
        assert centroids.shape == (3, 3)
        assert all(((two - centroid) ** 2).sum(1).min() < 1e-8 for centroid in centroids)


def test_specials_marks_and_rare_words_have_no_prototypes():
    words = ["<s>", "<pad>", "</s>", "<unk>", "the", ".", "rare", ",</w>", "dog</w>", "...", "``"]
    counts = np.array([0, 0, 99, 60, 80, 70, 49, 70, 50, 70, 70])
    assert [words[word] for word in clustered_words(words, counts, 50)] == [
        "the",
        "dog</w>",
        "...",
        "``",
    ]


def test_what_is_clustered_are_all_states_of_a_word_and_nothing_else(corpus, monkeypatch):
    """One prototype is the mean of the states, sentence by sentence; however much is held at
    once.
    """
    subwords = Subwords.load(corpus)
    data = Data((corpus / "train.de", corpus / "train.en"), subwords, PROTO.training)
    config = PROTO.replace({"model.prototypes": 1}).model
    found = []
    for memory in (1 << 30, 1):
        monkeypatch.setattr(training_prototypes, "MEMORY", memory)
        torch.manual_seed(0)
        model = build_model(config, subwords.source_size, subwords.target_size).train()
        state = torch.get_rng_state()
        count = make_prototypes(
            model, data, subwords.source, 3, "cpu", torch.autocast("cpu", enabled=False)
        )
        assert model.training and torch.equal(torch.get_rng_state(), state)
        assert count == int(model.clustered.sum()) > 2
        found.append(model.prototypes.clone())
    assert torch.equal(*found)
    states = {}
    model.eval()
    for line in range(len(data.source)):
        ids, own = model.word_states(data.source.take(np.array([line])))
        for word, vector in zip(ids.tolist(), own, strict=True):
            states.setdefault(word, []).append(vector)
    for word, clustered in enumerate(model.clustered.tolist()):
        assert clustered == (word > 3 and len(states.get(word, ())) >= 20)
        mean = torch.stack(states[word]).mean(0) if clustered else torch.zeros(config.width)
        torch.testing.assert_close(model.prototypes[word, 0], mean, rtol=1e-4, atol=1e-5)


def test_prototypes_are_made_once_between_two_epochs(undisturbed):
    ((place, entry),) = (
        (n, entry) for n, entry in enumerate(log_of(undisturbed)) if "prototypes" in entry
    )
    before, after = log_of(undisturbed)[place - 1], log_of(undisturbed)[place + 1]
    assert (entry["update"], before["update"], after["update"]) == (4, 4, 6)
    assert "valid_loss" in before and after["epoch"] == 3
    model, _, _ = load_checkpoint(undisturbed)
    assert int(model.clustered.sum()) == entry["prototypes"] > 2 and model.has_prototypes
    summary = member_summary(undisturbed)
    assert summary["parameters"] == sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("stops", few([[3], [4], [5], [4, 8], [14]], [4, 8]))
def test_a_run_in_parts_ends_in_the_same_bytes(corpus, undisturbed, tmp_path, stops):
    """Stopped before, at and after the place where states are clustered."""
    for stop in stops:
        train(corpus, tmp_path / "model", PROTO, stop_after_updates=stop)
    train(corpus, tmp_path / "model", PROTO)
    assert contents(tmp_path / "model") == contents(undisturbed)


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_run_killed_as_it_clusters_ends_in_the_same_bytes(
    corpus, undisturbed, tmp_path, monkeypatch, place
):
    def killed(*arguments):
        if place == "after":
            make_prototypes(*arguments)
        raise Killed

    monkeypatch.setattr(loop, "make_prototypes", killed)
    with pytest.raises(Killed):
        train(corpus, tmp_path / "model", PROTO)
    monkeypatch.undo()
    train(corpus, tmp_path / "model", PROTO)
    assert contents(tmp_path / "model") == contents(undisturbed)


def test_prototypes_from_the_first_update_on(corpus, tmp_path):
    train(
        corpus,
        tmp_path / "first",
        PROTO.replace({"model.prototype_epochs": 0, "training.max_updates": 2}),
    )
    assert [entry["update"] for entry in log_of(tmp_path / "first") if "prototypes" in entry] == [0]


def test_a_model_that_ends_without_prototypes_says_so(corpus, tmp_path):
    with pytest.warns(InputWarning, match=r"after 7 of model.prototype_epochs=9.*no prototypes"):
        train(corpus, tmp_path / "model", PROTO.replace({"model.prototype_epochs": 9}))
    model, _, _ = load_checkpoint(tmp_path / "model")
    assert not model.has_prototypes
