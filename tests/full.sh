#!/usr/bin/env bash
# The long form of the suite: tests/run.sh, once more with four busy loops beside it, then clang, ThreadSanitizer, the static
# analysers, the fuzzers, the full fault runs, all sizes, the scenario at a million contacts, twenty rules broken on purpose, and each
# quality check left out.
# POSTHORN_FUZZ_SECONDS (default 60) is the time of each fuzzer of C; the log of html-fuzz names its seed. Not part of what decides a
# landing.
set -uo pipefail
cd "$(dirname "$0")/.."

bash tests/setup.sh full || exit 1
failed=0
step() {
    local name=$1 start=$SECONDS log=build/test-logs/full-$1.log
    shift
    if "$@" >"$log" 2>&1; then
        printf 'ok      %-16s %4d s\n' "$name" $((SECONDS - start))
    else
        failed=$((failed + 1))
        printf 'FAILED  %-16s %4d s  (%s)\n' "$name" $((SECONDS - start)) "$log"
        tail -n 25 "$log"
    fi
}

clang_build() {
    cmake -S . -B build/clang -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=clang -DPOSTHORN_WERROR=ON &&
        cmake --build build/clang && (cd build/clang && ctest --output-on-failure -j 2)
}

# posthorn-image has one thread, and a child of a process under ThreadSanitizer does not start with its sanitizer.
thread_sanitizer() {
    cmake -S . -B build/tsan -G Ninja -DCMAKE_BUILD_TYPE=Debug -DPOSTHORN_SANITIZE=thread &&
        cmake --build build/tsan &&
        (cd build/tsan && TSAN_OPTIONS=halt_on_error=1 ctest --output-on-failure -R 'api_|limits|db_|mcp|http|side|outbox|net_|image|engine_imports|engine_sends_test|jobs_' -E render_image_test)
}

analyzer() {
    cmake -S . -B build/analyzer -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS=-fanalyzer &&
        cmake --build build/analyzer --target libposthorn.a
}

tidy() {
    find src -name '*.c' -not -path '*/node_modules/*' -not -path 'src/codegen/*' -print0 |
        xargs -0 -n 8 clang-tidy -p build/clang --quiet --warnings-as-errors='clang-analyzer-*'
}

fuzzers() {
    local seconds=${POSTHORN_FUZZ_SECONDS:-60} fuzzer name
    cmake -S . -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=clang -DPOSTHORN_FUZZ=ON &&
        cmake --build build/fuzz || return 1
    for fuzzer in build/fuzz/*_fuzz; do
        name=$(basename "$fuzzer" _fuzz)
        mkdir -p "build/fuzz/corpus/$name"
        "$fuzzer" -max_total_time="$seconds" -rss_limit_mb=2048 "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" || return 1
    done
}

# A test that passes on a quiet machine alone depends on time. The loops end with this script, whatever ends it.
beside_busy_loops() {
    local loops=() status=0
    for _ in 1 2 3 4; do
        (while kill -0 $$ 2>/dev/null; do :; done) &
        loops+=($!)
    done
    "$@" || status=$?
    kill "${loops[@]}"
    wait "${loops[@]}" 2>/dev/null
    return "$status"
}

bash tests/run.sh || failed=$((failed + 1))
step busy beside_busy_loops bash tests/run.sh
step clang clang_build
step tsan thread_sanitizer
step analyzer analyzer
step tidy tidy
step fuzz fuzzers
step report-judge bash -c '. tests/node22.sh && "$NODE" tests/third_party/report_judge.mjs build/release'
step rspamd bash -c '. tests/node22.sh && "$NODE" --test tests/third_party/rspamd_judge.mjs'
step contract-exports env THIRD_PARTY_INSTALL=build/third_party bash -c '. tests/node22.sh && "$NODE" tests/third_party/contract_exports.mjs build/release/contract_driver 10000 "$RANDOM"'
# Sixty briefs for four brands.
step designs env DESIGN_BUILD=release bash -c '. tests/node22.sh && npm_tree tests/gallery tests/gallery && "$NODE" tests/gallery/designs/main.mjs'
step html-fuzz env THIRD_PARTY_INSTALL=build/third_party bash -c '. tests/node22.sh && "$NODE" tests/fuzz/html/main.mjs 10000 "$RANDOM"'
# Every feature of a mail client, in two pictures.
step client-features env POSTHORN_ALL_FEATURES=1 bash -c '. tests/node22.sh && "$NODE" --test tests/unit/sidecar/clients.test.mjs'
step faults env POSTHORN_FAULT_ROUNDS=100 bash -c '. tests/node22.sh && "$NODE" --test tests/integration/recovery/faults.test.mjs'
step journal env POSTHORN_JOURNAL_RECORDS=1000000 build/debug/sender_journal_test
step ledger env POSTHORN_LEDGER_SEEDS=500 build/debug/engine_ledger_property_test
step launch-kills env POSTHORN_LAUNCH_KILLS=20 bash -c '. tests/node22.sh && "$NODE" --test tests/integration/automations/launch.test.mjs'
# Forty seeds of 25 automations, two at once.
step random-graphs bash -c '. tests/node22.sh && seq 1 40 | xargs -n 1 -P 2 bash tests/integration/automations/seed.sh'
step move-pairs env POSTHORN_MOVE_PAIRS=200 build/debug/engine_automation_move_test
step fault-table bash tests/faults.sh
step sizes bash tests/sizes.sh
step commits env POSTHORN_FAULT_ROUNDS=10 bash -c '. tests/node22.sh && "$NODE" --test tests/integration/recovery/shared_commits.test.mjs'
step imports env POSTHORN_FAULT_ROUNDS=20 POSTHORN_LIBREOFFICE=1 bash -c '. tests/node22.sh && "$NODE" --test --test-concurrency=1 "tests/integration/imports/*.test.mjs"'
step scenario env SCENARIO_CONTACTS=1000000 bash tests/scenario/run.sh
# Each quality check, left out.
step checks bash -c '. tests/node22.sh && "$NODE" tests/mutations/checks.mjs'
# Twenty rules, drawn; the log names the seed. MUTATION_SEED repeats a draw.
step mutations bash -c '. tests/node22.sh && "$NODE" tests/mutations/run.mjs draw 20'

echo "full: $failed failed"
[ "$failed" -eq 0 ]
