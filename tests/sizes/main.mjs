// The harness of sizes: every operation and job at its documented maxima, the costs of the processes, and how they grow.
//
//   main.mjs short|long [NAME …]     parts of the names of operations or states; `operations` and `states` are all of them
//
// The operations come from schemas/operations. Prints a table and ends with 'N passed, M failed'.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadCatalogue } from '../cases/runner/catalogue.mjs';
import { kindsOf } from './arguments.mjs';
import { Bounded } from './bounded.mjs';
import { OF_DOCUMENTS, Place, transportsOf } from './calls.mjs';
import { fullBrand } from './full_brand.mjs';
import { acceptedArguments, isReached, runSeries, seriesOf } from './series.mjs';
import { STATES } from './states.mjs';
import { heading, line } from './table.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');
const MIB = 1024 * 1024;
const policies = JSON.parse(readFileSync(join(ROOT, 'schemas/policies.json'), 'utf8'));
const FORMS = {
  short: { isShort: true, fractions: [1 / 8, 1], fillBytes: 4 * MIB, fillCalls: 8 },
  long: { isShort: false, fractions: [1 / 8, 1 / 4, 1 / 2, 1], fillBytes: 32 * MIB, fillCalls: 100 },
};

const [formName = 'short', ...only] = process.argv.slice(2);
const form = { ...FORMS[formName], bodyBytes: policies.bodyBytes };
const known = JSON.parse(readFileSync(join(ROOT, 'tests/sizes/known.json'), 'utf8'));
const catalogue = loadCatalogue(ROOT);
const isChosen = (name, sort) => only.length === 0 || only.some((part) => part === sort || name.includes(part));
const operations = [...catalogue.operations.values()].filter(({ built }) => built);

// ---- The installation, which is made anew after a process was lost ----

let bounded;
let full;

async function installation() {
  bounded ??= await Bounded.start(catalogue);
  return bounded;
}

async function replace() {
  await bounded?.dispose();
  bounded = undefined;
  full = undefined;
}

/** What is the largest in the full brand: an operation that takes one is measured there. */
const LARGE_KINDS = ['email', 'version', 'audience', 'send'];

/** Where an operation is measured: in the full brand what reads or takes what is there, else in a brand of its own. */
async function placeOf(operation) {
  const usesLarge = kindsOf(operation).some((kind) => LARGE_KINDS.includes(kind)) && !/delete/i.test(operation.id);
  if (operation.id === OF_DOCUMENTS || operation.reach !== 'brand' || (operation.mode !== 'read' && !usesLarge)) return Place.fresh(await installation());
  if (full === undefined) {
    const { place, refusals } = await fullBrand(await installation(), operations, form);
    full = place;
    for (const refusal of refusals) console.log(`        the full brand lacks ${refusal}`);
  }
  full.renew();
  return full;
}

// ---- Results ----

const counts = { passed: 0, failed: 0, known: 0 };

function report({ name, input, points = [], exponents = {}, problems }) {
  const found = known.find((each) => each.name === name && input.includes(each.input ?? ''));
  if (found) found.hasFailed = found.hasFailed || problems.length > 0;
  const reason = problems.length > 0 ? found?.why : undefined;
  counts[problems.length === 0 ? 'passed' : reason ? 'known' : 'failed']++;
  console.log(line({ name, input, points, exponents, problems, known: reason }));
}

// ---- Operations ----

const inputOf = ({ dimensions, distribution, transport, args }) =>
  [args.only ?? '', dimensions.join('+') || 'no size', distribution, args.format === 'html' ? '' : args.format, transport === 'mcp' ? 'mcp' : ''].filter(Boolean).join(' ');

async function runAll(operation, accepted) {
  for (const series of seriesOf(catalogue, operation, accepted, form)) {
    const place = await placeOf(operation);
    await bounded.refresh();
    place.renew();
    await place.prepare(operation);
    accepted.ids = place.ids;
    accepted.plainIds = place.plainIds;
    const result = await runSeries(bounded, place, series, form);
    report({ name: operation.id, input: inputOf(series), ...result });
    if (place !== full) place.close();
    if (result.isLost) await replace();
  }
}

/** The arguments of the operation, and of each parameter that had to make way for another, alone. */
async function runOperation(operation) {
  if (transportsOf(catalogue, operation).length === 0) return; // a link reaches it, with a short token
  const place = await placeOf(operation);
  await place.prepare(operation);
  const options = { bodyBytes: form.bodyBytes };
  const { args, refused } = await acceptedArguments(place, operation, options);
  if (!isReached(operation, refused)) {
    report({ name: operation.id, input: 'least', problems: [`no arguments are accepted: ${JSON.stringify(refused.body ?? refused.refusal).slice(0, 300)}`] });
    return;
  }
  const variants = [args];
  // A filter may leave a page empty, so pages are read without one as well.
  const alone = new Set([...args.alternatives(), ...args.pages()]);
  for (const name of alone) {
    const variant = await acceptedArguments(place, operation, { ...options, only: name });
    if (variant.refused === undefined) variants.push(variant.args);
  }
  for (const format of form.isShort ? [] : args.formats().slice(1)) {
    const other = await acceptedArguments(place, operation, { ...options, format });
    if (other.refused === undefined) variants.push(other.args);
  }
  if (place !== full) place.close();
  for (const variant of variants) await runAll(operation, variant);
}

async function guarded(name, run) {
  try {
    await run();
  } catch (error) {
    report({ name, input: '', problems: [error.stack.split('\n').slice(0, 3).join(' ')] });
    await replace();
  }
}

// What was started ends with this process, also before its time.
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => replace().catch(() => {}).finally(() => process.exit(1)));
}

const began = performance.now();
console.log(heading());
try {
  for (const operation of operations) if (isChosen(operation.id, 'operations')) await guarded(operation.id, () => runOperation(operation));
  for (const state of STATES) {
    if (!isChosen(state.name, 'states')) continue;
    await guarded(state.name, async () => {
      const start = async () => {
        if (bounded !== undefined && !bounded.isWhole) await replace();
        return installation();
      };
      await replace();
      for await (const result of state.run(start, form, catalogue)) report({ name: state.name, ...result });
      await replace();
    });
  }
} finally {
  await replace();
}
for (const each of known) if (each.hasFailed === false) console.log(`${each.name}, ${each.input ?? 'any input'}: passes now, so its line in known.json can go`);
if (counts.known > 0) console.log(`${counts.known} known faults, listed in tests/sizes/known.json`);
console.log(`${counts.passed} passed, ${counts.failed} failed (${Math.round((performance.now() - began) / 1000)} s)`);
process.exit(counts.failed === 0 && counts.passed > 0 ? 0 : 1);
