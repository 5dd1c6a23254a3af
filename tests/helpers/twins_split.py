"""Slow, obvious twins of what measures and makes splits."""

from collections import Counter


def chernoff(first, second, alpha):
    """The coefficient by its definition, over two lists of counts."""
    if not sum(first) or not sum(second):
        return 0.0
    total = 0.0
    for p, q in zip(first, second, strict=True):
        if p and q:
            total += (p / sum(first)) ** alpha * (q / sum(second)) ** (1 - alpha)
    return total


def ngram_weights(lines, orders):
    """Weights of n-grams by Keysers et al. 2020: a dict an example, over every larger n-gram, of
    whatever order.
    """
    occurrences = []  # (line, start, end, words)
    for number, line in enumerate(lines):
        words = line.split()
        occurrences += [
            (number, at, at + order, tuple(words[at : at + order]))
            for order in orders
            for at in range(len(words) - order + 1)
        ]

    def holds(whole, one):
        inside = whole[0] == one[0] and whole[1] <= one[1] and one[2] <= whole[2]
        return inside and whole[1:3] != one[1:3]

    totals = Counter(one[3] for one in occurrences)
    within = Counter()
    for one in occurrences:
        for name in {whole[3] for whole in occurrences if holds(whole, one)}:
            within[one[3], name] += 1
    weights = [{} for _ in lines]
    for one in occurrences:
        shares = [
            within[one[3], whole[3]] / totals[one[3]] for whole in occurrences if holds(whole, one)
        ]
        weight = 1 - max(shares, default=0.0)
        found = weights[one[0]]
        found[" ".join(one[3])] = max(found.get(" ".join(one[3]), 0.0), weight)
    return [{name: weight for name, weight in row.items() if weight} for row in weights]


class Draws:
    """SplitMix64 over Python's whole numbers."""

    def __init__(self, state):
        self.state = int(state)

    def below(self, limit):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        value = self.state
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
        value ^= value >> 31
        return ((value >> 32) * limit) >> 32


def score(rows, side_of, goal):
    """The score of a split: every count and both divergences from nothing."""
    found = []
    for occurrences, alpha in zip(rows, (0.5, 0.1), strict=True):
        sums = [Counter(), Counter()]
        for example, side in side_of.items():
            sums[side].update(occurrences[example])
        names = sorted({*sums[0], *sums[1]})
        train, test = ([one[name] for name in names] for one in sums)
        found.append(1 - chernoff(train, test, alpha))
    target, limit, weight, exact = goal
    excess = abs(found[0] - limit) if exact else max(0.0, found[0] - limit)
    if weight == float("inf"):  # a bound: outside it how near it is, within it the target
        return (
            -2_000_000_000 - round(excess * 1e9)
            if round(excess * 1e9)
            else round(-abs(found[1] - target) * 1e9)
        )
    return round((-abs(found[1] - target) - weight * excess) * 1e9)


def grown(rows, order, draws, goal, wanted, candidates, given=(), *, moving=False):
    """Two sets, grown greedily: a dict from example to side."""
    pool, side_of = list(order), dict.fromkeys(given, 0)
    sizes, members = [0, 0], [[], []]
    while sizes != list(wanted):
        side = 0 if sizes[0] * wanted[1] <= sizes[1] * wanted[0] else 1
        if sizes[side] >= wanted[side]:
            side = 1 - side
        drawn = min(candidates, len(pool))
        for number in range(drawn):
            place = number + draws.below(len(pool) - number)
            pool[number], pool[place] = pool[place], pool[number]
        scores = [
            (-score(rows, side_of | {one: side}, goal), one, at)
            for at, one in enumerate(pool[:drawn])
        ]
        _, one, at = min(scores)
        side_of[one] = side
        sizes[side] += 1
        pool[at] = pool[-1]
        pool.pop()
        members[side].append(one)
        if moving and sum(sizes) % 5 == 0:
            for source in (0, 1):
                if sizes[source] > 1 and sizes[1 - source] < wanted[1 - source]:
                    moved_best(
                        rows, side_of, sizes, members, source, draws, goal, max(1, candidates // 2)
                    )
    return side_of


def moved_best(rows, side_of, sizes, members, side, draws, goal, candidates):
    """The best of some examples of a side goes to the other one, if that helps; all arguments are
    changed.
    """
    row = members[side]
    drawn = min(candidates, len(row))
    for number in range(drawn):
        place = number + draws.below(len(row) - number)
        row[number], row[place] = row[place], row[number]
    scores = [
        (-score(rows, side_of | {one: 1 - side}, goal), one, at)
        for at, one in enumerate(row[:drawn])
    ]
    found, one, at = min(scores)
    if -found <= score(rows, side_of, goal):
        return
    side_of[one] = 1 - side
    row[at] = row[-1]
    row.pop()
    members[1 - side].append(one)
    sizes[side] -= 1
    sizes[1 - side] += 1


def exchanged(rows, side_of, draws, goal, tries, covered, sets=None):
    """Random exchanges, each kept if it helps.

    ``sets``: training and test set as lists, in the order that an earlier call left them in;
    changed.
    """
    train, test = sets or [
        sorted(one for one, side in side_of.items() if side == which) for which in (0, 1)
    ]

    def lone(sides):
        sums = [set(), set()]
        for example, side in sides.items():
            sums[side] |= set(rows[0][example])
        return len(sums[1] - sums[0])

    best = score(rows, side_of, goal)
    for _ in range(tries):
        first, second = draws.below(len(train)), draws.below(len(test))
        tried = side_of | {train[first]: 1, test[second]: 0}
        found = score(rows, tried, goal)
        if found > best and not (covered and lone(tried) > lone(side_of)):
            best, side_of = found, tried
            train[first], test[second] = test[second], train[first]
    return side_of
