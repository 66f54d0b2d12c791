// Enforces the module structure that docs/architecture.md describes:
//   1. which module of src may include which, and which folder of a module may include which;
//   2. no cycle of source files between folders, judged by the functions that each file calls; inside a folder only those of the
//      table in docs/adr/0012-cycles-of-files.md;
//   3. operations, jobs and the sender do not ask which transport a call came through.
// A failure names the file and the edge.
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MODULES = {
  base: [],
  crypto: ['base'],
  db: ['base'],
  net: ['base', 'crypto'],
  smtp: ['base'],
  spam: ['base'],
  image: ['base'],
  template: ['base'],
  designer: ['base', 'template'],
  models: ['base', 'designer'],
  mail: ['base', 'crypto'],
  render: ['base', 'net'],
  engine: ['base', 'db', 'crypto', 'template', 'designer', 'mail'],
  sender: ['base', 'db', 'crypto', 'engine', 'smtp', 'mail'],
  stepper: ['base', 'db', 'crypto', 'engine'],
  api: ['base', 'db', 'crypto', 'engine', 'designer'],
    inbound: ['api', 'base', 'crypto', 'db', 'engine', 'mail', 'net', 'smtp'],
    jobs: ['base', 'crypto', 'db', 'designer', 'engine', 'mail', 'models', 'net', 'render', 'sender', 'spam'],
  mcp: ['base', 'crypto', 'api'],
  http: ['base', 'crypto', 'api', 'mcp'],
  cli: ['base', 'api'],
  main: ['base', 'db', 'crypto', 'net', 'models', 'smtp', 'spam', 'mail', 'render', 'engine', 'sender', 'stepper', 'jobs', 'api', 'inbound', 'mcp', 'http', 'cli'],
};

// The folders inside a module; '.' is the module's own folder. Every folder may include itself.
const FOLDERS = {
  api: { '.': ['dispatch', 'limits', 'view'], dispatch: ['.', 'limits'], handlers: ['.'], limits: ['.'], tracking: ['.'], view: ['.'] },
  http: { '.': ['endpoints'], endpoints: ['.'] },
  mcp: { '.': [], provider: ['.'] },
  jobs: { '.': [], types: ['.'] },
  engine: {
    core: [],
    account: ['core', 'brands', 'domains', 'ledger'],
    analytics: ['core'],
    api_keys: ['core'],
    assets: ['core', 'search'],
    audiences: ['core', 'filters'],
    automations: ['core', 'compose', 'contracts', 'nodes', 'runs', 'simulations'],
    brands: ['core', 'assets'],
    compose: ['core', 'subscriptions', 'tracking'],
    contacts: ['core', 'fields', 'filters'],
    contracts: ['core', 'payloads'],
    delivery: ['core', 'compose', 'domains', 'payloads', 'secrets', 'sends', 'suppressions'],
    domains: ['core', 'secrets'],
    events: ['core'],
    emails: ['core', 'assets', 'compose', 'subscriptions', 'templates', 'tracking'],
    fields: ['core'],
    filters: ['core', 'fields'],
    generation: ['core', 'emails', 'assets', 'brands', 'ledger'],
    hits: ['core', 'events'],
    imports: ['core', 'fields', 'validation'],
    insights: ['core', 'ledger'],
    integrations: ['core', 'ledger', 'secrets', 'triggers'],
    ledger: ['core'],
    nodes: ['filters'],
    operator: ['core', 'analytics', 'api_keys', 'automations', 'brands', 'domains', 'hits', 'integrations', 'ledger', 'payloads', 'placement', 'preferences', 'provider_reports', 'reports', 'secrets', 'sends', 'suppressions'],
    payloads: ['core', 'secrets'],
    placement: ['core', 'compose', 'secrets', 'sends'],
    preferences: ['core', 'contacts', 'subscriptions'],
    provider_reports: ['core', 'compose', 'reports'],
    quality: ['core', 'emails'],
    reports: ['core', 'compose', 'events', 'secrets', 'subscriptions', 'suppressions'],
    runs: ['core', 'delivery', 'filters', 'ledger', 'nodes', 'payloads', 'sends'],
    samples: ['core', 'compose', 'delivery', 'sends'],
    search: ['core'],
    secrets: ['core'],
    sends: ['core', 'analytics', 'compose', 'filters', 'ledger', 'payloads', 'quality', 'subscriptions'],
    simulations: ['core', 'contacts', 'contracts', 'nodes', 'payloads', 'sends', 'triggers'],
    subscriptions: ['core', 'events'],
    suppressions: ['core'],
    templates: ['core', 'search'],
    tracking: ['core'],
    triggers: ['core', 'contacts', 'contracts', 'fields', 'ledger', 'nodes', 'payloads', 'runs'],
    validation: ['core', 'contacts', 'ledger'],
  },
};

// Generated headers and the modules that may include them.
const GENERATED = {
  catalogue: {
    'catalogue/error_codes.h': Object.keys(MODULES),
    'catalogue/plans.h': ['engine', 'api'],
    'catalogue/jobs.h': ['engine', 'jobs', 'api'],
    'catalogue/job_types.h': ['jobs'],
    'catalogue/insights.h': ['engine'],
    'catalogue/mail_clients.h': ['engine'],
    'catalogue/integrations.h': ['api', 'engine', 'http'],
    'catalogue/nodes.h': ['engine'],
  },
  sql: ['engine', 'api', 'sender', 'stepper', 'jobs', 'main', 'db'],
};
const CATALOGUE_READERS = ['api', 'mcp', 'http', 'cli', 'main'];

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const source = join(root, 'src');
const files = new Map();
for (const name of readdirSync(source, { recursive: true })) {
  if (/\.[ch]$/.test(name) && !name.includes('node_modules') && !name.startsWith('codegen/'))
    files.set(name, readFileSync(join(source, name), 'utf8'));
}

let passed = 0;
const wrong = [];
const judge = (holds, problem) => (holds ? passed++ : wrong.push(problem));

// ---- 1. Includes ----

const moduleOf = (name) => name.split('/')[0];
const folderOf = (name) => (name.split('/').length > 2 ? name.split('/')[1] : '.');

function mayInclude(name, target) {
  const [from, to] = [moduleOf(name), moduleOf(target)];
  if (target === 'posthorn.h') return true;
  if (to === 'sql') return GENERATED.sql.includes(from);
  if (to === 'catalogue') return (GENERATED.catalogue[target] ?? CATALOGUE_READERS).includes(from);
  if (to !== from) return MODULES[from]?.includes(to) ?? false;
  const [here, there] = [folderOf(name), folderOf(target)];
  return here === there || (FOLDERS[from]?.[here]?.includes(there) ?? false);
}

for (const [name, text] of files)
  for (const [, target] of text.matchAll(/^#include "([^"]+)"/gm)) judge(mayInclude(name, target), `src/${name} includes ${target}`);

// ---- 2. Cycles of files between folders ----

const withoutComments = (text) => text.replace(/\/\*.*?\*\//gs, '').replace(/"(?:\\.|[^"\\\n])*"/g, '""');
const DEFINITION = /^(?!#)((?:[a-z_]\w*[ *]+)+)(\w+)\((?:[^;{]*)\)\n\{/gm;

/** The functions of a file: those that others can call, and its own. */
function functionsOf(text) {
  const own = new Set();
  const open = new Set();
  for (const [, type, name] of text.matchAll(DEFINITION)) (type.startsWith('static ') ? own : open).add(name);
  return { own, open };
}

/** Edges between source files: a file and its header are one. */
function callGraph() {
  const unitOf = (name) => name.replace(/\.[ch]$/, '');
  const sources = [...files].filter(([name]) => name.endsWith('.c')).map(([name, text]) => [unitOf(name), withoutComments(text)]);
  const definers = new Map();
  for (const [unit, text] of sources) for (const name of functionsOf(text).open) definers.set(name, unit);
  const graph = new Map();
  for (const [unit, text] of sources) {
    const { own } = functionsOf(text);
    const called = [...text.matchAll(/\b(\w+)\s*\(/g)].map(([, name]) => name).filter((name) => !own.has(name) && definers.has(name));
    graph.set(unit, new Set(called.map((name) => definers.get(name)).filter((other) => other !== unit)));
  }
  return graph;
}

/** Tarjan's strongly connected components of more than one file. */
function cyclesOf(graph) {
  const [index, low, stack, cycles] = [new Map(), new Map(), [], []];
  const visit = (unit) => {
    index.set(unit, index.size);
    low.set(unit, index.get(unit));
    stack.push(unit);
    for (const next of graph.get(unit) ?? []) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) low.set(unit, Math.min(low.get(unit), low.get(next)));
    }
    if (low.get(unit) !== index.get(unit)) return;
    const cycle = stack.splice(stack.indexOf(unit));
    if (cycle.length > 1) cycles.push(cycle.sort());
  };
  for (const unit of graph.keys()) if (!index.has(unit)) visit(unit);
  return cycles;
}

/** The cycles of the table: the files of the first cell of each row. */
function acceptedCycles() {
  const rows = readFileSync(new URL('../docs/adr/0012-cycles-of-files.md', import.meta.url), 'utf8').split('\n').filter((line) => line.startsWith('| `'));
  return rows.map((row) => [...row.split('|')[1].matchAll(/`([^`]+)`/g)].map(([, file]) => file).sort().join(', '));
}

const cycles = cyclesOf(callGraph());
const accepted = acceptedCycles();
for (const cycle of cycles) judge(accepted.includes(cycle.join(', ')), `a cycle of files without a row in docs/adr/0012-cycles-of-files.md: ${cycle.join(', ')}`);
for (const row of accepted) judge(cycles.some((cycle) => cycle.join(', ') === row), `docs/adr/0012-cycles-of-files.md has a cycle that does not exist: ${row}`);
for (const cycle of cycles) judge(new Set(cycle.map(dirname)).size === 1, `files of several folders call each other: ${cycle.join(', ')}`);
if (process.argv[2] === 'cycles') for (const cycle of cycles) console.log(`cycle: ${cycle.join(', ')}`);

// ---- 3. Transports ----

const KNOWS_NO_TRANSPORT = /^(api\/handlers|engine|sender|jobs)\//;
for (const [name, text] of files)
  if (KNOWS_NO_TRANSPORT.test(name)) judge(!/\bTRANSPORT_|call->transport\b/.test(text), `src/${name} asks for the transport`);

for (const problem of wrong) console.log(`FAILED ${problem}`);
console.log(`${passed} passed, ${wrong.length} failed`);
process.exitCode = wrong.length > 0 || passed === 0 ? 1 : 0;
