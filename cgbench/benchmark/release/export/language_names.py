"""What other tools call languages: in English, for prompts, and with three letters and a script."""

from __future__ import annotations

_NAMES = {
    "ar": ("Arabic", "arb_Arab"), "bg": ("Bulgarian", "bul_Cyrl"), "bn": ("Bengali", "ben_Beng"),
    "bs": ("Bosnian", "bos_Latn"), "ca": ("Catalan", "cat_Latn"), "cs": ("Czech", "ces_Latn"),
    "da": ("Danish", "dan_Latn"), "de": ("German", "deu_Latn"), "el": ("Greek", "ell_Grek"),
    "en": ("English", "eng_Latn"), "es": ("Spanish", "spa_Latn"), "et": ("Estonian", "ekk_Latn"),
    "eu": ("Basque", "eus_Latn"), "fa": ("Persian", "pes_Arab"), "fi": ("Finnish", "fin_Latn"),
    "fr": ("French", "fra_Latn"), "ga": ("Irish", "gle_Latn"), "gl": ("Galician", "glg_Latn"),
    "he": ("Hebrew", "heb_Hebr"), "hi": ("Hindi", "hin_Deva"), "hr": ("Croatian", "hrv_Latn"),
    "hu": ("Hungarian", "hun_Latn"), "hy": ("Armenian", "hye_Armn"), "id": ("Indonesian", "ind_Latn"),
    "is": ("Icelandic", "isl_Latn"), "it": ("Italian", "ita_Latn"), "ja": ("Japanese", "jpn_Jpan"),
    "ka": ("Georgian", "kat_Geor"), "kk": ("Kazakh", "kaz_Cyrl"), "ko": ("Korean", "kor_Hang"),
    "lt": ("Lithuanian", "lit_Latn"), "lv": ("Latvian", "lvs_Latn"), "mk": ("Macedonian", "mkd_Cyrl"),
    "nl": ("Dutch", "nld_Latn"), "no": ("Norwegian", "nob_Latn"), "pl": ("Polish", "pol_Latn"),
    "pt": ("Portuguese", "por_Latn"), "ro": ("Romanian", "ron_Latn"), "ru": ("Russian", "rus_Cyrl"),
    "sk": ("Slovak", "slk_Latn"), "sl": ("Slovenian", "slv_Latn"), "sr": ("Serbian", "srp_Cyrl"),
    "sv": ("Swedish", "swe_Latn"), "sw": ("Swahili", "swh_Latn"), "ta": ("Tamil", "tam_Taml"),
    "th": ("Thai", "tha_Thai"), "tr": ("Turkish", "tur_Latn"), "uk": ("Ukrainian", "ukr_Cyrl"),
    "ur": ("Urdu", "urd_Arab"), "vi": ("Vietnamese", "vie_Latn"), "zh": ("Chinese", "cmn_Hans"),
}  # fmt: skip


def in_english(code: str) -> str:
    """The English name of a language; the code itself of one that is not known here."""
    return _NAMES[code][0] if code in _NAMES else code


def with_script(code: str) -> str:
    """A language as three letters and a script, ``deu_Latn``; the code itself of one that is not known here."""
    return _NAMES[code][1] if code in _NAMES else code
