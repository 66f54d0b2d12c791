// The brand that is as full as the declarations admit: every operation that creates something has created it, at its largest, until
// a page of the longest is full. Operations that read are measured there.

import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PREFIXES } from '../lib/resource_kinds.mjs';
import { Place } from './calls.mjs';
import { acceptedArguments } from './series.mjs';

const RESOURCES = join(dirname(fileURLToPath(import.meta.url)), '../../schemas/resources');
const deletes = new Set(readdirSync(RESOURCES).filter((file) => /"deleted"/.test(readFileSync(join(RESOURCES, file), 'utf8'))).map((file) => file.replace('.json', '')));
const ROWS_APART = 1000;

const creates = ({ built, route, reach, mode, path, result, price }) =>
  built && reach === 'brand' && route?.startsWith('POST ') && mode !== 'read' && path === undefined && !deletes.has(result) &&
  price !== 'contactValidation';

/** Notes the ids in an answer, the last of each kind; only the first operation that makes a kind does so. A design that is being generated is none. */
function noteIds(place, operation, body) {
  if (body?.status === 'generating') return;
  const text = JSON.stringify(body);
  for (const [kind, prefix] of Object.entries(PREFIXES)) {
    const found = text.match(new RegExp(`"${prefix}_[0-9a-z]{13}"`, 'g'));
    if (found === null || (place.makers[kind] ?? operation.id) !== operation.id) continue;
    place.ids[kind] = found.at(-1).slice(1, -1);
    place.makers[kind] = operation.id;
  }
}

/** The largest arguments that are accepted: a declaration may admit more characters than the rules behind it. */
const SHARES = [1, 0.8, 0.3, 0.08];

async function largestAccepted(place, operation, args) {
  const top = args.fit(args.dimensions(), 'different');
  let answer;
  for (const share of SHARES) {
    const scale = Object.fromEntries(Object.entries(top).map(([name, value]) => [name, value * share]));
    answer = await place.call(operation, args.make(scale, 'different'));
    if (answer.ok) return { scale, answer };
  }
  return { answer };
}

async function fillWith(place, operation, { bodyBytes, fillBytes, fillCalls }) {
  const { args, refused } = await acceptedArguments(place, operation, { bodyBytes });
  const { scale, answer } = refused ? { answer: refused } : await largestAccepted(place, operation, args);
  if (scale === undefined) return `${operation.id}: ${answer.body?.error?.message ?? answer.status}`;
  noteIds(place, operation, answer.body);
  let bytes = args.bytes(args.make(scale, 'different')).used;
  for (let i = 1; i < fillCalls && bytes < fillBytes; i++) {
    const made = args.make(scale, 'different', i * ROWS_APART);
    const again = await place.call(operation, made);
    if (!again.ok) return `${operation.id}: ${again.body?.error?.message ?? again.status}`;
    noteIds(place, operation, again.body);
    bytes += args.bytes(made).used;
  }
  return null;
}

/** {place, refusals}: the full brand, and what could not be created at its largest. */
export async function fullBrand(bounded, operations, form) {
  const place = await Place.fresh(bounded);
  place.makers = { brand: 'the brand itself' };
  const refusals = [];
  for (const operation of operations.filter(creates)) {
    await place.prepare(operation);
    const refusal = await fillWith(place, operation, form);
    if (refusal) refusals.push(refusal);
    await bounded.settled();
  }
  return { place, refusals };
}
