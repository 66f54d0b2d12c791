#!/usr/bin/env bash
# The test suite on a fresh Debian 12: installs what it needs, builds, tests. Ends with 'N passed, M failed'; the log of
# each step is in build/test-logs. Arguments choose steps by name.
set -uo pipefail
cd "$(dirname "$0")/.."

mkdir -p build/test-logs
bash tests/setup.sh || exit 1
. tests/node22.sh
root=$posthorn_root
export POSTHORN_REPLIES_LOG=$root/build/test-logs/replies.jsonl
rm -f "$POSTHORN_REPLIES_LOG"
passed=0
failed=0
chosen=("$@")

wanted() {
    [ ${#chosen[@]} -eq 0 ] && return 0
    local name
    for name in "${chosen[@]}"; do [ "$name" = "$1" ] && return 0; done
    return 1
}

# step NAME COMMAND…: runs it, says how it ended, shows the end of its log when it failed.
step() {
    local name=$1 start=$SECONDS log=build/test-logs/$1.log
    shift
    wanted "$name" || return 0
    if "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        printf 'ok      %-16s %4d s  %s\n' "$name" $((SECONDS - start)) "$(grep -aE 'passed|conformance|product:' "$log" | tail -n 1)"
    else
        failed=$((failed + 1))
        printf 'FAILED  %-16s %4d s  (%s)\n' "$name" $((SECONDS - start)) "$log"
        grep -aE 'FAILED|Failed|error:|not ok|ERROR' "$log" | head -n 40
        tail -n 25 "$log"
    fi
}

build() {
    cmake -S . -B "build/$1" -G Ninja -DCMAKE_BUILD_TYPE="$2" -DPOSTHORN_WERROR=ON && cmake --build "build/$1"
}

unit_tests() {
    (cd build/debug && ctest --output-on-failure -j 2)
}

generated_docs() {
    local file status=0
    for file in build/debug/generated/docs/reference/*.md; do
        diff -u "docs/reference/$(basename "$file")" "$file" || status=1
    done
    return $status
}

openapi() {
    npm_tree "$root/tests/openapi" "$root/tests/openapi"
    env -u POSTHORN_REPLIES_LOG "$NODE" --test tests/openapi/*.test.mjs && # its wrong replies are no replies of the service
        "$NODE" tests/openapi/lint.mjs build/debug/generated/catalogue/openapi.json
}

cases() {
    npm_tree "$root/tests/cases/runner" "$root/tests/cases/runner"
    local data status=0
    data=$(mktemp -d "${TMPDIR:-/tmp}/posthorn-cases-XXXXXX")
    chmod 755 "$data"
    POSTHORN_OPERATOR=$root/build/release/posthorn \
        "$NODE" tests/cases/runner/run.mjs "$root/build/debug/posthorn" "$root/build/debug/embedded_driver" "$data/data" || status=1
    build/debug/posthorn stop --data "$data/data" || true
    rm -rf "$data"
    return $status
}

first_operation() {
    npm_tree "$root/tests/cases/runner" "$root/tests/cases/runner"
    "$NODE" tests/first_operation.mjs
}

step build-debug build debug Debug
step build-release build release Release
step unit unit_tests
step side "$NODE" --test "tests/unit/side/*.test.mjs"
step includes "$NODE" tests/includes.mjs
step docs generated_docs
step snapshots "$NODE" tests/snapshots.mjs build/release/posthorn
step requirements "$NODE" tests/requirements.mjs check
step mutations "$NODE" tests/mutations/run.mjs check
step openapi openapi
step cases cases
step third-party bash tests/third_party.sh build/debug 3000 30000
step first-operation first_operation
step clients bash tests/clients.sh
step sdk bash tests/sdk.sh
step scenario bash tests/scenario/run.sh
step conformance bash tests/conformance.sh
step faults bash tests/faults.sh short
step integration "$NODE" --test --test-concurrency=1 "tests/integration/**/*.test.mjs"
# What the clients of the steps above saw, all together.
[ ${#chosen[@]} -gt 0 ] || step replies "$NODE" tests/openapi/report.mjs "$POSTHORN_REPLIES_LOG"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
