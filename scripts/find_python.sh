#!/usr/bin/env bash
# Prints a Python >= 3.11 that can make environments: $1 if given, else the first found.
set -u
good() {
  "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}
if [ -n "${1:-}" ]; then
  if good "$1"; then
    echo "$1"
    exit 0
  fi
  echo "PYTHON=$1 is not a Python >= 3.11 with venv; name another" >&2
  exit 1
fi
for python in python3.12 python3.11 python3.13 python3 python; do
  if good "$python"; then
    echo "$python"
    exit 0
  fi
done
echo "no Python >= 3.11 with venv found; install one, or name it with PYTHON=…" >&2
exit 1
