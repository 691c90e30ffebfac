# One list of commands, the same here, in CONTRIBUTING.md and in .ci/run.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
HOST_TESTS = $(wildcard $(foreach name,hosts objective edge_cases entry_points estimators dask, \
	tests/test_$(name).py))
KERNEL_TESTS = $(foreach name,derivatives edge_cases blocks pairwise preferences,tests/test_$(name).py)
QUICK_TESTS = $(foreach name,objective derivatives edge_cases,tests/test_$(name).py)
EXAMPLES = tests/test_docs.py tests/test_notebooks.py
GOLDEN = tests/test_determinism.py::test_numbers_are_those_of_the_golden_file
CODE = $(shell find boostrank objectives tests -name '*.py')

# Some machines set it. Every process of the tests would then compile all that it imports, which
# takes half of a command's time.
unexport PYTHONDONTWRITEBYTECODE

PYTEST = $(BIN)/python -m pytest -q -n auto
# Kernels as Python functions: nothing to compile, but no loop over long lists either.
INTERPRETED = NUMBA_DISABLE_JIT=1 $(PYTEST) -m 'not compiled' -W ignore::RuntimeWarning

.PHONY: help demo quick test compiled check examples oldest test-min test-max lint type coverage boundscheck fuzz \
	mutate hosts-own bench notebooks docs clean
.DEFAULT_GOAL := help

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */\1\t/' | expand -t 12

# The environment holds the 20 MB xgboost-cpu: xgboost itself brings 350 MB of GPU libraries.
$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[dev]'
	touch $@

demo: $(INSTALLED) ## seven objectives on both hosts, on embedded data: table, CSV and figures
	$(BIN)/boostrank compare --out out/demo \
		--objective blend,sdcg,shf-sdcg,reg-shf-sdcg,lambdarank,gbrank,regression

quick: lint ## style, and the mathematics in the interpreter: for every edit, under a minute
	$(INTERPRETED) $(QUICK_TESTS)

# Side by side, what waits for its last test leaves no core idle.
test: lint ## what a change must pass: style, types and the tests, compiled
	$(MAKE) -j2 type compiled

compiled: $(INSTALLED)
	$(compiled_pass)

check: $(INSTALLED) ## after that: lines reached, every index, old versions, examples, the site
	$(MAKE) -j2 --output-sync coverage boundscheck oldest docs examples

# The golden numbers first: each loss is compiled by one worker, and found by the others.
define compiled_pass
	$(PYTEST) --maxschedchunk 1 $(GOLDEN)
	$(PYTEST) --dist worksteal --cov --cov-report= --cov-fail-under=0 $(EXAMPLES:%=--ignore=%)
endef

# What the compiled pass reached; `make test` has just written it.
.cache/coverage: $(INSTALLED) $(CODE)
	$(compiled_pass)

# Compiled kernels cannot be traced: they are counted in a second run, in the interpreter.
coverage: .cache/coverage ## the share of lines that the tests reach: at least 95 %
	$(INTERPRETED) --cov --cov-append $(KERNEL_TESTS)

# In the interpreter NumPy checks every index of short lists.
# An index is out of bounds in slower code too, which takes a seventh less to compile.
boundscheck: $(INSTALLED) ## tests of the kernels on long lists, which stop at an index out of bounds
	NUMBA_BOUNDSCHECK=1 NUMBA_OPT=1 $(PYTEST) -m compiled -k 'long or length or million' $(KERNEL_TESTS)

examples: $(INSTALLED) ## the code of README, pages, scripts and notebooks
	$(PYTEST) $(EXAMPLES)

# NumPy 1 lacks names of NumPy 2, which types of arguments are looked up in at import.
oldest: $(INSTALLED) ## import and a gradient with the oldest NumPy and Numba
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .cache/oldest
	$(BIN)/uv pip install --quiet --python .cache/oldest --resolution lowest-direct .
	cd .cache && oldest/bin/python -c \
		"from boostrank import RankNet; RankNet().grad_hess([0.0, 0.0], [1, 0], [2])"

# Every version that pyproject.toml names, at its lowest. Old packages warn about new ones.
test-min: ## host tests with the oldest supported versions
	$(PYTHON) -m venv --clear .venv-min
	.venv-min/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-min/bin/uv pip install --quiet --python .venv-min/bin/python \
		--resolution lowest-direct --editable '.[dev]'
	.venv-min/bin/python -m pytest -W default $(HOST_TESTS)

test-max: ## host tests with the newest versions (PYTHON=python3.13: the newest need 3.12)
	$(PYTHON) -m venv --clear .venv-max
	.venv-max/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	.venv-max/bin/python -m pytest $(HOST_TESTS)

lint: $(INSTALLED) ## style of code and notebooks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# mypy does not see through the editable installation: it checks an installed copy, from outside.
type: $(INSTALLED) ## static types
	rm -rf .cache/typed build && mkdir -p .cache/typed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .cache/typed .
	cd .cache/typed && MYPYPATH=. ../../$(BIN)/mypy --config-file ../../pyproject.toml \
		--cache-dir ../mypy --python-executable ../../$(BIN)/python -p boostrank

# Checkouts of the versions that are installed: make hosts-own LIGHTGBM=../LightGBM XGBOOST=../xgboost.
# XGBoost's class TestRanking downloads its data. What must differ stands in tests/hosts_own.py.
OWN_TESTS = PYTHONPATH=$(CURDIR)/tests $(abspath $(BIN))/python -m pytest -q -p hosts_own -W ignore
hosts-own: $(INSTALLED) ## the hosts' own ranking tests with our objectives (LIGHTGBM=, XGBOOST=: sources)
	cd $(LIGHTGBM)/tests/python_package_test && $(OWN_TESTS) test_sklearn.py test_engine.py \
		-k '(rank or xendcg) and not feature_names and not data_types'
	cd $(XGBOOST)/tests/python && $(OWN_TESTS) test_ranking.py

# Six tests, each with fifty times the cases of `make test`: 127,500, others in every run.
fuzz: $(INSTALLED) ## over 100,000 random cases: arguments, data files, what hosts take
	$(BIN)/python -m pytest -n auto --hypothesis-profile fuzz tests/test_fuzz*.py

mutate: $(INSTALLED) ## 4,500 faults planted in objectives/, one at a time (hours); the tests find them
	$(BIN)/python tests/mutate.py

bench: $(INSTALLED) ## our objectives against the hosts' built-ins, as ratios
	$(BIN)/boostrank bench --out out/bench

notebooks: $(INSTALLED) ## execute every notebook
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[notebooks]'
	for notebook in $(wildcard notebooks/*.ipynb); do \
		$(BIN)/jupyter nbconvert --to notebook --execute --inplace \
			--ExecutePreprocessor.record_timing=False "$$notebook" || exit 1; done

# Its figures are of short lists: to compile the kernels would take three times as long as the site.
docs: $(INSTALLED) ## the documentation site, into out/docs, strictly
	rm -rf out/docs
	NUMBA_DISABLE_JIT=1 $(BIN)/python -W ignore::RuntimeWarning -m sphinx -q -W -b html -d .cache/docs docs out/docs

clean: ## remove everything that was made here
	rm -rf .venv .venv-min .venv-max .cache .hypothesis out build dist docs/objectives *.egg-info
