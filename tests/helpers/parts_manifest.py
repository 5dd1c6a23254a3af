"""The manifest of a small folder of parts, as ``write_parts`` takes it."""

MANIFEST = {
    **{"side": "target", "match": "words", "k": 2, "pieces": "ngrams", "inputs": {}, "test": {}},
    "settings": {"normalisation": {"tokenize": "none", "lowercase": False, "languages": None}},
}
