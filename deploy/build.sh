#!/bin/sh
# Installs Passway with its locked dependencies into an own environment: sh deploy/build.sh FOLDER
set -eu
cd "$(dirname "$0")/.."
prefix=$1
python3 -m venv "$prefix"
"$prefix/bin/pip" install --quiet --no-cache-dir --disable-pip-version-check --require-hashes \
  -r requirements/server.lock
# The wheel is made apart, so that what makes it is not in the image.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --no-cache-dir --disable-pip-version-check --require-hashes \
  -r requirements/build.lock
"$scratch/venv/bin/pip" wheel --quiet --no-cache-dir --disable-pip-version-check --no-deps \
  --no-build-isolation --wheel-dir "$scratch/wheels" .
"$prefix/bin/pip" install --quiet --no-cache-dir --disable-pip-version-check --no-deps "$scratch"/wheels/*.whl
"$prefix/bin/passway" version
