"""Building benchmarks from real text: known n-grams, the pool scan, selection and the release."""
