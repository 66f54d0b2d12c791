#!/bin/sh
# Runs esbuild with a memory limit, because deeply nested source could use all memory. Drops the stack dump of a crash.
ulimit -d 786432
exec "$(dirname "$0")/../node_modules/esbuild/bin/esbuild" "$@" 2>/dev/null
