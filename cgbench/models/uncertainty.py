"""Uncertainty measures of an ensemble.

The measures are from Malinin and Gales, "Uncertainty estimation in autoregressive structured
prediction" (ICLR 2021), sections 3 and 4, and from their code (structured-uncertainty). At position
t of a hypothesis y of L tokens, including the end token, member m of M has the distribution p_m(v)
= p_m(v | y_<t, x). Logarithms are natural; H is the entropy in nats.

========================  ==========================================================================
name                      value at position t
========================  ==========================================================================
expected_entropy          data uncertainty: mean_m H(p_m)
entropy_of_expected       total uncertainty: H(q), where q = mean_m p_m
mutual_information        entropy_of_expected - expected_entropy = mean_m KL(p_m || q)
epkl                      mean of KL(p_a || p_b) over all M² ordered pairs, including M zeros
rmi                       reverse mutual information: mean_m KL(q || p_m); the default knowledge
                          uncertainty
ep_entropy_of_expected    H(r), where r = sum_m w_m p_m and w_m is proportional to P_m(y_<t), the
                          probability of the prefix under member m ("expectation of products"; the
                          names without ``ep_`` average token by token, "product of expectations")
ep_mutual_information     H(r) - expected_entropy (may be negative)
ep_epkl                   -sum_v r(v) mean_m log p_m(v) - expected_entropy
ep_rmi                    -sum_v r(v) mean_m log p_m(v) - H(r)
token_du                  -mean_m log p_m(y_t): from here on, only of the produced token
token_pe_tu               -log q(y_t)
token_ep_tu               -log r(y_t)
token_pe_mkl              token_du - token_pe_tu
token_ep_mkl              token_du - token_ep_tu
========================  ==========================================================================

A sequence has the means of all of these over its tokens, with the same names, and

========================  ==========================================================================
pe_stu, ep_stu, sdu       means of token_pe_tu, token_ep_tu and token_du: -log mean probability per
                          token
pe_smkl, ep_smkl          sdu - pe_stu, sdu - ep_stu
var, combo                variance over members of P_m(y)^(1/L); -1 + var / (mean_m P_m(y))^(1/L)
logvar, logcombo          variance over members of log P_m(y) / L;
                          -1 + logvar / mean_m(log P_m(y) / L)
log_prob                  log-probability of the sequence under q: -L pe_stu
========================  ==========================================================================

**Names.** structured-uncertainty calls RMI "MKL". Two of its output lines have similar names:
``T-MKL-EP`` is our ``ep_rmi`` (whole distribution), ``T-EP-MKL`` our ``token_ep_mkl`` (produced
token). Their decoder sets the end token's entropies to 0, and has wrong values in batches where a
sentence ends early. Here a finished hypothesis is teacher-forced, so every token counts.

**Zeros.** 0 log 0 is 0. ``rmi`` and ``epkl`` are infinite if only some members give a token
probability 0. Undefined values are NaN: the ``ep_`` measures after a prefix with probability 0
under every member, and differences of two infinities.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cgbench.errors import InputError
from cgbench.models.config.measures import SEQUENCE_MEASURES, TOKEN_MEASURES


def token_measures(log_probs: Any, tokens: Any) -> dict[str, np.ndarray]:
    """Compute every measure at every token of one hypothesis.

    :param log_probs: ``[members, tokens, vocabulary]`` natural log-probabilities, numpy array or
        torch tensor.
    :param tokens: ``[tokens]`` ids of the hypothesis with the end token.
    :returns: the names of :data:`TOKEN_MEASURES`, each a float64 array ``[tokens]``.
    :raises InputError: shapes do not match, ids are outside the vocabulary, or rows are not
        distributions.
    """
    log_p, y = _checked(log_probs, tokens)
    measures = RunningMeasures(torch.from_numpy(y))
    for member in torch.from_numpy(log_p):
        measures.add(member)
    return measures.tokens()


class RunningMeasures:
    """Compute the measures from one member after another.

    Only running sums are stored, so memory hardly grows with the number of members (one
    log-probability per member and token)::

        measures = RunningMeasures(tokens, lengths)
        for model in members:
            measures.add(model(...))
        by_token, by_sequence = measures.tokens(), measures.sequences()

    Adding a member uses six tables ``[T, vocabulary]``; it is fastest if they fit into the cache.

    :param tokens: ``[T]`` ids of the hypotheses, concatenated.
    :param lengths: ``[N]`` their lengths (sum T); default: one hypothesis.
    """

    def __init__(self, tokens: Tensor, lengths: Tensor | Sequence[int] | None = None):
        self._tokens = tokens.long()
        self._lengths = torch.as_tensor([len(tokens)] if lengths is None else lengths).cpu().long()
        if lengths is not None and (
            int(self._lengths.sum()) != len(tokens) or bool((self._lengths < 1).any())
        ):
            raise ValueError(
                f"lengths must be at least 1 and add up to the number of tokens ({len(tokens)})"
            )
        sequence = torch.repeat_interleave(self._lengths)
        start = self._lengths.cumsum(0) - self._lengths
        self._place = (
            sequence.to(tokens.device),
            (torch.arange(len(tokens)) - start[sequence]).to(tokens.device),
        )
        self._chosen: list[Tensor] = []

    def add(self, logits: Tensor) -> None:
        """Add one member's logits (or log-probabilities) ``[T, vocabulary]``.

        Sums are in float64 for float64 logits, else in float32.
        """
        if logits.ndim != 2 or len(logits) != len(self._tokens):
            raise ValueError(
                f"logits are {list(logits.shape)}; [{len(self._tokens)}, vocabulary] was expected"
            )
        log_p = torch.log_softmax(
            logits, 1, dtype=torch.float64 if logits.dtype == torch.float64 else torch.float32
        )
        if not self._chosen:
            self._p, self._log_p, self._ep = (torch.zeros_like(log_p) for _ in range(3))
            self._entropy = torch.zeros_like(log_p[:, 0])
            self._scale = torch.full_like(self._entropy, -torch.inf, dtype=torch.float64)
        p = log_p.exp()
        chosen = log_p.gather(1, self._tokens[:, None])[:, 0].double()
        weight, decay = (
            factor[:, None].to(p.dtype) for factor in self._reweigh(self._before(chosen))
        )
        self._p += p
        self._log_p += log_p
        if bool((decay != 1).any()):
            self._ep *= decay
        self._ep.addcmul_(p, weight)
        self._entropy -= _dot(p, log_p)
        self._chosen.append(chosen)

    def tokens(self) -> dict[str, np.ndarray]:
        """Every measure of :data:`TOKEN_MEASURES`, each a float64 array ``[T]``."""
        members = len(self._chosen)
        if not members:
            raise ValueError("no member was added")
        values = {
            "expected_entropy": self._entropy.double() / members,
            "token_du": -torch.stack(self._chosen).mean(0),
        }
        for ep, total in (("", self._p), ("ep_", self._ep)):
            mixture = total / (total.sum(1, keepdim=True) if ep else members)
            log_mixture = mixture.log()
            values[f"token_{ep or 'pe_'}tu"] = -log_mixture.gather(1, self._tokens[:, None])[
                :, 0
            ].double()
            values[f"{ep}entropy_of_expected"] = -_dot(mixture, log_mixture).double()
            # A sum of differences: a difference of two large sums would lose digits.
            values[f"{ep}rmi"] = _dot(
                mixture, log_mixture.sub_(self._log_p, alpha=1 / members)
            ).double()
        return derive_tokens({name: value.cpu().numpy() for name, value in values.items()})

    def sequences(self) -> dict[str, np.ndarray]:
        """Every measure of :data:`SEQUENCE_MEASURES`, each a float64 array ``[N]``."""
        return derive_sequences(
            self.tokens(), torch.stack(self._chosen).cpu().numpy(), self._lengths.numpy()
        )

    def _before(self, chosen: Tensor) -> Tensor:
        """``[T]`` -> the sum over the tokens before each one in its sequence ``[T]``."""
        sequence, position = self._place
        table = chosen.new_zeros(len(self._lengths), int(self._lengths.max()) + 1)
        table[sequence, position + 1] = chosen
        return table.cumsum(1)[sequence, position]

    def _reweigh(self, log_prefix: Tensor) -> tuple[Tensor, Tensor]:
        """A member's weight P_m(y_<t) ``[T]``, and the factor for the sum over the previous members
        ``[T]``.

        Weights are relative to the largest so far, because absolute ones underflow after a few
        dozen tokens.
        """
        before, self._scale = self._scale, torch.maximum(self._scale, log_prefix)
        possible = torch.isfinite(self._scale)
        weight, decay = (
            torch.exp(log - self._scale).where(possible, 0.0) for log in (log_prefix, before)
        )
        return weight, decay


def _checked(log_probs: Any, tokens: Any) -> tuple[np.ndarray, np.ndarray]:
    log_p = (
        log_probs.detach().cpu().to(torch.float64).numpy()
        if isinstance(log_probs, Tensor)
        else log_probs
    )
    y = np.asarray(tokens.detach().cpu() if isinstance(tokens, Tensor) else tokens)
    try:
        log_p = np.asarray(log_p, np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "log_probs must be an array of numbers, [members, tokens, vocabulary]"
        ) from None
    if log_p.ndim != 3 or not len(log_p):
        raise InputError(
            f"log_probs has shape {log_p.shape}; [members, tokens, vocabulary] was expected"
        )
    if y.shape != log_p.shape[1:2]:
        raise InputError(
            f"tokens has shape {y.shape}; log_probs {log_p.shape} needs [{log_p.shape[1]}]"
        )
    if y.size and not np.issubdtype(y.dtype, np.integer):
        raise InputError(f"tokens must be whole numbers, not {y.dtype}")
    if y.size and (y.min() < 0 or y.max() >= log_p.shape[2]):
        raise InputError(f"tokens must be ids from 0 to {log_p.shape[2] - 1}")
    # Tolerates log-probabilities rounded to bfloat16; logits and probabilities are far outside.
    if not np.all(np.abs(np.exp(log_p).sum(2) - 1) < 0.1):
        raise InputError(
            "log_probs must be natural log-probabilities; exp of some row does not sum to 1"
        )
    return log_p, y.astype(np.int64)


def _dot(p: Tensor, x: Tensor) -> Tensor:
    """Row-wise dot products ``[rows]``; p = 0 adds 0."""
    rows = (p * x).sum(1)
    # Only 0 times infinity needs this, which a softmax in float32 hardly ever gives.
    odd = rows.isnan()
    if bool(odd.any()):
        rows[odd] = torch.where(p[odd] == 0, 0, p[odd] * x[odd]).sum(1)
    return rows


def derive_tokens(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Complete the token measures with sums and differences; clip rounding errors below 0.

    :param values: the expected entropy, ``token_du``, and of each mixture the entropy, RMI and
        ``token_*_tu``.
    """
    for ep in ("", "ep_"):
        information = values[f"{ep}entropy_of_expected"] - values["expected_entropy"]
        values[f"{ep}mutual_information"] = information
        values[f"{ep}epkl"] = information + values[f"{ep}rmi"]
    for name in ("mutual_information", "epkl", "rmi", "ep_rmi"):
        values[name] = np.maximum(values[name], 0.0)
    with np.errstate(invalid="ignore"):
        values["token_pe_mkl"] = np.maximum(values["token_du"] - values["token_pe_tu"], 0.0)
        values["token_ep_mkl"] = values["token_du"] - values["token_ep_tu"]
    return {name: values[name] for name in TOKEN_MEASURES}


def derive_sequences(
    values: dict[str, np.ndarray], chosen: np.ndarray, lengths: np.ndarray
) -> dict[str, np.ndarray]:
    """Sequence measures ``[N]`` from token measures ``[T]`` and members' token log-probabilities
    ``[M, T]``.
    """
    start = np.cumsum(lengths) - lengths
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        result = {name: np.add.reduceat(value, start) / lengths for name, value in values.items()}
        per_token = np.add.reduceat(chosen, start, axis=1) / lengths  # log P_m(y) / L, [M, N]
        highest = per_token.max(0)
        mean = np.exp((per_token - highest) * lengths).mean(0)
        result["pe_stu"] = result["token_pe_tu"].copy()
        result["ep_stu"] = -(highest + np.log(mean) / lengths)
        result["sdu"] = -per_token.mean(0)
        result["pe_smkl"] = np.maximum(result["sdu"] - result["pe_stu"], 0.0)
        result["ep_smkl"] = np.maximum(result["sdu"] - result["ep_stu"], 0.0)
        result["var"] = np.exp(per_token).var(0)
        result["combo"] = _ratio(result["var"], np.exp(-result["ep_stu"])) - 1
        result["logvar"] = per_token.var(0)
        result["logcombo"] = _ratio(result["logvar"], -result["sdu"]) - 1
        result["log_prob"] = -np.add.reduceat(values["token_pe_tu"], start)
    return {name: result[name] for name in SEQUENCE_MEASURES}


def _ratio(variance: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """``variance / mean``, or 0 for variance 0."""
    return np.divide(variance, mean, where=variance != 0, out=np.zeros_like(variance))
