#!/bin/sh
# esbuild with bounded memory, for source that nests without end, and without the stack dump it prints before it dies.
ulimit -d 786432
exec "$(dirname "$0")/../node_modules/esbuild/bin/esbuild" "$@" 2>/dev/null
