"""Training methods against slow twins that follow their definitions word by word."""

import math

import numpy as np
import pytest
import torch
from architecture_table import TABLE

from cgbench.errors import InputError
from cgbench.models.config.architectures import build_model
from cgbench.models.config.common import MethodConfig, TrainingConfig
from cgbench.models.config.methods import METHODS, BowConfig, CRegConfig, SeqMixConfig, check_method
from cgbench.models.config.presets import architecture_preset, load_preset
from cgbench.models.parts.ragged import Layout, Ragged
from cgbench.models.special_ids import EOS
from cgbench.models.training import creg, loss, seqmix
from cgbench.models.training.loss import label_smoothed_nll_loss
from cgbench.models.training.objective import Objective, build_objectives
from cgbench.models.training.span_supervision import Guide

SIZE = 15
SOURCES = [[5, 6, 7, 2], [8, 2], [9, 10, 5, 11, 6, 2], [12, 5, 2]]
TARGETS = [[4, 2], [6, 7, 8, 9, 4, 2], [2], [13, 4, 4, 2]]


def batch(rows=(0, 1, 2, 3)):
    return Ragged.pack([SOURCES[row] for row in rows]), Ragged.pack([TARGETS[row] for row in rows])


def build(method, smoothing=0.1, dropout=0.0, **model_settings):
    settings = {"dropout": dropout, "positions": "sinusoidal", **model_settings}
    config = (
        load_preset("tiny")
        .replace({f"model.{key}": value for key, value in settings.items()})
        .model
    )
    torch.manual_seed(0)
    model = build_model(config, SIZE, SIZE)
    return build_objectives(model, TrainingConfig(label_smoothing=smoothing), method, SIZE, False)


def smoothed(logits, target, smoothing):
    """Label-smoothed cross entropy of one position."""
    log_p = torch.log_softmax(logits, 0)
    return -(1 - smoothing) * log_p[target] - smoothing * log_p.mean()


def test_without_a_method_it_is_the_cross_entropy():
    (objective,) = build(MethodConfig())
    source, target = batch()
    logits = objective.model(source, target.shifted())
    loss, plain = objective(source, target)
    torch.testing.assert_close(
        loss, sum(smoothed(x, y, 0.1) for x, y in zip(logits, target.ids, strict=True))
    )
    torch.testing.assert_close(
        plain, sum(smoothed(x, y, 0.0) for x, y in zip(logits, target.ids, strict=True))
    )
    assert not plain.requires_grad
    assert objective.count(target.layout.lengths) == 13


@pytest.mark.parametrize("slice_of", [1, 25, 1 << 18])
def test_the_loss_and_its_gradient_are_those_of_torch(slice_of, monkeypatch):
    monkeypatch.setattr(loss, "SLICE", slice_of)  # one row, two rows and a rest, all rows
    torch.manual_seed(0)
    for smoothing in (0.0, 0.1):
        logits = (torch.randn(7, 11) * 5).requires_grad_()
        target = torch.randint(11, (7,))
        expected = torch.nn.functional.cross_entropy(
            logits, target, label_smoothing=smoothing, reduction="sum"
        )
        (wanted,) = torch.autograd.grad(expected * 0.3, logits)
        value, plain = label_smoothed_nll_loss(logits, target, smoothing)
        (value * 0.3).backward()
        assert torch.allclose(value, expected, rtol=1e-6)
        assert torch.allclose(
            plain, torch.nn.functional.cross_entropy(logits, target, reduction="sum"), rtol=1e-6
        )
        assert torch.allclose(logits.grad, wanted, atol=1e-6)


def test_logits_are_left_as_they_were_and_may_be_huge():
    logits = torch.tensor([[1e4, 0.0], [-1e4, 1e4]])
    copy = logits.clone()
    value, plain = label_smoothed_nll_loss(logits, torch.tensor([0, 0]), 0.0)
    assert torch.equal(logits, copy)
    assert value.item() == plain.item() == 2e4


def test_bfloat16_logits_get_a_bfloat16_gradient():
    logits = torch.randn(3, 5).bfloat16().requires_grad_()
    label_smoothed_nll_loss(logits, torch.tensor([0, 1, 2]), 0.1)[0].backward()
    assert logits.grad.dtype == torch.bfloat16
    assert logits.grad.abs().sum() > 0


class TestSeqMix:
    def test_sequences_are_mixed_place_by_place(self):
        layout = Layout([4, 2, 3])
        x = torch.randn(9, 5, dtype=torch.float64)
        partner, share = np.array([1, 2, 2]), torch.tensor([0.9, 0.7, 0.6])
        sequences = x.split([4, 2, 3])
        for at_end in (False, True):
            found = seqmix.mix_vectors(x, layout, partner, share, at_end).split([4, 2, 3])
            for own, other, lam, mixed in zip(sequences, partner, share, found, strict=True):
                theirs = sequences[other]
                for place in range(len(own)):
                    there = place + (len(theirs) - len(own) if at_end else 0)
                    rest = theirs[there] if 0 <= there < len(theirs) else torch.zeros(5)
                    torch.testing.assert_close(
                        mixed[place], lam * own[place] + (1 - lam) * rest, rtol=1e-6, atol=1e-6
                    )

    @pytest.mark.parametrize("begin_source", [False, True])
    def test_the_loss_is_that_of_padded_tables(self, begin_source):
        (objective,) = build(SeqMixConfig("seqmix", alpha=0.8), begin_source=begin_source)
        source, target = batch()
        torch.manual_seed(5)
        loss, plain = objective(source, target)
        torch.manual_seed(5)
        partner = torch.randperm(4).tolist()
        share = (
            torch.distributions.Beta(*torch.full((2,), 0.8, dtype=torch.float64))
            .sample((4,))
            .tolist()
        )
        assert len({*partner, -1}) > 1 and any(i != j for i, j in enumerate(partner))
        wanted = twin_of_seqmix(objective.model, partner, [max(x, 1 - x) for x in share], 0.1)
        torch.testing.assert_close(loss, wanted)
        torch.testing.assert_close(
            plain, twin_of_seqmix(objective.model, partner, [max(x, 1 - x) for x in share], 0.0)
        )
        assert not plain.requires_grad

    def test_shares_follow_the_beta_distribution(self, monkeypatch):
        (objective,) = build(SeqMixConfig("seqmix", alpha=0.1))
        seen = []
        real = seqmix.mix_vectors

        def note(x, layout, partner, share, at_end=False):
            seen.append(share)
            return real(x, layout, partner, share, at_end)

        monkeypatch.setattr(seqmix, "mix_vectors", note)
        for seed in range(80):
            torch.manual_seed(seed)
            objective(*batch())
        shares = torch.stack(seen[::2]).flatten()
        assert all(
            torch.equal(a, b) for a, b in zip(seen[::2], seen[1::2], strict=True)
        )  # one for both sides
        assert shares.min() >= 0.5 and shares.max() <= 1
        drawn = np.random.default_rng(0).beta(0.1, 0.1, 100_000)
        assert float(shares.mean()) == pytest.approx(np.maximum(drawn, 1 - drawn).mean(), abs=0.02)


def twin_of_seqmix(model, partner, share, smoothing):
    """Every sentence alone, its tables padded as fairseq pads them: sources on the left, targets on
    the right.
    """
    total = torch.zeros(())
    for row, (other, lam) in enumerate(zip(partner, share, strict=True)):
        sides = []
        for number in (row, other):
            source, target = batch([number])
            sides.append(
                (*model.embed_source(source), model.embed_target(target.shifted()), target)
            )
        (x, layout, y, target), (other_x, _, other_y, other_target) = sides
        x = lam * x + (1 - lam) * fitted(other_x, len(x), at_end=True)
        y = lam * y + (1 - lam) * fitted(other_y, len(y))
        encoded = model.encode_embedded(x, layout)
        logits = model.project(model.decode_embedded(encoded, y, target.layout))
        for place, token in enumerate(target.ids):
            total = total + lam * smoothed(logits[place], token, smoothing)
            if place < len(other_target.ids):
                total = total + (1 - lam) * smoothed(
                    logits[place], other_target.ids[place], smoothing
                )
    return total


def fitted(x, length, at_end=False):
    """Cut or pad with zeros, keeping the ends or the starts."""
    padding = x.new_zeros(length, x.shape[1])
    return torch.cat((padding, x))[len(x) :] if at_end else torch.cat((x, padding))[:length]


class TestCReg:
    def test_the_contrastive_loss_is_its_definition(self):
        torch.manual_seed(0)
        z = torch.nn.functional.normalize(torch.randn(10, 4, dtype=torch.float64), dim=-1)
        labels = [5, 6, 5, 7, 5] * 2
        total, rows = 0.0, 5
        for i in range(rows):
            keys = sum(math.exp(float(z[i] @ z[j]) / 0.3) for j in range(10) if j != i)
            positives = [j for j in range(10) if j != i and labels[j] == labels[i]]
            terms = sum(math.log(math.exp(float(z[i] @ z[p]) / 0.3) / keys) for p in positives)
            total -= terms / len(positives)
        found = creg.contrastive_loss(z, torch.tensor(labels), 0.3)
        assert float(found) == pytest.approx(total / rows, rel=1e-9)

    def test_no_label_to_compare_is_a_loss_of_nothing_with_a_gradient(self):
        z = torch.zeros(0, 4, requires_grad=True)
        loss = creg.contrastive_loss(z, torch.zeros(0, dtype=torch.int64), 0.1)
        loss.backward()
        assert float(loss.detach()) == 0
        assert z.grad is not None

    def test_the_distance_of_a_worked_example(self):
        p, q = torch.tensor([[0.7, 0.2, 0.1]]).log(), torch.tensor([[0.6, 0.3, 0.1]]).log()
        assert float(creg.distance(p, q)) == pytest.approx(0.02798, abs=5e-6)
        assert float(creg.distance(p.repeat(3, 1) + 7, q.repeat(3, 1))) == pytest.approx(
            3 * 0.02798, abs=2e-5
        )

    @pytest.mark.parametrize(
        ("settings", "begin_source"),
        [
            ({}, False),
            ({"states": "encoder"}, True),
            ({"scale_by_temperature": False}, False),
            ({"alpha": 0.0}, False),
            ({"beta": 0.0, "ramp_updates": 0}, False),
        ],
    )
    def test_the_loss_is_the_sum_of_its_parts(self, settings, begin_source):
        method = CRegConfig("creg", **{"alpha": 0.4, "ramp_updates": 10, **settings})
        (objective,) = build(method, dropout=0.2, begin_source=begin_source)
        objective.update = 4
        source, target = batch()
        torch.manual_seed(5)
        loss, plain = objective(source, target)
        torch.manual_seed(5)
        both = Ragged.pack(SOURCES * 2), Ragged.pack(TARGETS * 2)
        encoded = objective.model.encode(both[0])
        states = objective.model.decode(encoded, both[1].shifted())
        logits = objective.model.project(states)
        entropy = sum(smoothed(x, y, 0.1) for x, y in zip(logits, both[1].ids, strict=True))
        wanted = entropy + method.beta * creg.distance(logits[:13], logits[13:])
        if method.states == "encoder":
            # with <s> before each source
            states, labels = (
                encoded.states,
                torch.tensor([token for row in SOURCES * 2 for token in [0, *row]]),
            )
        else:
            labels = both[1].ids
        kept = labels >= 4
        assert 0 < kept.sum() < len(labels)
        z = torch.nn.functional.normalize(objective.project(states[kept]), dim=1)
        ramp = 0.4 if method.ramp_updates else 1.0
        scale = method.temperature if method.scale_by_temperature else 1.0
        contrast = creg.contrastive_loss(z, labels[kept], method.temperature)
        wanted += method.alpha * ramp * scale * 13 * contrast
        torch.testing.assert_close(loss, wanted)
        assert loss > entropy / 2
        plain_twin = sum(smoothed(x, y, 0.0) for x, y in zip(logits, both[1].ids, strict=True)) / 2
        torch.testing.assert_close(plain, plain_twin.detach())

    def test_the_projection_is_trained_and_is_no_part_of_the_model(self):
        (objective,) = build(CRegConfig("creg", ramp_updates=0))
        objective(*batch())[0].backward()
        assert all(parameter.grad.abs().max() > 0 for parameter in objective.project.parameters())
        assert len(objective.state_dict()) == len(objective.model.state_dict()) + 4


class TestBow:
    @torch.no_grad()
    def test_the_loss_is_its_definition(self):
        objective, after = build(BowConfig("bow", epochs=3), begin_source=True)
        assert (objective.epochs, after.epochs) == (3, None)
        assert type(after) is Objective and after.model is objective.model
        source, target = batch()
        loss, plain = objective(source, target)
        total = 0.0
        for row in range(4):
            encoded = objective.model.encode(batch([row])[0])
            log_p = torch.log_softmax(objective.head(encoded.states.mean(0)), 0)
            words = [token for token in TARGETS[row] if token != EOS]
            total += sum(-float(log_p[word]) for word in words) / max(len(words), 1)
        assert float(loss) == pytest.approx(total, rel=1e-5)
        assert float(plain) == float(loss)
        assert objective.count(target.layout.lengths) == 4

    def test_the_decoder_is_left_alone(self):
        objective, _ = build(BowConfig("bow"))
        objective(*batch())[0].backward()
        trained = {
            name
            for name, parameter in objective.model.named_parameters()
            if parameter.grad is not None
        }
        assert any(name.startswith("encoder.") for name in trained)
        assert not any(name.startswith(("decoder", "target")) for name in trained)


class TestArchitectures:
    """Every architecture with every method, or a line that says why not."""

    @pytest.mark.parametrize("config", TABLE)
    def test_a_sentence_mixed_with_itself_is_itself(self, config):
        method = SeqMixConfig("seqmix", alpha=1.0)
        if not config.takes_vectors:
            with pytest.raises(InputError, match="cannot read"):
                check_method(config, method)
            return
        (plain,), (mixed,) = (objectives_of(config, choice) for choice in (MethodConfig(), method))
        for row in range(4):
            torch.testing.assert_close(
                mixed(*batch([row])), plain(*batch([row])), rtol=1e-4, atol=1e-4
            )

    @pytest.mark.parametrize("states", ["decoder", "encoder"])
    @pytest.mark.parametrize("config", TABLE)
    def test_two_equal_views_have_twice_the_loss_and_a_contrast(self, config, states):
        method = CRegConfig("creg", states=states, alpha=1.0, temperature=1.0, ramp_updates=0)
        if states == "encoder" and not config.has_encoder_states:
            with pytest.raises(InputError, match="needs encoder states"):
                check_method(config, method)
            return
        if not config.projects_states:
            with pytest.raises(InputError, match="decoder states that determine"):
                check_method(config, method)
            return
        (plain,), (views,) = (objectives_of(config, choice) for choice in (MethodConfig(), method))
        loss, reported = views(*batch())
        loss.backward()
        entropy, perplexity = plain(*batch())
        assert float(reported) == pytest.approx(float(perplexity), rel=1e-4)
        contrast = (loss.detach() - 2 * entropy.detach()) / 13
        # The other view is equal, so it is at least as near as a token chosen from all at random.
        assert 0 < float(contrast) < np.log(2 * 13)
        assert all(parameter.grad is not None for parameter in views.project.parameters())

    @pytest.mark.parametrize("config", TABLE)
    def test_bags_of_words_are_learned_by_the_encoder(self, config):
        if not config.has_encoder_states:
            with pytest.raises(InputError, match="needs encoder states"):
                check_method(config, BowConfig("bow"))
            return
        objective, _ = objectives_of(config, BowConfig("bow"))
        before = objective(*batch())[0]
        before.backward()
        with torch.no_grad():
            for parameter in objective.parameters():
                if parameter.grad is not None:
                    parameter -= 0.01 * parameter.grad
        assert objective(*batch())[0] < before


def objectives_of(config, method):
    torch.manual_seed(0)
    model = build_model(config, SIZE, SIZE)
    return [
        objective.eval()
        for objective in build_objectives(model, TrainingConfig(), method, SIZE, False)
    ]


def guides_of(name):
    """What a method reads besides the batch: here, attention to the first source word."""
    if name != "span_supervision":
        return ()
    wanted = torch.zeros(sum(map(len, TARGETS)), max(map(len, SOURCES)))
    wanted[0, 0] = 1
    return (Guide(wanted),)


@pytest.mark.parametrize("name", METHODS)
def test_bfloat16_gives_nearly_the_same(name):
    losses = []
    for in_bfloat16 in (False, True):
        objective = build(METHODS[name].config(name))[0]
        objective.in_bfloat16 = in_bfloat16
        torch.manual_seed(2)
        losses.append(float(objective(*batch(), *guides_of(name))[0].detach()))
    assert losses[0] != losses[1]
    assert losses[0] == pytest.approx(losses[1], rel=0.02)


@pytest.mark.parametrize(
    ("architecture", "settings", "message"),
    [
        ("dangle", {"name": "bow"}, "method.name=bow: needs encoder states"),
        (
            "r_dangle",
            {"name": "creg", "states": "encoder"},
            "creg with method.states=encoder: needs encoder states",
        ),
        (
            "dangle",
            {"name": "seqmix"},
            "method.name=seqmix: mixes embedded words, which architecture dangle cannot",
        ),
        (
            "transformer",
            {"name": "creg", "states": "x"},
            "method.states: 'x' is not one of decoder, encoder",
        ),
        (
            "transformer",
            {"name": "seqmix", "alpha": 0.001},
            r"method.alpha: 0.001 is not a number, at least 0.01",
        ),
        (
            "transformer",
            {"name": "mixup"},
            "method.name=mixup: unknown method; there is bow, creg, none, seqmix",
        ),
        (
            "transformer",
            {"alpha": 1},
            "method.alpha: not a setting of method none, but of seqmix, creg",
        ),
        (
            "transformer",
            {"name": "bow", "epoch": 1},
            "unknown setting method.epoch; did you mean method.epochs",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_the_preset(architecture, settings, message):
    with pytest.raises(InputError, match=message):
        architecture_preset(architecture).replace(
            {f"method.{key}": value for key, value in settings.items()}
        )


def test_what_another_method_has_not_is_left_behind():
    preset = architecture_preset("r_dangle").replace({"method.name": "creg", "method.alpha": 0.7})
    assert preset.replace({"method.name": "seqmix"}).method == SeqMixConfig("seqmix", alpha=0.7)
    assert preset.replace({"method.name": "none"}).method == MethodConfig()
