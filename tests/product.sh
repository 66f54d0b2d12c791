# shellcheck shell=bash disable=SC2016,SC2034
# A private Posthorn for one test script: source after node22.sh (it needs NODE), call product_start, and the server, its
# cluster and its data are gone again when the script exits.
#
# POSTHORN_BIN names another binary than build/release/posthorn.

POSTHORN_BIN=${POSTHORN_BIN:-$posthorn_root/build/release/posthorn}
export POSTHORN_BIN

# Bounds of waiting for something that never comes; a busy machine may need long.
START_LIMIT_S=120
STOP_LIMIT_S=60

test_dir=
test_pids=()

# Starts `posthorn serve` on a fresh data folder and a loopback port of the system's choice, and makes an API key of the default brand.
# Sets product_data, product_url (the MCP endpoint) and product_key.
product_start() {
    require_binary "$POSTHORN_BIN"
    test_dir_make

    local brand
    product_data=$test_dir/data
    background_start 's/.*"event":"serve\.listening".*"port":\([0-9]*\).*/\1/p' "$test_dir/serve.log" \
        "$POSTHORN_BIN" serve --data "$product_data" --listen 127.0.0.1:0
    product_url=http://127.0.0.1:$background_port/mcp

    brand=$("$POSTHORN_BIN" admin brand list --data "$product_data" | json_field 'data[0].brandId')
    product_key=$("$POSTHORN_BIN" admin key create --scopes all --rate-multiplier 1000000 --data "$product_data" \
        --brand "$brand" | json_field key)
}

# background_start PATTERN LOG COMMAND…: runs a server until the script exits. Returns when its log tells the port on which it
# listens, which PATTERN (of sed -n) finds there, with that port in background_port.
background_start() {
    local pattern=$1 log=$2 tick
    shift 2

    : >"$log" # the background process may open it later than it is read
    "$@" >"$log" 2>&1 &
    test_pids+=($!)
    for ((tick = 0; tick < START_LIMIT_S * 10; tick++)); do
        background_port=$(sed -n "$pattern" "$log" | head -n 1)
        if [ -n "$background_port" ]; then return 0; fi
        kill -0 $! 2>/dev/null || break
        sleep 0.1
    done
    echo "tests: $1 did not start:" >&2
    tail -n 20 "$log" >&2
    exit 1
}

test_dir_make() {
    [ -n "$test_dir" ] && return 0
    test_dir=$(mktemp -d "${TMPDIR:-/tmp}/posthorn-test-XXXXXX")
    # The private cluster of a root-run Posthorn belongs to an unprivileged user, who must be able to reach it.
    chmod 755 "$test_dir"
    trap test_cleanup EXIT
}

test_cleanup() {
    local pid
    for pid in "${test_pids[@]}"; do stop_process "$pid"; done
    if [ -d "$test_dir/data" ]; then
        timeout "$STOP_LIMIT_S" "$POSTHORN_BIN" stop --data "$test_dir/data" >/dev/null 2>&1 || true
    fi
    rm -rf "$test_dir"
}

# SIGTERM, then SIGKILL for one that does not leave.
stop_process() {
    local tick
    kill -TERM "$1" 2>/dev/null || return 0
    for ((tick = 0; tick < STOP_LIMIT_S * 10; tick++)); do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.1
    done
    echo "tests: process $1 ignored SIGTERM for $STOP_LIMIT_S s; killed" >&2
    kill -KILL "$1" 2>/dev/null || true
}

require_binary() {
    [ -x "$1" ] && return 0
    echo "tests: $1 is not built" >&2
    exit 1
}

# json_field PATH: the string at PATH (such as data[0].brandId) of the JSON document on standard input.
json_field() {
    "$NODE" -e '
        const path = process.argv[1].split(/[.[\]]+/).filter(Boolean);
        const text = require("fs").readFileSync(0, "utf8");
        const value = path.reduce((node, step) => node?.[step], JSON.parse(text));
        if (typeof value !== "string") { console.error(`tests: no ${process.argv[1]} in ${text}`); process.exit(1); }
        console.log(value);' "$1"
}
