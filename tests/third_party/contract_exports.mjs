// Payload contracts against ajv, zod and TypeScript: random contracts and payloads; each export must judge a payload as our own check
// does. TypeScript does not tell whole numbers and date-times from other numbers and texts, so it is held against the same
// contract without these types, and sees declared members only. Also: the example of a brief fits its contract, and so does an
// example the draft that was made from it.
//
//     THIRD_PARTY_INSTALL=build/third_party node contract_exports.mjs build/contract_driver [payloads] [seed]

import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Driver } from '../lib/driver.mjs';
import { packageFolder, packagesOf } from '../lib/packages.mjs';
import { Random } from '../lib/random.mjs';

const [program, count = '2000', seed = '1'] = process.argv.slice(2);
const PAYLOADS_A_CONTRACT = 20;
const load = packagesOf('third_party');
const Ajv = load('ajv/dist/2020').default;
const addFormats = load('ajv-formats').default;
const { z } = load('zod');
const random = new Random(Number(seed));
const driver = new Driver(program);
const problems = [];
let judged = 0;

const SCALARS = ['string', 'int', 'float', 'boolean', 'date', 'enum'];
// Not constructor and the like: zod and TypeScript find what every object of JavaScript inherits under these names.
const KEYS = ['plan', 'first-name', 'a b', 'ключ', 'x"y', '2nd', '$cost', 'total', 'items', 'né', "it's", '*/'];
const TITLES = ['Order placed', 'order_placed v2', '2024 sale', 'Ärger im Shop', '*/ odd `title`', '🎉', 'a-b-c'];
const DATES = ['2026-11-21T09:30:00Z', '2024-02-29T23:59:59.123456+05:30', '2000-02-29T00:00:00-14:00', '9998-12-31T23:59:59.000Z'];
const NO_DATES = ['2026-02-29T09:30:00Z', '1900-02-29T09:30:00Z', '2026-11-21', '2026-11-21T24:00:00Z', '2026-11-21 09:30:00Z',
  '2026-11-21T09:30:00', '2026-11-21T09:30Z', '2026-11-21T09:30:60Z', '2026-11-21T09:30:00+15:00', '2026-11-21T09:30:00z', '2026-04-31T09:30:00Z'];

// ---- Contracts ----

function randomField(key, depth) {
  const kind = random.below(depth >= 3 ? 7 : 10);
  const field = { key, type: SCALARS[kind] ?? 'array', required: random.below(2) === 0 };
  if (kind === 6) field.itemType = random.pick(SCALARS);
  if (kind > 6) Object.assign(field, { type: kind === 7 ? 'array' : 'object', children: randomFields(depth + 1) });
  if (field.type === 'enum' || field.itemType === 'enum') field.enumValues = ['free', 'pro "x"', 'é'].slice(random.below(2));
  if (random.below(4) === 0) field.description = 'Text */ of\na field';
  return field;
}

function randomFields(depth) {
  const keys = new Set(Array.from({ length: 1 + random.below(5) }, () => random.pick(KEYS)));
  return [...keys].map((key) => randomField(key, depth));
}

const EMAIL = { key: 'email', type: 'string', required: true };
// Only a schema may have objects and arrays without members.
const openFields = () => [{ key: 'open', type: random.pick(['object', 'array']), required: random.below(2) === 0 }];

// ---- Payloads ----

function scalar(type, enumValues) {
  switch (type) {
    case 'string': return random.pick(['', 'text', '2026-11-21T09:30:00Z', 'é\n"\\']);
    case 'int': return random.pick([0, -5, 12, 1e15, 2.0]);
    case 'float': return random.pick([0.5, -1.25, 3, 1e22]);
    case 'boolean': return random.below(2) === 0;
    case 'date': return random.pick(DATES);
    default: return random.pick(enumValues);
  }
}

const wrongValue = () => random.pick([null, 0, 1.5, 'wrong', true, [], {}, [1], { x: 1 }, random.pick(NO_DATES)]);

function valueOf(field, faults) {
  if (random.below(100) < faults) return wrongValue();
  if (field.type === 'object') return field.children === undefined ? random.pick([{}, { any: [1] }]) : objectOf(field.children, faults);
  if (field.type !== 'array') return scalar(field.type, field.enumValues);
  return Array.from({ length: random.below(3) }, () => {
    if (random.below(100) < faults) return wrongValue();
    return field.itemType !== undefined ? scalar(field.itemType, field.enumValues) : field.children === undefined ? 1 : objectOf(field.children, faults);
  });
}

function objectOf(fields, faults) {
  const object = {};
  for (const field of fields) {
    const isLeftOut = random.below(100) < (field.required ? faults : 30);
    if (!isLeftOut) object[field.key] = !field.required && random.below(8) === 0 ? null : valueOf(field, faults);
  }
  if (random.below(100) < faults + 5) object[random.pick(['extra', 'more data'])] = wrongValue();
  return object;
}

const randomPayload = (fields) => (random.below(40) === 0 ? wrongValue() : objectOf(fields, random.pick([0, 0, 4, 15])));

// ---- The judges ----

function zodOf(code) {
  const body = code.replace(/^import .*$/m, '').replace(/^export type .*$/m, '').replace(/^export const \S+ =/m, 'return');
  return new Function('z', body)(z);
}

function ajvOf(text) {
  const ajv = new Ajv({ allErrors: false, strict: true, strictTypes: false, strictRequired: false, ownProperties: true });
  addFormats(ajv);
  return ajv.compile(JSON.parse(text));
}

function complain(what, contract, payload) {
  problems.push(`${what}\n  contract ${JSON.stringify(contract)}\n  payload ${JSON.stringify(payload)}`);
}

function judge(contract, answer, payload, check) {
  const isValid = check.codes.length === 0;
  const parsed = answer.zodSchema.safeParse(payload);
  judged += 1;
  if (answer.ajv(payload) !== isValid) complain(`ajv says ${!isValid}, we ${check.codes}`, contract, payload);
  if (parsed.success !== isValid) complain(`zod says ${parsed.success}, we ${check.codes} (${parsed.error?.message})`, contract, payload);
  if (isValid && parsed.success && !isDeepStrictEqual(JSON.parse(JSON.stringify(parsed.data)), check.payload)) {
    complain(`zod gives ${JSON.stringify(parsed.data)}, we ${JSON.stringify(check.payload)}`, contract, payload);
  }
}

// ---- TypeScript ----

const coarseType = { int: 'float', date: 'string' };
const coarse = (fields) => fields.map((field) => ({
  ...field, type: coarseType[field.type] ?? field.type,
  ...(field.itemType && { itemType: coarseType[field.itemType] ?? field.itemType }),
  ...(field.children && { children: coarse(field.children) }),
}));

const folder = join(packageFolder('third_party'), `contracts-${process.pid}`);
mkdirSync(folder, { recursive: true });

async function writeTypeScript(number, contract, answer) {
  const typed = await driver.ask({ ...contract, fields: coarse(contract.fields), enforcement: 'prune' });
  const name = /export interface (\S+)/.exec(answer.ts)[1];
  const lines = typed.checks.filter(({ payload }) => payload !== null).map(({ codes, payload }, i) =>
    `${codes.length > 0 ? '// @ts-expect-error\n' : ''}export const value${i}: ${name} = ${JSON.stringify(payload)};`);
  writeFileSync(join(folder, `contract${number}.ts`), `${answer.ts}\n${lines.join('\n')}\n`);
  writeFileSync(join(folder, `zod${number}.ts`), answer.zod);
}

function compileTypeScript() {
  const options = { compilerOptions: { strict: true, noEmit: true, target: 'es2022', module: 'nodenext', moduleResolution: 'nodenext', skipLibCheck: true, types: [] }, include: ['*.ts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(options));
  const compiler = join(packageFolder('third_party'), 'node_modules/.bin/tsc');
  const { status, stdout } = spawnSync(compiler, ['-p', folder], { encoding: 'utf8', env: { ...process.env, PATH: `${join(process.execPath, '..')}:${process.env.PATH}` } });
  if (status !== 0) problems.push(`tsc:\n${stdout.split('\n').slice(0, 20).join('\n')}`);
}

// ---- Drafts and briefs ----

async function judgeDraft(payload) {
  if (payload === null || typeof payload !== 'object' || Array.isArray(payload)) return;
  const example = { ...payload, email: 'ada@example.com' };
  const draft = await driver.ask({ example });
  if (draft.issues > 0) return;
  const checked = await driver.ask({ title: 'Draft', fields: draft.fields, enforcement: 'strict', payloads: [example] });
  if (checked.error || checked.checks[0].codes.length > 0) complain(`a draft does not fit its example: ${JSON.stringify(checked.error ?? checked.checks[0].codes)}`, draft.fields, example);
}

async function judgeBrief(contract, answer) {
  const example = JSON.parse(/^\{"payload": .*\}$/m.exec(answer.skill)[0]).payload;
  const { checks } = await driver.ask({ ...contract, enforcement: 'strict', payloads: [example] });
  if (checks[0].codes.length > 0) complain(`the example of the brief is refused: ${checks[0].codes}`, contract, example);
}

// ---- The run ----

for (let number = 0; judged < Number(count) && problems.length < 5; number++) {
  const stored = random.below(3) > 0;
  const fields = [EMAIL, ...randomFields(1), ...(stored ? [] : openFields())];
  const contract = { title: random.pick(TITLES), fields, stored, enforcement: random.pick(['off', 'prune', 'strict']) };
  contract.payloads = Array.from({ length: PAYLOADS_A_CONTRACT }, () => randomPayload(fields));
  const answer = await driver.ask(contract);
  if (answer.error) { complain(`refused: ${answer.param} ${answer.error}`, contract, null); break; }
  answer.ajv = ajvOf(answer.jsonschema);
  answer.zodSchema = zodOf(answer.zod);
  for (const [i, payload] of contract.payloads.entries()) judge({ ...contract, payloads: undefined }, answer, payload, answer.checks[i]);
  await writeTypeScript(number, contract, answer);
  await judgeBrief(contract, answer);
  await judgeDraft(contract.payloads[0]);
}
driver.close();
compileTypeScript();
if (problems.length === 0) rmSync(folder, { recursive: true });
for (const problem of problems) console.log(`FAILED ${problem}`);
console.log(`contracts: ${judged} payloads judged by ajv, zod and TypeScript (seed ${seed}), ${problems.length} failed`);
process.exitCode = problems.length > 0 ? 1 : 0;
