"""Slow, obvious definitions of what the lexicon learners and GECA must give."""

import itertools
import math
import random
from collections import Counter, defaultdict


def random_pairs(seed, pairs=12, words=5, longest=5, shortest=0):
    draw = random.Random(seed)
    return [
        tuple(
            " ".join(draw.choice(side[:words]) for _ in range(draw.randint(shortest, longest)))
            for side in SIDES
        )
        for _ in range(pairs)
    ]


SIDES = "abcdefgh", "ABCDefgh"  # some words are on both sides


def sets(pairs):
    return [(set(source.split()), set(target.split())) for source, target in pairs]


def meeting_words(pairs):
    """Every source and target word that occur in one pair, and in how many."""
    return Counter((v, w) for x, y in sets(pairs) for v in x for w in y)


def simple(pairs, epsilon):
    """Equations 15 to 20, as in the authors' code."""
    seen = sets(pairs)
    together = meeting_words(pairs)

    def sufficient(v, w):
        return all(w in y for x, y in seen if v in x)

    def necessary(v, w):
        return all(v in x for x, y in seen if w in y)

    entries = defaultdict(dict)
    for w in {w for _, w in together}:
        candidates = [v for v in {v for v, _ in together} if sufficient(v, w)]
        winners = [v for v in candidates if necessary(v, w)]
        if len(candidates) > epsilon:
            continue
        for v in winners if len(winners) == 1 else candidates:
            entries[v][w] = together[v, w] + (v == w)
    return dict(entries)


def pmi(pairs):
    seen = sets(pairs)
    together = meeting_words(pairs)
    c_v = Counter(v for x, _ in seen for v in x)
    c_w = Counter(w for _, y in seen for w in y)
    entries = {}
    for v in c_v:
        row = {
            w: math.log(together[v, w] or 1e-7) - math.log(c_v[v] + 1e-7) - math.log(c_w[w] + 1e-7)
            for w in c_w
        }
        total = sum(math.exp(s) for s in row.values())
        entries[v] = {w: 100 * math.exp(s) / total for w, s in row.items()}
    return entries


def ibm_weights(pairs, iterations=5, diagonal=None):
    """fast_align on one direction, from the first side of each pair to the second.

    ``diagonal``: (tension, probability of the empty word), or None for Model 1. Returns for each
    pair and made word the weights of the empty word and of each given word, and the final tension.
    """
    text = [(x.split(), y.split()) for x, y in pairs]
    t = defaultdict(lambda: 1e-9)
    tension, null = diagonal or (0, 0)

    def prior(i, j, n, m):
        """Of the link from made word j to given word i, both from 1; i = 0 is the empty word."""
        if not diagonal:
            return 1 / (n + 1)
        if i == 0:
            return null
        near = [math.exp(-tension * abs(k / n - j / m)) for k in range(1, n + 1)]
        return (1 - null) * near[i - 1] / sum(near)

    def weights(x, y, j):
        return [t[v, y[j]] * prior(i, j + 1, len(x), len(y)) for i, v in enumerate([None, *x])]

    for iteration in range(iterations - 1):
        counts, distance = Counter(), 0.0
        for x, y in text:
            for j, w in enumerate(y):
                row = weights(x, y, j)
                for i, v in enumerate([None, *x]):
                    counts[v, w] += row[i] / sum(row)
                    if i:
                        distance -= (
                            abs(i / len(x) - j / len(y)) * row[i] / sum(row)
                        )  # j from 0, as fast_align does
        totals = Counter()
        for (v, _), n in counts.items():
            totals[v] += n
        t.clear()
        t.update({(v, w): n / totals[v] for (v, w), n in counts.items()})
        if diagonal and iteration:
            words = sum(len(y) for _, y in text)
            tension = tighter(tension, distance / words, [(len(x), len(y)) for x, y in text])
    return [[weights(x, y, j) for j in range(len(y))] for x, y in text], tension


def tighter(tension, measured, lengths):
    """Eight steps of fast_align towards the tension under which links are as near the diagonal as
    ``measured``.
    """
    words = sum(m for _, m in lengths)
    for _ in range(8):
        predicted = 0.0
        for n, m in lengths:
            for j in range(1, m + 1) if n else ():
                distances = [-abs(i / n - j / m) for i in range(1, n + 1)]
                weights = [math.exp(tension * distance) for distance in distances]
                predicted += sum(d * w for d, w in zip(distances, weights, strict=True)) / sum(
                    weights
                )
        tension = min(max(tension + 20 * (measured - predicted / words), 0.1), 14.0)
    return tension


def log_posterior(lexicon, pairs, alpha, gamma, kappa):
    """Of a set of pairs of words, up to a constant: equation 14."""
    vocabulary = {v for x, _ in pairs for v in x.split()}
    entered = {v for v, _ in lexicon}
    alone = {v: kappa if v in entered else 1.0 for v in vocabulary}
    result = -alpha * len(lexicon)
    for x, y in pairs:
        for v in x.split():
            refers = sum(
                1 / sum(u == w for _, u in lexicon) for w in y.split() if (v, w) in lexicon
            )
            result += math.log((1 - gamma) * alone[v] / sum(alone.values()) + gamma * refers)
    return result


def posterior(pairs, alpha, gamma, kappa):
    """The probability that each pair of words is in the lexicon, by going through all lexicons."""
    candidates = sorted(meeting_words(pairs))
    weight = {
        lexicon: math.exp(log_posterior(set(lexicon), pairs, alpha, gamma, kappa))
        for size in range(len(candidates) + 1)
        for lexicon in itertools.combinations(candidates, size)
    }
    total = sum(weight.values())
    return {
        pair: sum(w for lexicon, w in weight.items() if pair in lexicon) / total
        for pair in candidates
    }


def templates(pairs, size, max_length=0):
    """Every template of a text with the tuples of fragments that it fits; sequences are tuples of
    words and holes.
    """
    fits = defaultdict(set)

    def replaced(sequence, fragment, hole):
        out, i = [], 0
        while i < len(sequence):
            if sequence[i : i + len(fragment)] == fragment:
                out.append(hole)
                i += len(fragment)
            else:
                out.append(sequence[i])
                i += 1
        return tuple(out)

    def go(sequence, begin, used):
        for n in range(1, size + 1):
            for i in range(begin, len(sequence) + 1 - n):
                fragment = sequence[i : i + n]
                if (
                    "##" in fragment
                    or {0, 1} & {*fragment}
                    or any(set(fragment) & set(other) for other in used)
                ):
                    continue
                template = replaced(sequence, fragment, len(used))
                fits[template].add((*used, fragment))
                if len(used) + 1 < 2:
                    go(template, i + 1, (*used, fragment))

    for source, target in pairs:
        joint = (*source.split(), "##", *target.split())
        if not max_length or len(joint) < max_length:
            go(joint, 0, ())
    return fits


def candidates(fits):
    """Of each template the tuples that may go in, as often as they are seen beside one of its
    own.
    """

    found = {}
    for template, own in fits.items():
        drawn = Counter(
            b
            for other, tuples in fits.items()
            if other != template and len(tuples) > 1 and tuples & own
            for b in tuples
            if b not in own and not all(set(b) & set(a) for a in own)
        )
        found[template] = drawn
    return found


def geca(pairs, **settings):
    """All new pairs."""
    seen = [{pair[side] for pair in pairs} for side in (0, 1)]
    new = set()
    for template, drawn in candidates(templates(pairs, **settings)).items():
        border = template.index("##")
        x, y = template[:border], template[border + 1 :]
        holes = {token for token in template if isinstance(token, int)}
        for fragments in drawn:
            if holes != set(range(len(fragments))) or not all(holes & set(side) for side in (x, y)):
                continue
            filled = tuple(
                " ".join(
                    word
                    for token in side
                    for word in (fragments[token] if isinstance(token, int) else (token,))
                )
                for side in (x, y)
            )
            if all(side not in known for side, known in zip(filled, seen, strict=True)):
                new.add(filled)
    return new
