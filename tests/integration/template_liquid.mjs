// Templates against liquidjs: what our subset of Liquid accepts must come out as Liquid has it, escaped as liquidjs does
// with outputEscape. Contexts that liquidjs does not know (URLs, header lines) are the business of the unit tests.
//
//     INTEGRATION_INSTALL=build/integration node template_liquid.mjs build/template_driver [count] [seed]

import { Driver } from './driver.mjs';
import { load } from './installed.mjs';
import { Random } from './random.mjs';

const { Liquid } = load('liquidjs');
const ENGINES = { html: new Liquid({ outputEscape: 'escape' }), text: new Liquid() };

const VALUES = {
  firstName: 'ada', last_name: 'LOVELACE', city: 'Z\u00fcrich', markup: '<b class="x">\'&amp;\'</b>', empty_text: '', yes: true, no: false,
  'sharp-s': 'stra\u00dfe', greek: '\u1f48\u0394\u03a5\u03a3\u03a3\u0395\u038e\u03a3', braces: '{{ firstName }}', lines: 'a\r\nb', emoji: '\u{1F600} ok',
  'deep.er.path': 'deep value', 'deep.flag': false,
};
const TREE = { ...VALUES, deep: { er: { path: 'deep value' }, flag: false } };

const PATHS = [...Object.keys(VALUES), 'missing', 'deep.missing', 'missing.deeper'];
const TEXTS = ['', 'there', 'a & b', '<i>', '\u00fcber', 'x | upcase', 'it is 5 > 4', '{ }'];
const NUMBERS = ['0', '7', '-3', '2.5']; // ours are shown as they are written; liquidjs would make 2.5 of 2.50
const LITERALS = ['Hi ', ' ', '\n', 'a } b { c', '<p>', '</p>', '&amp;', '}}', '\u00e9\u{1F600}', '<br>', '1 < 2 '];
const BLANKS = ['', ' ', '  ', '\n', '\t'];

function quoted(random) {
  const quote = random.pick(['"', "'"]);
  return `${quote}${random.pick(TEXTS).replaceAll(quote, '')}${quote}`;
}

function filter(random) {
  const name = random.pick(['upcase', 'downcase', 'capitalize', 'default']);
  if (name !== 'default') return name;
  const argument = random.pick([() => quoted(random), () => random.pick(PATHS), () => random.pick(NUMBERS)])();
  return `default:${random.pick(BLANKS)}${argument}`;
}

function expression(random) {
  const blank = () => random.pick(BLANKS);
  // A number is not upper-cased in every engine alike, so only paths and texts begin a slot.
  let text = `${blank()}${random.below(5) === 0 ? quoted(random) : random.pick(PATHS)}${blank()}`;
  for (let i = random.below(4); i > 0; i--) text += `|${blank()}${filter(random)}${blank()}`;
  return `{{${text}}}`;
}

function template(random) {
  return Array.from({ length: 1 + random.below(8) }, () => (random.below(2) ? expression(random) : random.pick(LITERALS))).join('');
}

const [driverPath, count = '3000', seed = '1'] = process.argv.slice(2);
if (!driverPath) throw new Error('usage: template_liquid.mjs DRIVER [COUNT] [SEED]');

const driver = new Driver(driverPath);
const random = new Random(Number(seed));
let failed = 0;
for (let i = 0; i < Number(count); i++) {
  const source = template(random);
  const kind = random.pick(['html', 'text']);
  const { output, error } = await driver.ask({ kind, source, values: VALUES });
  const expected = await ENGINES[kind].parseAndRender(source, TREE);
  if (output === expected) continue;
  failed++;
  if (failed <= 10) console.log(`FAILED ${kind} ${JSON.stringify(source)}\n  ${JSON.stringify(output ?? error)}\n  ${JSON.stringify(expected)}`);
}
driver.close();
console.log(`${Number(count) - failed} passed, ${failed} failed`);
process.exit(failed === 0 && Number(count) > 0 ? 0 : 1);
