"""A shortlist of output words: what a search finds among them, and that nothing else of a model changes."""

import numpy as np
import pytest
import torch
from architecture_table import SOURCE_SIZE, TABLE, TARGET_SIZE
from small_ensemble import SOURCE, TARGET, learn_subwords, write_member

from cgbench.errors import InputError
from cgbench.models.architectures.lexical_transformer import LexicalTransformer
from cgbench.models.ensemble import Ensemble
from cgbench.models.lexicons.lexicon import Lexicon, learn_lexicon
from cgbench.models.parts.ragged import Ragged
from cgbench.models.registry import build_model
from cgbench.models.search import beam_search
from cgbench.models.shortlist import Chosen, Shortlist, in_subwords, shortlisted
from cgbench.models.special_ids import SPECIALS


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory):
    root = tmp_path_factory.mktemp("ensemble")
    subwords = learn_subwords(root / "text")
    for seed in range(2):
        write_member(root / f"member-{seed}", subwords, seed)
    return Ensemble.open(root)


@pytest.fixture
def lexicon(ensemble, tmp_path):
    """Of the first two source tokens: three target tokens, and one."""
    source, target = ensemble.subwords.source[4:6], ensemble.subwords.target[10:13]
    Lexicon.of({source[0]: dict(zip(target, (1.0, 3.0, 2.0), strict=True)), source[1]: {target[0]: 1.0}}).save(
        tmp_path / "l.json"
    )
    return tmp_path / "l.json"


def whole(ensemble):
    """A shortlist of all words."""
    size = ensemble.subwords.target_size
    return Shortlist(size, size, np.zeros(ensemble.subwords.source_size + 1, np.int64), np.empty(0, np.int64))


def test_the_words_of_a_sentence(ensemble, lexicon):
    found = Shortlist.load(lexicon, ensemble.subwords, common=2, likely=2).choose(
        [np.array([4, 2]), np.array([5, 2]), np.array([7, 2])]
    )
    first = [*range(len(SPECIALS) + 2)]
    assert found.ids.tolist() == [*first, 10, 11, 12]  # 10 is the third of one, and the first of the other
    assert (~found.forbidden[:, 6:]).tolist() == [[False, True, True], [True, False, False], [False, False, False]]
    assert not found.forbidden[:, :6].any()


@pytest.mark.parametrize("beam", [1, 3])
def test_all_words_are_the_search_without_one(ensemble, beam):
    exact, found = (ensemble.search(SOURCE, beam, shortlist=words) for words in (None, whole(ensemble)))
    for one, other in zip(exact, found, strict=True):
        assert [each.text for each in one] == [each.text for each in other]
        assert [each.log_prob for each in one] == pytest.approx([each.log_prob for each in other], abs=1e-4)


@pytest.mark.parametrize("beam", [1, 3])
def test_translations_have_no_other_words_and_hang_on_no_neighbour(ensemble, lexicon, beam):
    words = Shortlist.load(lexicon, ensemble.subwords, common=3, likely=1)
    together = ensemble.search(SOURCE, beam, shortlist=words)
    for line, hypotheses in zip(SOURCE, together, strict=True):
        (source,) = ensemble.subwords.encode_source([line])
        allowed = set(words.choose([source]).ids.tolist())
        assert all(set(one.tokens.tolist()) <= allowed for one in hypotheses)
        (alone,) = ensemble.search([line], beam, shortlist=words)
        assert [one.tokens.tolist() for one in alone] == [one.tokens.tolist() for one in hypotheses]
    without = ensemble.search(SOURCE, beam)
    assert any(one[0].text != other[0].text for one, other in zip(together, without, strict=True))
    assert all(model.chosen is None for model in ensemble.members)


def test_scores_are_those_of_the_words_alone(ensemble, lexicon):
    """The probability of a hypothesis among the words of its sentence, against the definition."""
    words = Shortlist.load(lexicon, ensemble.subwords, common=3)
    (found,) = ensemble.search(SOURCE[:1], 3, shortlist=words)
    (source,) = ensemble.subwords.encode_source(SOURCE[:1])
    allowed = torch.from_numpy(words.choose([source]).ids)
    with torch.inference_mode():
        for one in found:
            p = 0
            for model in ensemble.members:
                logits = model(Ragged.pack([source]), Ragged.pack([one.tokens]).shifted())
                p = p + torch.softmax(logits[:, allowed], 1) / 2
            places = torch.searchsorted(allowed, torch.from_numpy(one.tokens.astype(np.int64)))
            expected = p.gather(1, places[:, None]).log().sum().item()
            assert one.log_prob == pytest.approx(expected, abs=1e-4)


def test_a_lexicon_of_a_models_own_tokens(ensemble, tmp_path):
    ensemble_folder = tmp_path / "e"
    for seed in range(2):
        write_member(ensemble_folder / f"member-{seed}", ensemble.subwords, seed)
    pairs = list(in_subwords(zip(SOURCE, TARGET, strict=True), ensemble_folder))
    assert set(pairs[0][0].split()) <= set(ensemble.subwords.source) and len(pairs) == len(SOURCE)
    learn_lexicon("ibm1", pairs, {"links": "forward"}).lexicon.save(tmp_path / "own.json")
    assert len(Shortlist.load(tmp_path / "own.json", ensemble.subwords).targets)
    Lexicon.of({"Hund": {"dog": 1.0}}).save(tmp_path / "words.json")
    with pytest.raises(InputError, match=r"words.json: has no word of this model's; learn it with: cgbench lexicon"):
        Shortlist.load(tmp_path / "words.json", ensemble.subwords)


def test_what_takes_none(ensemble):
    class Other:
        takes_shortlist = LexicalTransformer.takes_shortlist

    with pytest.raises(InputError, match="one matrix"), shortlisted([Other()], np.arange(4)):
        raise AssertionError
    with pytest.raises(KeyError), shortlisted(ensemble.members, np.arange(4)):
        raise KeyError
    assert all(model.chosen is None for model in ensemble.members)


@pytest.mark.parametrize("config", TABLE)
def test_every_architecture_has_logits_of_these_words_or_says_no(config):
    """The most probable of few words, step by step, are those of the whole search over them."""
    torch.manual_seed(1)
    model = build_model(config, SOURCE_SIZE, TARGET_SIZE).eval()
    source, ids = Ragged.pack([[5, 6, 2], [7, 8, 9, 2]]), np.array([0, 1, 2, 3, 6, 9, 11])
    only = Chosen(ids, torch.zeros(2, len(ids), dtype=torch.bool))
    if not getattr(model, "takes_shortlist", False):
        with pytest.raises(InputError), shortlisted([model], ids):
            raise AssertionError
        return
    with shortlisted([model], ids):
        found = beam_search([model], source, beam=2, only=only)
        with torch.inference_mode():
            state = model.start(model.encode(source))
            few = model.step(torch.tensor([2, 2]), state)
    with torch.inference_mode():
        every = model.step(torch.tensor([2, 2]), model.start(model.encode(source)))
    torch.testing.assert_close(few, every[:, ids])
    assert {token for one in found for each in one for token in each.tokens.tolist()} <= set(ids.tolist())
