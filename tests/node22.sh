# shellcheck shell=bash
# Node 22 for the tests, and the npm trees they run. Source this file (bash).
#
# Sets NODE to a Node 22 binary, installing it under build/node when it is not there, and gives npm_tree to install a
# pinned package.json + package-lock.json beside it. Both are quick when nothing changed and safe to run at once.

posthorn_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Leaves a Node 22 at build/node and its path in NODE; fails with a message otherwise.
node22_ensure() {
    local prefix=$posthorn_root/build/node
    NODE=$prefix/node_modules/.bin/node
    export NODE

    mkdir -p "$prefix"
    (
        flock 9
        node22_works && exit 0
        npm install --prefix "$prefix" --no-save --no-audit --no-fund --loglevel=error node@22 >&2
        node22_works
    ) 9>"$prefix/.lock" && return 0

    echo "tests: no working Node 22 at $NODE (npm install node@22 failed)" >&2
    return 1
}

node22_works() {
    [ -x "$NODE" ] && [ "$("$NODE" --version 2>/dev/null | cut -d. -f1)" = v22 ]
}

# npm_tree SOURCE DEST: installs the lock file of SOURCE into DEST/node_modules, exactly; a no-op while DEST holds that
# lock. DEST may be SOURCE itself.
npm_tree() {
    local source=$1 dest=$2

    mkdir -p "$dest"
    (
        flock 9
        cmp -s "$source/package-lock.json" "$dest/node_modules/.installed-lock.json" && exit 0
        if [ "$source" != "$dest" ]; then cp "$source/package.json" "$source/package-lock.json" "$dest/"; fi
        (cd "$dest" && npm ci --no-audit --no-fund --loglevel=error >&2) &&
            cp "$source/package-lock.json" "$dest/node_modules/.installed-lock.json"
    ) 9>"$posthorn_root/build/.npm-lock" && return 0

    echo "tests: npm ci failed in $dest" >&2
    return 1
}

node22_ensure
