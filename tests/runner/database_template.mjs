// A folder of PostgreSQL programs for tests, whose initdb copies a cluster that it has made once for the same arguments. The suite
// makes hundreds of installations, and initdb is most of what the database of a new one costs. POSTHORN_PG_BINDIR names the folder to
// the service. Tests of the cluster itself use the real program (steps.mjs).

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The folder is the first descriptor of the caller, such as /proc/self/fd/3, which cp inherits. The lock has another number. */
const SCRIPT = (real) => `#!/bin/sh
set -eu
[ "$1" = -D ] || exec '${real}' "$@"
folder=$2
shift 2
template=$(dirname "$0")/templates/$(id -u)-$(echo "$*" | cksum | cut -d ' ' -f 1)
(
    flock 9
    if [ ! -d "$template" ]; then
        '${real}' -D "$template.new" "$@"
        mv "$template.new" "$template"
    fi
) 9>"$template.lock"
exec cp -a "$template/." "$folder/"
`;

/** The newest PostgreSQL that Debian has installed; undefined when there is none, which the tests then report. */
export function installedPrograms() {
  try {
    return execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

/** Makes the folder: {path, remove}; undefined when the programs are not found. The service may run them as another user. */
export function databaseTemplate(programs) {
  if (programs === undefined) return undefined;
  const path = mkdtempSync(join(tmpdir(), 'posthorn-pg-'));
  chmodSync(path, 0o755);
  mkdirSync(join(path, 'templates'));
  chmodSync(join(path, 'templates'), 0o1777);
  for (const name of readdirSync(programs)) if (name !== 'initdb') symlinkSync(join(programs, name), join(path, name));
  writeFileSync(join(path, 'initdb'), SCRIPT(join(programs, 'initdb')), { mode: 0o755 });
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
