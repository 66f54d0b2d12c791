// Generates a C file with the rules about hits from their declaration (schemas/hits.json):
//
//   compile.mjs DECLARATION OUTPUT_FILE
//
// The first agent that matches gives its class; the comparison ignores case. An actor that is absent is decided by other facts.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isIPv4, isIPv6 } from 'node:net';
import { dirname } from 'node:path';

const CLASS = /^[a-z_]{1,30}$/;
const ACTORS = ['human', 'proxy', 'bot'];
const [declaration, output] = process.argv.slice(2);
const rules = JSON.parse(readFileSync(declaration, 'utf8'));

function refuse(problem) {
  console.error(`${declaration}: ${problem}`);
  process.exit(1);
}

const text = (value) => (value === undefined ? 'NULL' : JSON.stringify(value));

function check({ class: name, open, click }) {
  if (!CLASS.test(name) || name === 'other') refuse(`${name} is not a name for a class`);
  for (const actor of [open, click]) if (actor !== undefined && !ACTORS.includes(actor)) refuse(`${name}: ${actor} is no actor`);
}

function ofIpv6(address) {
  const [before, after] = address.split('::').map((half) => (half === '' ? [] : half.split(':')));
  const groups = after === undefined ? before : [...before, ...Array(8 - before.length - after.length).fill('0'), ...after];
  return groups.flatMap((group) => [parseInt(group, 16) >> 8, parseInt(group, 16) & 255]);
}

// The bytes of an address as IPv6; those of IPv4 are mapped (RFC 4291 §2.5.5.2).
function range(spec) {
  const [address, bits] = spec.split('/');
  if (!isIPv4(address) && !isIPv6(address)) refuse(`${spec} is not a range of addresses`);
  const bytes = isIPv4(address) ? [...Array(10).fill(0), 255, 255, ...address.split('.').map(Number)] : ofIpv6(address);
  const length = Number(bits) + (isIPv4(address) ? 96 : 0);
  if (!(length > 0 && length <= 128)) refuse(`${spec} is not a range of addresses`);
  if (bytes.some((byte, i) => (byte & (255 >> Math.min(Math.max(length - 8 * i, 0), 8))) !== 0)) refuse(`${spec} has bits behind its prefix`);
  return { bytes, length };
}

rules.agents.forEach(check);
rules.networks.forEach(check);
const words = rules.agents.flatMap((agent, index) => [
  ...(agent.equals ?? []).map((word) => `    { ${text(word)}, ${index}, true },`),
  ...(agent.contains ?? []).map((word) => `    { ${text(word)}, ${index}, false },`),
]);
const ranges = rules.networks.flatMap((network, index) => network.ranges.map(range)
  .map(({ bytes, length }) => `    { { ${bytes.join(', ')} }, ${length}, ${index} },`));
const classes = (list, suspects) => [...list, { class: 'other' }]
  .map((entry) => `    { "${entry.class}", ${text(entry.open)}, ${text(entry.click)}, ${Boolean(entry.suspect) || suspects.includes(entry.class)} },`);
const constant = (name, value) => (Number.isInteger(value) && value > 0 ? `    ${name} = ${value},` : refuse(`${name} is not a number`));
const { holdSeconds, burstSeconds, sweepLinks, sweepSeconds, fastSeconds } = rules.judgement;
if (burstSeconds > holdSeconds) refuse('a burst ends after the hold, so a hit would be judged without all of its burst');

mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, [
  '/* The rules about hits, compiled by src/engine/hits/compile.mjs. */',
  'enum {',
  constant('HIT_RULES_VERSION', rules.version),
  constant('HIT_HOLD_S', holdSeconds), constant('HIT_BURST_S', burstSeconds), constant('HIT_SWEEP_LINKS', sweepLinks),
  constant('HIT_SWEEP_S', sweepSeconds), constant('HIT_FAST_S', fastSeconds),
  '};',
  'static const struct agent_word agent_words[] = {', ...words, '};',
  'static const struct hit_class agent_classes[] = {', ...classes(rules.agents, rules.suspectAgents), '};',
  'static const struct network_range network_ranges[] = {', ...ranges, '};',
  'static const struct hit_class network_classes[] = {', ...classes(rules.networks, []), '};',
  '',
].join('\n'));
