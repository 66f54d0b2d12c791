// The series of an operation: which sizes it is called with, and the verdict about what they cost.

import { Arguments, enumsOf } from './arguments.mjs';
import { BOUNDS_MIB } from './bounded.mjs';
import { exampleOf, problemOf, transportsOf } from './calls.mjs';
import { exponentOf, isTooSteep } from './growth.mjs';
import { Lost } from './lost.mjs';
import { DISTRIBUTIONS } from './values.mjs';

const US_FLOOR = 25_000;
const KIB_FLOOR = 8 * 1024;
const REPEATS_MAX = 3;
const TRIES = 60;
const ROWS_APART = 1_000_000;

/** Every choice of dimensions, the whole last. */
function subsets(dimensions) {
  const all = [[]];
  for (const each of dimensions) all.push(...all.map((some) => [...some, each]));
  return all.filter((some) => some.length > 0).sort((a, b) => a.length - b.length);
}

/** The shortened form has the most rows, the most rows and fields, and the most of everything together. */
function chosen(dimensions, form) {
  if (!form.isShort) return subsets(dimensions);
  const [counts, rows] = [['rows', 'fields'], ['rows']].map((some) => some.filter((name) => dimensions.includes(name)));
  const found = new Map([rows, counts, dimensions].filter((some) => some.length > 0).map((some) => [some.join(), some]));
  return [...found.values()];
}

// ---- What an operation accepts ----

/**
 * The arguments with which an operation succeeds at its least, found by leaving out what it refuses. {args, refused}: `refused` is
 * the answer when no arguments are accepted.
 */
export async function acceptedArguments(place, operation, options) {
  const args = new Arguments(operation, { ids: place.ids, plainIds: place.plainIds, enums: enumsOf(place.bounded.catalogue), example: exampleOf(operation), ...options });
  for (let tries = 0; tries < TRIES; tries++) {
    const answer = await place.call(operation, args.make({}, 'different', tries));
    if (answer.ok) return { args };
    const { code, param } = answer.body?.error ?? {};
    const isSpecific = operation.errors?.includes(code) && !/_NOT_FOUND$|^NOT_IMPLEMENTED$/.test(code);
    if (isSpecific ? !args.givePlain(param) : !args.giveWay(code, param)) return { args, refused: answer };
  }
  return { args, refused: { body: { error: { code: 'endless', message: 'no end of refusals' } } } };
}

/** Whether the least arguments reach the work: a refusal that the operation declares as its own is such an end, too. */
export const isReached = (operation, refused) => {
  const code = refused?.body?.error?.code;
  return refused === undefined || code === 'RESPONSE_TOO_LARGE' || operation.errors?.includes(code) === true;
};

// ---- Series ----

/** In the shortened form only the whole has every distribution. Its parts have one, which differs from operation to operation. */
const byTurns = ({ id }) => DISTRIBUTIONS[[...id].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % DISTRIBUTIONS.length];

/** The series of an operation: [{operation, args, dimensions, distribution, transport}]. */
export function seriesOf(catalogue, operation, args, form) {
  const dimensions = args.dimensions();
  const plain = { operation, args, dimensions: [], distribution: 'different', transport: transportsOf(catalogue, operation)[0] };
  if (dimensions.length === 0) return [plain];
  const found = [];
  // In the shortened form a parameter that made way for another one is measured once.
  const isOnce = form.isShort && args.only !== undefined;
  for (const some of isOnce ? [dimensions] : chosen(dimensions, form)) {
    const made = new Set();
    const isPart = some.length < dimensions.length;
    for (const distribution of isOnce ? ['multi-byte'] : form.isShort && isPart ? [byTurns(operation)] : DISTRIBUTIONS) {
      const text = JSON.stringify(args.make(Object.fromEntries(some.map((name) => [name, 0.02])), distribution));
      if (!made.has(text)) found.push({ ...plain, dimensions: some, distribution });
      made.add(text);
    }
  }
  if (!form.isShort) {
    for (const transport of transportsOf(catalogue, operation).slice(1)) found.push({ ...plain, dimensions, transport });
  }
  return found;
}

const cheaper = (a, b) => ({ ...a, us: Math.min(a.us, b.us), grownKib: Math.min(a.grownKib, b.grownKib), peakKib: Math.max(a.peakKib, b.peakKib) });

/** One point of a series: its least cost in `repeats` calls. */
async function point(bounded, place, series, scale, number, repeats) {
  const { operation, args, distribution, transport } = series;
  let found;
  for (let i = 0; i < repeats; i++) {
    const made = args.make(scale, distribution, number * ROWS_APART + i * 2000);
    const { used } = args.bytes(made);
    const size = operation.query?.limit || operation.body?.limit ? made.limit ?? used : used;
    const { answer, serve, runner } = await bounded.measure(() => place.call(operation, made, transport), operation.job !== undefined);
    const problem = problemOf(operation, answer);
    found = {
      bytes: used, size, answer, problem: found?.problem ?? problem,
      serve: found ? cheaper(found.serve, serve) : serve, runner: found ? cheaper(found.runner, runner) : runner,
    };
  }
  return found;
}

const pointsOf = (points, process, cost) => points.map((each) => [each.size, each[process][cost]]);

/** {'serve time': exponent, …} of what grows too fast, and all exponents for the table. */
export function growth(points, hasJobs) {
  const exponents = {};
  for (const process of hasJobs ? ['serve', 'runner'] : ['serve']) {
    exponents[`${process} time`] = exponentOf(pointsOf(points, process, 'us'), US_FLOOR);
    exponents[`${process} memory`] = exponentOf(pointsOf(points, process, 'grownKib'), KIB_FLOOR);
  }
  return { exponents, steep: Object.keys(exponents).filter((name) => isTooSteep(exponents[name])) };
}

export function overBounds({ serve, runner }) {
  const over = (name, cost) => (cost.peakKib > BOUNDS_MIB[name] * 1024 ? `${name} took ${Math.round(cost.peakKib / 1024)} MB` : null);
  return over('serve', serve) ?? over('runner', runner);
}

/** {problems, exponents} of measured points. */
export function verdict(points, hasJobs) {
  const { exponents, steep } = growth(points, hasJobs);
  const problems = [...new Set(points.map(({ problem }) => problem).filter(Boolean))];
  const over = points.map(overBounds).find(Boolean);
  if (over) problems.push(over);
  for (const name of steep) problems.push(`${name} grows with the power ${exponents[name].toFixed(2)} of the size`);
  return { exponents, problems };
}

/** Runs a series: {points, exponents, problems}. What seems to grow too fast is measured again before it counts. */
export async function runSeries(bounded, place, series, form) {
  const { operation, args, dimensions, distribution } = series;
  const points = [];
  const top = args.fit(dimensions, distribution);
  const [driver] = dimensions;
  const fractions = driver === undefined ? [1] : form.fractions;
  const scaleOf = (fraction) => (driver === undefined ? {} : { ...top, [driver]: top[driver] * fraction });
  const measure = async (repeats) => {
    for (const [i, fraction] of fractions.entries()) {
      const again = await point(bounded, place, series, scaleOf(fraction), i + 1, repeats);
      points[i] = points[i] ? { ...again, serve: cheaper(points[i].serve, again.serve), runner: cheaper(points[i].runner, again.runner) } : again;
    }
  };
  try {
    await measure(1);
    for (let i = 0; i < REPEATS_MAX && growth(points, operation.job !== undefined).steep.length > 0; i++) await measure(1);
  } catch (error) {
    return { series, points, problems: [error.message], exponents: {}, isLost: error instanceof Lost || /socket hang up|ECONNRE/.test(error.message) };
  }
  return { series, points, ...verdict(points, operation.job !== undefined) };
}
