#!/usr/bin/env bash
# `make python`: builds the Python package, installs its wheel into a virtual environment, checks its types and stubs, and
# runs its tests and notebooks there. The tests compare it with the command of the same release build.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
venv=$target/python-venv
wheels=$target/python-wheels
# Another profile builds faster while one works on the package: PROFILE=dev make python.
profile=${PROFILE:-release}
part() { printf '\n-- %s (%s s)\n' "$*" "$SECONDS"; }

part "virtual environment"
[[ -x $venv/bin/pip ]] || python3 -m venv "$venv"
# Groups of dependencies need pip 25.1.
"$venv/bin/pip" install --quiet --upgrade pip
"$venv/bin/pip" install --quiet 'maturin>=1.11,<2' --group python/pyproject.toml:test

part "build ($profile)"
# With the features of the package, so that the wheel is built from the same libraries.
cargo build --profile "$profile" --quiet -p nandscope -p nandscope-python --bins
rm -rf "$wheels"
"$venv/bin/maturin" build --profile "$profile" --quiet --manifest-path python/Cargo.toml --generate-stubs \
    --interpreter "$venv/bin/python" --out "$wheels"
"$venv/bin/pip" install --quiet --force-reinstall --no-deps "$wheels"/*.whl

# The package that is installed is meant from here on, not the sources in python/.
part "types and stubs"
"$venv/bin/mypy" --config-file python/pyproject.toml --package nandscope
"$venv/bin/python" -m mypy.stubtest --mypy-config-file python/pyproject.toml --concise nandscope._native

part "tests"
"$venv/bin/pytest" -c python/pyproject.toml --rootdir python python/tests

part "notebooks"
"$venv/bin/python" scripts/run-notebooks.py python/notebooks/*.ipynb
printf '\nmake python: %s s\n' "$SECONDS"
