"""Normalisation: tokenisers by name, one for each side, undoing Moses, names in forms."""

import sys
from dataclasses import replace

import pytest

from cgbench.errors import InputError
from cgbench.text.normalisation import Normalisation, normalise_pairs, normaliser
from cgbench.text.tokenizers import tokenizer

MIXED = "他在众人面前被嘲笑。 It's 3.5!"
BY_CHARACTER = "他 在 众 人 面 前 被 嘲 笑 。"


@pytest.mark.parametrize(
    ("name", "module", "expected"),
    [
        ("none", "sys", MIXED),
        ("13a", "sacrebleu", "他在众人面前被嘲笑。 It's 3.5 !"),
        ("zh", "sacrebleu", f"{BY_CHARACTER} It's 3.5 !"),
        ("char", "sacrebleu", f"{BY_CHARACTER} I t ' s 3 . 5 !"),
        ("jieba", "jieba", "他 在 众人 面前 被 嘲笑 。 It ' s 3.5 !"),
        ("spacy:en", "spacy", "他在众人面前被嘲笑 。 It 's 3.5 !"),
        ("spacy:zh", "spacy", f"{BY_CHARACTER} I t ' s 3 . 5 !"),
    ],
)
def test_a_tokeniser_of_each_library(name, module, expected):
    pytest.importorskip(module)
    assert tokenizer(name)(MIXED) == expected


def test_japanese_by_mecab():
    pytest.importorskip("MeCab")
    pytest.importorskip("ipadic")
    assert tokenizer("ja")("私は学生です。") == "私 は 学生 です 。"


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("13a", "sacrebleu.tokenizers.tokenizer_13a", "cjk"),
        ("ja", "MeCab", "cjk"),
        ("jieba", "jieba", "cjk"),
        ("spacy:zh", "spacy", "spacy"),
    ],
)
def test_a_missing_library_is_one_line_with_the_extra(name, module, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match="is not installed; run: pip install") as caught:
        tokenizer.__wrapped__(name)
    assert str(caught.value).endswith(f'pip install "cgbench[{extra}]"')
    assert "\n" not in str(caught.value)


def test_a_language_that_spacy_has_not():
    pytest.importorskip("spacy")
    with pytest.raises(InputError, match="spaCy has no language 'qq'"):
        tokenizer("spacy:qq")


def test_an_unknown_tokeniser():
    with pytest.raises(InputError, match="no tokeniser 'jeiba'; did you mean jieba"):
        Normalisation("zh=jeiba", languages=("en", "zh"))
    with pytest.raises(InputError, match="no text of the language 'fr'; there is en and zh"):
        Normalisation("fr=jieba", languages=("en", "zh"))


def test_the_settings_of_what_there_was_before_are_what_they_were():
    """They are in the key of a step: other ones would make every build begin anew."""
    languages = ("de", "en")
    old = {"tokenize": "moses", "lowercase": True, "languages": ["de", "en"]}
    assert Normalisation("moses", True, languages).settings == old
    assert Normalisation("de=moses,en=moses", True, languages).settings == old
    assert Normalisation("none", True, languages).settings == {
        "tokenize": "none",
        "lowercase": True,
        "languages": None,
    }


def test_every_change_of_the_text_is_in_the_settings():
    found = [
        Normalisation(tokenize, False, ("de", "en"))
        for tokenize in ("none", "13a", "de=13a", "target=13a")
    ]
    found += [replace(found[0], detokenize=True), replace(found[0], anonymise="cogs")]
    assert len({str(one.settings) for one in found}) == len(found)
    assert [one.is_identity for one in found] == [True, False, False, False, False, False]
    assert "sacrebleu" in found[1].settings["tokenizers"]


@pytest.mark.parametrize("given", ["en=13a,zh=zh", "source=13a,target=zh"])
def test_one_tokeniser_for_each_side(given):
    normalisation = Normalisation(given, True, ("en", "zh"))
    assert normalisation.tokenizers == ("13a", "zh")
    found = list(normalise_pairs(iter([(MIXED, MIXED)] * 3), normalisation, "text"))
    assert found == [("他在众人面前被嘲笑。 it's 3.5 !", f"{BY_CHARACTER} it's 3.5 !")] * 3
    assert normalisation.of("zh").tokenizers == ("zh", "zh")
    assert normalisation.signature("zh") == "zh"


def test_a_side_that_is_not_named_stays_as_it_is():
    pairs = normalise_pairs(
        iter([("A b.", "我的。")]), Normalisation("zh=zh", False, ("en", "zh")), "text"
    )
    assert list(pairs) == [("A b.", "我 的 。")]


def test_moses_is_undone():
    pytest.importorskip("sacremoses")
    tokenised = "they &apos;re &quot; here &quot; , Tom ."
    normalisation = Normalisation(detokenize=True, languages=("en", "zh"))
    assert not normalisation.is_identity
    assert normaliser(normalisation, "en")(tokenised) == 'they\'re "here", Tom.'
    assert normaliser(normalisation, "zh")("我 的 手 錶 壞 了 .") == "我的手錶壞了."
    again = Normalisation("moses", False, ("en", "zh"), detokenize=True)
    assert normaliser(again, "en")(tokenised) == tokenised
    assert again.signature("en") == "detok+moses-en"
    with pytest.raises(
        InputError, match="^detokenize depends on the language: name both with languages, such"
    ):
        normaliser(Normalisation(detokenize=True, languages=("source", "target")), "source")


def test_names_in_forms_are_replaced_before_words_are_separated():
    normalisation = Normalisation("none", True, ("en", "lf"), anonymise="smcalflow")
    pairs = [("Meet Elli .", '( # ( PersonName " Elli " ) )')]
    assert list(normalise_pairs(iter(pairs), normalisation, "text")) == [
        ("meet person0 .", '( # ( personname " person0 " ) )')
    ]
