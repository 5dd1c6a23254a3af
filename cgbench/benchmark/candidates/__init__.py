"""The candidates of a benchmark: scan a pool, cut it to the candidates, and measure each of them."""
