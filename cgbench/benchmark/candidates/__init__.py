"""The candidates of a benchmark: scan a pool, select candidates, and measure each of them."""
