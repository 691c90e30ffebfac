# The project's commands. CONTRIBUTING.md and .ci/run use the same ones.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
HOST_TESTS = $(wildcard $(foreach name,hosts objective edge_cases entry_points estimators dask \
	model_files features export traps stopping,tests/test_$(name).py))
KERNEL_TESTS = $(foreach name,derivatives edge_cases blocks pairwise preferences,tests/test_$(name).py)
QUICK_TESTS = $(foreach name,objective derivatives edge_cases,tests/test_$(name).py)
EXAMPLES = tests/test_docs.py tests/test_notebooks.py
GOLDEN = tests/test_determinism.py::test_numbers_are_those_of_the_golden_file
CODE = $(shell find boostrank objectives tests -name '*.py')

# Some machines set this variable. Every test process would then recompile each module that it
# imports, which takes half of a command's time.
unexport PYTHONDONTWRITEBYTECODE

PYTEST = $(BIN)/python -m pytest -q -n auto
# Kernels run as Python functions: nothing to compile, but too slow for long lists.
INTERPRETED = NUMBA_DISABLE_JIT=1 $(PYTEST) -m 'not compiled' -W ignore::RuntimeWarning

.PHONY: help demo quick test compiled check examples oldest test-min test-max install-check lint type coverage boundscheck processors \
	fuzz mutate hosts-own bench notebooks docs release-check clean
.DEFAULT_GOAL := help

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */\1\t/' | expand -t 12

# The environment has xgboost-cpu (20 MB): xgboost itself brings 350 MB of GPU libraries.
$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[dev]'
	touch $@

demo: $(INSTALLED) ## seven objectives on both hosts, on embedded data: table, CSV and figures
	$(BIN)/boostrank compare --out out/demo \
		--objective blend,sdcg,shf-sdcg,reg-shf-sdcg,lambdarank,gbrank,regression

quick: lint ## after every edit: style, and the mathematics in the interpreter (under a minute)
	$(INTERPRETED) $(QUICK_TESTS)

# In parallel, so that no core is idle while one of the two waits for its last test.
test: lint ## what every change must pass: style, types, and the tests with compiled kernels
	$(MAKE) -j2 type compiled

compiled: $(INSTALLED)
	$(compiled_pass)

check: $(INSTALLED) ## after 'make test': coverage, index checks, oldest versions, examples, the site
	$(MAKE) -j2 --output-sync coverage boundscheck oldest docs examples

# The golden numbers come first: one worker compiles each loss, and the others find it in the cache.
define compiled_pass
	$(PYTEST) --maxschedchunk 1 $(GOLDEN)
	$(PYTEST) --dist worksteal --cov --cov-report= --cov-fail-under=0 $(EXAMPLES:%=--ignore=%)
endef

# Coverage of the compiled pass, which `make test` has just written.
.cache/coverage: $(INSTALLED) $(CODE)
	$(compiled_pass)

# Compiled kernels cannot be traced, so a second run counts their lines in the interpreter.
coverage: .cache/coverage ## the share of lines that the tests reach: at least 95 %
	$(INTERPRETED) --cov --cov-append $(KERNEL_TESTS)

# Long lists only: for short ones NumPy checks every index in the interpreter.
# NUMBA_OPT=1 finds the same indices in slower code, which takes a seventh less time to compile.
boundscheck: $(INSTALLED) ## kernel tests on long lists, which stop at an index out of bounds
	NUMBA_BOUNDSCHECK=1 NUMBA_OPT=1 $(PYTEST) -m compiled -k 'long or length or million' $(KERNEL_TESTS)

examples: $(INSTALLED) ## run the code in the README, pages, scripts and notebooks
	$(PYTEST) $(EXAMPLES)

# Argument types are looked up in NumPy at import, and NumPy 1 lacks some names of NumPy 2.
oldest: $(INSTALLED) ## import and a gradient with the oldest NumPy and Numba
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .cache/oldest
	$(BIN)/uv pip install --quiet --python .cache/oldest --resolution lowest-direct .
	cd .cache && oldest/bin/python -c \
		"from boostrank import RankNet; RankNet().grad_hess([0.0, 0.0], [1, 0], [2])"

# Every package at the lowest version in pyproject.toml. Old packages warn about new ones.
test-min: ## host tests with the oldest supported versions
	$(PYTHON) -m venv --clear .venv-min
	.venv-min/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-min/bin/uv pip install --quiet --python .venv-min/bin/python \
		--resolution lowest-direct --editable '.[dev]'
	.venv-min/bin/python -m pytest -W default $(HOST_TESTS)

test-max: ## host tests with the newest versions (PYTHON=python3.13: they need 3.12 or later)
	$(PYTHON) -m venv --clear .venv-max
	.venv-max/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	.venv-max/bin/python -m pytest $(HOST_TESTS)

install-check: ## each install line of README, then its first command, in a fresh environment (minutes)
	$(PYTHON) tests/install_check.py

lint: $(INSTALLED) ## style of code and notebooks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# mypy cannot follow the editable installation, so it checks an installed copy from another folder.
type: $(INSTALLED) ## static types
	rm -rf .cache/typed build && mkdir -p .cache/typed
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --target .cache/typed .
	cd .cache/typed && MYPYPATH=. ../../$(BIN)/mypy --config-file ../../pyproject.toml \
		--cache-dir ../mypy --python-executable ../../$(BIN)/python -p boostrank

# Needs checkouts of the installed versions: make hosts-own LIGHTGBM=../LightGBM XGBOOST=../xgboost.
# XGBoost's class TestRanking downloads its data. tests/hosts_own.py lists what must differ.
OWN_TESTS = PYTHONPATH=$(CURDIR)/tests $(abspath $(BIN))/python -m pytest -q -p hosts_own -W ignore
hosts-own: $(INSTALLED) ## the hosts' own ranking tests with our objectives (LIGHTGBM=, XGBOOST=: sources)
	cd $(LIGHTGBM)/tests/python_package_test && $(OWN_TESTS) test_sklearn.py test_engine.py \
		-k '(rank or xendcg) and not feature_names and not data_types'
	cd $(XGBOOST)/tests/python && $(OWN_TESTS) test_ranking.py

# Names that LLVM knows; this processor must have their instructions. Compilers vectorise differently for
# each, and numbers that hang on a last bit have differed on one of them alone. Exponentials have their
# last bits only where multiplications and additions are fused, which generic does not do.
PROCESSORS = generic haswell skylake-avx512 znver4
processors: $(INSTALLED) ## the mathematics as it is compiled for other processors (PROCESSORS=names, minutes)
	for name in $(PROCESSORS); do echo "$$name:"; \
		NUMBA_CPU_NAME=$$name NUMBA_CPU_FEATURES="" $(PYTEST) tests/test_oracle.py \
			tests/test_derivatives.py tests/test_blocks.py tests/test_determinism.py \
			-k 'not exponentials_and_logarithms' || exit 1; done

# Six tests, each with fifty times as many cases as in `make test`: 127,500, new ones in every run.
fuzz: $(INSTALLED) ## over 100,000 random cases: arguments, data files, what hosts accept
	$(BIN)/python -m pytest -n auto --hypothesis-profile fuzz tests/test_fuzz*.py

mutate: $(INSTALLED) ## plant 5,400 faults in objectives/ one by one: the tests must find them (hours)
	$(BIN)/python tests/mutate.py

bench: $(INSTALLED) ## our objectives against the hosts' built-ins, as ratios
	$(BIN)/boostrank bench --out out/bench

notebooks: $(INSTALLED) ## execute every notebook
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[notebooks]'
	for notebook in $(wildcard notebooks/*.ipynb); do \
		$(BIN)/jupyter nbconvert --to notebook --execute --inplace \
			--ExecutePreprocessor.record_timing=False "$$notebook" || exit 1; done

# Its figures need short lists only: compiling the kernels would take three times as long as the site.
docs: $(INSTALLED) ## the documentation site, into out/docs, strictly
	rm -rf out/docs docs/objectives
	NUMBA_DISABLE_JIT=1 $(BIN)/python -W ignore::RuntimeWarning -m sphinx -q -W -b html -d .cache/docs docs out/docs

release-check: ## build and check the package, install it in empty environments, run the README's code
	$(PYTHON) tests/release.py

clean: ## remove everything that these commands have made
	rm -rf .venv .venv-min .venv-max .cache .hypothesis out build dist docs/objectives *.egg-info
