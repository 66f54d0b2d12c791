#!/usr/bin/env bash
# Builds the tree as the suite does: warnings are errors, and ccache is used where it is installed.
#
#   tests/build.sh FOLDER TYPE [TARGET …]     such as: tests/build.sh build/debug Debug
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1
type=$2
shift 2

options=(-G Ninja -DCMAKE_BUILD_TYPE="$type" -DPOSTHORN_WERROR=ON)
if command -v ccache >/dev/null; then
    options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    # Clones in other folders find what this one compiled.
    export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}
fi
cmake -S . -B "$folder" "${options[@]}"
cmake --build "$folder" ${1:+--target "$@"}
