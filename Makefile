PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed

.PHONY: install demo test lint perf clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,dev]'
	touch $@

demo: $(STAMP)
	$(BIN)/cgbench demo --out demo

test: lint
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

perf: $(STAMP)
	$(BIN)/python perf/scan.py --small
	$(BIN)/python perf/score.py

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache demo
