"""Guess the language of a sample of words: by script, and for Latin script by function words.

The most frequent short words identify a language reliably on a few hundred sentences (Grefenstette 1995, "Comparing
two language identification schemes"). This only checks whether a text contradicts its language code, so close
relatives (Danish and Norwegian) need not be distinguished.
"""

from __future__ import annotations

from collections.abc import Mapping

LEAST = 0.15  # smallest share of function words in a text of the language
TIMES = 2.5  # times the share of the stated language that contradicts it

_WORDS = {
    "en": "the of and to a in is that it was for on are with as i his they be at this have from you not he she we",
    "de": "der die das und ist ein eine einen einem den dem zu ich nicht mit sich auf für es von er sie wir im des war",
    "fr": "le la les de des et un une est que qui dans il elle je ne pas pour du en sur avec vous nous ce au se son",
    "es": "el la los las de y que en un una es no se por con su para lo del al como más pero yo él ella está muy",
    "it": "il la le di che e un una è non in per con del della si i gli sono da al ha mi lo come ma nel questo",
    "pt": "o a os as de e que um uma é não em do da para com se por no na mais eu ele ela você os dos ao muito",
    "nl": "de het een en van is dat in ik je niet op te zijn met hij voor er aan die was ze maar dit naar heeft",
    "sv": "och att det som en på är av för med jag den inte till han ett om har de var vi hon så men sig",
    "da": "og at det er en på jeg til af for ikke den som med han der et har de var vi hun så men sig fra",
    "no": "og at det er en på jeg til av for ikke den som med han et har de var vi hun så men seg fra",
    "fi": "ja on ei se että hän oli minä en mutta hänen ovat tom kun niin myös jos mitä ole sen olen tämä",
    "pl": "i w nie na się z do jest to że a o jak ale po za od przez jego tak dla są co czy był jej",
    "cs": "a se v na je to že s z do o i ve jsem jako ale pro si tak by za po jeho byl k od aby která",
    "sk": "a sa v na je to že s z do o aj vo som ako ale pre si tak by za po jeho bol k od aby ktorá",
    "ro": "de și în a la o că nu este un cu pe din se mai pentru ce care sunt am să au lui fi dar",
    "hu": "a az és hogy nem is egy ez van meg azt csak de volt ki én mi még ha már el mint nagyon",
    "tr": "bir ve bu da de için o ne çok ile mi var ben değil gibi daha olarak kadar ama en her ki",
}  # fmt: skip
_FUNCTION = {language: frozenset(words.split()) for language, words in _WORDS.items()}

_SCRIPTS = {
    "kana": ((0x3040, 0x30FF),),
    "han": ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF)),
    "hangul": ((0xAC00, 0xD7AF), (0x1100, 0x11FF)),
    "cyrillic": ((0x0400, 0x052F),),
    "greek": ((0x0370, 0x03FF), (0x1F00, 0x1FFF)),
    "hebrew": ((0x0590, 0x05FF),),
    "arabic": ((0x0600, 0x06FF), (0x0750, 0x077F)),
    "devanagari": ((0x0900, 0x097F),),
    "thai": ((0x0E00, 0x0E7F),),
    "lao": ((0x0E80, 0x0EFF),),
    "khmer": ((0x1780, 0x17FF),),
    "burmese": ((0x1000, 0x109F),),
}
UNSPACED = {"han": 5.0, "kana": 5.0, "thai": 9.0, "lao": 9.0, "khmer": 9.0, "burmese": 9.0}
"""Scripts without blanks between words, and the mean letters between blanks above which a text is unsegmented."""

_OF_SCRIPT = {
    **{"zh": ("han",), "ja": ("kana", "han"), "ko": ("hangul",), "el": ("greek",), "he": ("hebrew",), "th": ("thai",)},
    **dict.fromkeys(("ru", "uk", "bg", "be", "mk"), ("cyrillic",)),
    **dict.fromkeys(("ar", "fa", "ur"), ("arabic",)),
    **dict.fromkeys(("hi", "mr", "ne"), ("devanagari",)),
    **{"lo": ("lao",), "km": ("khmer",), "my": ("burmese",)},
}
_NAMES = {
    "ar": ("Arabic", "arb"), "bg": ("Bulgarian", "bul"), "bn": ("Bengali", "ben"),
    "bs": ("Bosnian", "bos"), "ca": ("Catalan", "cat"), "cs": ("Czech", "ces"),
    "da": ("Danish", "dan"), "de": ("German", "deu"), "el": ("Greek", "ell"),
    "en": ("English", "eng"), "es": ("Spanish", "spa"), "et": ("Estonian", "ekk"),
    "eu": ("Basque", "eus"), "fa": ("Persian", "pes"), "fi": ("Finnish", "fin"),
    "fr": ("French", "fra"), "ga": ("Irish", "gle"), "gl": ("Galician", "glg"),
    "he": ("Hebrew", "heb"), "hi": ("Hindi", "hin"), "hr": ("Croatian", "hrv"),
    "hu": ("Hungarian", "hun"), "hy": ("Armenian", "hye"), "id": ("Indonesian", "ind"),
    "is": ("Icelandic", "isl"), "it": ("Italian", "ita"), "ja": ("Japanese", "jpn"),
    "ka": ("Georgian", "kat"), "kk": ("Kazakh", "kaz"), "ko": ("Korean", "kor"),
    "km": ("Khmer", "khm"), "lo": ("Lao", "lao"), "my": ("Burmese", "mya"),
    "lt": ("Lithuanian", "lit"), "lv": ("Latvian", "lvs"), "mk": ("Macedonian", "mkd"),
    "nl": ("Dutch", "nld"), "no": ("Norwegian", "nob"), "pl": ("Polish", "pol"),
    "pt": ("Portuguese", "por"), "ro": ("Romanian", "ron"), "ru": ("Russian", "rus"),
    "sk": ("Slovak", "slk"), "sl": ("Slovenian", "slv"), "sr": ("Serbian", "srp"),
    "sv": ("Swedish", "swe"), "sw": ("Swahili", "swh"), "ta": ("Tamil", "tam"),
    "th": ("Thai", "tha"), "tr": ("Turkish", "tur"), "uk": ("Ukrainian", "ukr"),
    "ur": ("Urdu", "urd"), "vi": ("Vietnamese", "vie"), "zh": ("Chinese", "cmn"),
}  # fmt: skip
"""English names, and codes of three letters."""
_CODES = {
    **{letters: code for code, (_, letters) in _NAMES.items()},
    **{"ger": "de", "fre": "fr", "nb": "no", "zho": "zh", "chi": "zh", "ara": "ar", "fas": "fa"},
}


def known(code: str) -> str | None:
    """The two-letter code of a language (``de``, ``de-AT``, ``deu``: ``de``); None for one that cannot be checked."""
    short = code.lower().replace("_", "-").partition("-")[0]
    short = _CODES.get(short, short)
    return short if short in _FUNCTION or short in _OF_SCRIPT else None


def name_of(language: str) -> str:
    """The English name of a language; the code itself if unknown."""
    return _NAMES[language][0] if language in _NAMES else language


def scripts(words: Mapping[str, int]) -> dict[str, int]:
    """Number of letters per script; ``latin`` stands for all others."""
    letters: dict[str, int] = {}
    for word, times in words.items():
        if word.isascii():
            by_script = {"latin": len(word) if word.isalpha() else sum(map(str.isalpha, word))}
        else:
            by_script = {}
            for letter in word:
                if letter.isalpha() or (not letter.isalnum() and _script(letter) in UNSPACED):
                    script = _script(letter)
                    by_script[script] = by_script.get(script, 0) + 1
        for script, count in by_script.items():
            letters[script] = letters.get(script, 0) + count * times
    return letters


def _script(letter: str) -> str:
    code = ord(letter)
    if code < 0x370:
        return "latin"
    return next((name for name, ranges in _SCRIPTS.items() if any(a <= code <= b for a, b in ranges)), "latin")


def characters_of(script: str) -> str:
    """The characters of a script, for a class of a regular expression."""
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in _SCRIPTS[script])


def likeness(words: Mapping[str, int]) -> dict[str, float]:
    """Score of each language, from 0 to 1: the share of its function words, or of letters of its script.

    :param words: lowercased words and their counts.
    """
    letters = scripts(words)
    total = sum(letters.values())
    if not total:
        return {}
    scores = {}
    for language, names in _OF_SCRIPT.items():
        rate = sum(letters.get(name, 0) for name in names) / total
        kana = letters.get("kana", 0) / total
        is_other_script = (language == "zh" and kana > 0.2) or (language == "ja" and kana < 0.05)
        scores[language] = 0.0 if is_other_script else rate
    count = sum(words.values())
    if letters.get("latin", 0) / total > 0.5:
        for language, function in _FUNCTION.items():
            scores[language] = sum(words.get(word, 0) for word in function) / count
    return scores


def contradicts(code: str, likely: Mapping[str, float]) -> str | None:
    """The language of a text, if clearly not ``code``; else None.

    :param likely: :func:`likeness` of the text.
    """
    language = known(code)
    if language is None or not likely:
        return None
    best = max(likely, key=lambda name: (likely[name], name))
    return best if likely[best] >= LEAST and likely[best] >= TIMES * likely.get(language, 0.0) else None


def looks_like(code: str, likely: Mapping[str, float]) -> bool:
    """Whether a text may be in the language ``code``."""
    language = known(code)
    return language is not None and likely.get(language, 0.0) >= LEAST and contradicts(code, likely) is None
