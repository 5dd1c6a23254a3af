"""A binary file as KenLM's build_binary writes it, of order 2 for the lines ``a b`` and ``a``."""

import base64
import zlib

WORDS, UNIGRAMS = 5, 220
"""The number of its words, and where their probabilities begin."""

DATA = zlib.decompress(
    base64.b64decode(
        "eNrLzU0sUMjJVcgoKSmw0tfPzkhNTMtMzUnRS87P1U/OT0lVSMsvyk0sUShLLSrOzM9TMOViQIAGeyCxnxFI/AcCkAgjVIYJTB6wRxZj"
        "hdIsDKgAJF5Qp7jXsq0UrFYwO/vyJXFxdmYG3IAr5/vH2uIH2SB7zLW0JtX+6X6Fbu4Lg/T9IEeC2LMVZu2bI3HLDsSfrSBlD+LDaJh6jk9M"
        "GS0bjYWB6vY1Fr39UFtd03qVJXCf2Hmvz+tqsiR2X9y+D5d7NNvML+w51KzwYqHaPpvSvGw7BptiINYHEokMSQwAo7JSCA=="
    )
)
