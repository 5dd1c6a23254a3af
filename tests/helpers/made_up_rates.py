"""What the parts of a build take, made up: nothing is timed."""

from cgbench.benchmark.cost.rates import ModelRates, Rates, Texts, TextSize

MODELS = ModelRates(
    subwords=1e-4, encode=1e-4, update=0.1, pairs=100.0, parameters=1_000_000, candidate=0.02, row=1000.0, memory=10**9
)
RATES = Rates(normalise=0.0, learn=1e-8, ngrams=0.5, scan=1e-8, rows=0.3, kept=0.5, words=0.1, start=5.0, models=MODELS)
TEXTS = Texts(TextSize(20_000, 2 * 10**6), TextSize(30_000, 3 * 10**6), TextSize(500, 50_000), (), (), 0.0)
