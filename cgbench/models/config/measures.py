"""The names of the uncertainty measures, which :mod:`cgbench.models.uncertainty` defines."""

DISTRIBUTION = (
    "expected_entropy",
    "entropy_of_expected",
    "mutual_information",
    "epkl",
    "rmi",
    "ep_entropy_of_expected",
    "ep_mutual_information",
    "ep_epkl",
    "ep_rmi",
)
POINTWISE = ("token_du", "token_pe_tu", "token_ep_tu", "token_pe_mkl", "token_ep_mkl")
TOKEN_MEASURES = DISTRIBUTION + POINTWISE
SEQUENCE_ONLY = (
    "pe_stu",
    "ep_stu",
    "sdu",
    "pe_smkl",
    "ep_smkl",
    "var",
    "combo",
    "logvar",
    "logcombo",
    "log_prob",
)
SEQUENCE_MEASURES = TOKEN_MEASURES + SEQUENCE_ONLY
DISAGREEMENT = (
    *("mutual_information", "epkl", "rmi", "ep_mutual_information", "ep_epkl", "ep_rmi"),
    *("token_pe_mkl", "token_ep_mkl", "pe_smkl", "ep_smkl", "var", "combo", "logvar", "logcombo"),
)
"""Measures of disagreement, which are constant up to rounding with one member."""
