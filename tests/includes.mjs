// Holds the rooms to the plan: which folder of src may include which (docs/architecture.md, "Rooms"). Fails on a wrong edge.
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOMS = {
  base: [],
  crypto: ['base'],
  db: ['base'],
  net: ['base', 'crypto'],
  smtp: ['base'],
  image: ['base'],
  template: ['base'],
  mail: ['base', 'crypto'],
  render: ['base', 'net'],
  engine: ['base', 'db', 'crypto', 'template', 'mail'],
  sender: ['base', 'db', 'crypto', 'engine', 'smtp', 'mail'],
  jobs: ['base', 'db', 'crypto', 'engine', 'net', 'mail', 'render', 'sender'],
  api: ['base', 'db', 'crypto', 'engine'],
  mcp: ['base', 'crypto', 'api'],
  http: ['base', 'crypto', 'api', 'mcp'],
  cli: ['base', 'api'],
  main: ['base', 'db', 'crypto', 'net', 'smtp', 'mail', 'render', 'engine', 'sender', 'jobs', 'api', 'mcp', 'http', 'cli'],
};
// Generated headers belong to the rooms that may know what they were made of.
const GENERATED = {
  catalogue: { 'catalogue/error_codes.h': Object.keys(ROOMS), 'catalogue/plans.h': ['engine', 'api'], 'catalogue/integrations.h': ['engine', 'api'] },
  sql: ['engine', 'api', 'sender', 'jobs', 'main', 'db'],
};

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const source = join(root, 'src');
let passed = 0;
const wrong = [];

for (const file of readdirSync(source, { recursive: true }).filter((name) => /\.[ch]$/.test(name) && !name.includes('node_modules'))) {
  const room = file.split('/')[0];
  if (room === 'codegen') continue;
  for (const [, target] of readFileSync(join(source, file), 'utf8').matchAll(/^#include "([^"]+)"/gm)) {
    const to = target.split('/')[0];
    const allowed = to === room || ROOMS[room]?.includes(to) || target === 'posthorn.h' ||
      (to === 'sql' && GENERATED.sql.includes(room)) ||
      (to === 'catalogue' && (GENERATED.catalogue[target] ?? ['api', 'mcp', 'http', 'cli', 'main']).includes(room));
    if (allowed) passed++;
    else wrong.push(`src/${file} includes ${target}`);
  }
}
// Nothing below the doors knows through which one it was called.
for (const room of ['api/handlers', 'engine', 'sender', 'jobs']) {
  for (const file of readdirSync(join(source, room), { recursive: true }).filter((name) => /\.[ch]$/.test(name))) {
    if (/\bDOOR_|call->door\b/.test(readFileSync(join(source, room, file), 'utf8'))) wrong.push(`src/${room}/${file} asks for the door`);
    else passed++;
  }
}
for (const edge of wrong) console.log(`FAILED ${edge}`);
console.log(`${passed} passed, ${wrong.length} failed`);
process.exitCode = wrong.length > 0 || passed === 0 ? 1 : 0;
