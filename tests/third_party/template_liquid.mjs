// Templates against liquidjs: random templates over random values; what our subset of Liquid accepts must come out as
// liquidjs has it, escaped as it escapes with outputEscape. Contexts that liquidjs does not know (URLs, header lines) and
// the bounds are the business of the unit tests; money, which liquidjs has not, is held against Intl.NumberFormat.
//
//     THIRD_PARTY_INSTALL=build/third_party node template_liquid.mjs build/template_driver [count] [seed]
//
// TEMPLATE_COUNT and TEMPLATE_SEED set count and seed as well. The seed is printed; the same one makes the same templates.

import { Driver } from '../lib/driver.mjs';
import { packagesOf } from '../lib/packages.mjs';
import { moneyAgainstIntl } from './template_money.mjs';
import { Random } from '../lib/random.mjs';
import { Generator, values } from './template_generator.mjs';

const load = packagesOf('third_party');
const { Liquid, defaultOperators } = load('liquidjs');

/**
 * Every difference from liquidjs 10 that is on purpose, and why. `same` makes the peer do it our way; what has no `same` is
 * not generated, and a unit test says what happens instead.
 */
export const DIFFERENCES = [
  {
    what: '{{ x | escape }} is not escaped twice, and plain text not at all',
    why: 'Every value is escaped for its place anyway; the text part is made of the same template.',
  },
  {
    what: 'there is no filter raw, no {% include %}, {% render %}, {% layout %}, {% tablerow %}, {% cycle %}, {% increment %}',
    why: 'Values are never trusted as markup, and a design is one document.',
  },
  {
    what: 'an unknown filter or tag, a wrong number of arguments, {% break %} outside a loop, {% else %} twice are refused',
    why: 'A mistake is found when the design is saved, not by its first reader.',
  },
  {
    what: 'newline_to_br shows line breaks as markup in the text of elements, and must come last',
    why: 'liquidjs escapes its own <br /> with outputEscape. Elsewhere (attributes, headers, text) the value stays as it is.',
  },
  {
    what: 'a captured text is escaped once, where it is shown; it can hold no HTML',
    why: 'A value is never trusted as markup; liquidjs escapes it twice.',
  },
  {
    what: 'an object is shown as nothing',
    why: '[object Object] is of no use to a reader.',
    same: (liquid) => silenceObjects(liquid),
  },
  {
    what: 'dividing by zero gives nil, and so does any result that is no finite number; a list counts as 0',
    why: 'So that default can stand in for it, and no mail says NaN or Infinity. JavaScript takes [5] for 5.',
    same: (liquid) => finiteNumbers(liquid),
  },
  {
    what: 'size, first, last, split and replace count characters, not UTF-16 units',
    why: 'Half an emoji is not text. truncate and slice do so in liquidjs too.',
    same: (liquid) => wholeCharacters(liquid),
  },
  {
    what: 'truncatewords adds its ellipsis only when words were cut off',
    why: 'liquidjs adds it to a text of exactly that many words, too.',
    same: (liquid) => liquid.registerFilter('truncatewords', truncateWords),
  },
  {
    what: 'a break in a {% case %} shows nothing more of it',
    why: 'liquidjs goes on with the first piece of every other {% when %} that fits.',
  },
  {
    what: '{% else %} of a loop is shown whenever the loop shows nothing, also because of offset and limit',
    why: 'As in Liquid for Ruby; liquidjs shows neither.',
  },
  {
    what: 'null, lists and objects have no order: < > <= >= are false',
    why: 'liquidjs leaves that to JavaScript, where null >= 0 and [5] > 3.',
    options: { operators: orderlyOperators() },
  },
  {
    what: 'dates are ISO 8601 or seconds; a date without a time is that day in every zone; names are English',
    why: 'What else Date.parse takes depends on the engine. A birthday must not move by a time zone.',
    same: (liquid) => datesOnly(liquid),
  },
  {
    what: 'a quoted text in a slot may not hold }}',
    why: 'The end of a slot is found before what is inside is read, by every program that looks at designs.',
  },
  {
    what: 'whole numbers are exact up to 64 bits',
    why: 'Order numbers are no doubles.',
  },
  {
    what: 'names are ASCII letters, digits, _ and -, beginning with a letter or _; others stand in brackets, as contact["größe"]',
    why: 'A misread word is found when the design is saved.',
  },
];

function orderlyOperators() {
  const hasNoOrder = (value) => value === null || Array.isArray(value) || value?.constructor === Object;
  const orderly = (compare) => function* ordered(left, right) {
    return !hasNoOrder(left) && !hasNoOrder(right) && (yield* compare(left, right));
  };
  const changed = ['<', '>', '<=', '>='].map((sign) => [sign, orderly(defaultOperators[sign])]);
  return { ...defaultOperators, ...Object.fromEntries(changed) };
}

function silenceObjects(liquid) {
  const render = liquid.parseAndRender.bind(liquid);
  liquid.parseAndRender = (source, data) => render(source, silent(data));
}

/** A copy whose objects are empty as text; nothing that a template can see tells them apart from others. */
function silent(value) {
  if (Array.isArray(value)) return value.map(silent);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, silent(member)]));
  return Object.defineProperty(copy, 'toString', { value: () => '', enumerable: false });
}

function finiteNumbers(liquid) {
  for (const name of ['plus', 'minus', 'times', 'divided_by', 'modulo', 'at_least', 'at_most', 'abs', 'ceil', 'floor', 'round']) {
    const filter = liquid.filters[name];
    liquid.registerFilter(name, function finite(...args) {
      const result = filter.apply(this, args.map((value) => (Array.isArray(value) ? 0 : value)));
      return Number.isFinite(result) ? result : undefined;
    });
  }
}

const asText = (value) => (value == null ? '' : Array.isArray(value) ? value.map(asText).join('') : String(value));

function wholeCharacters(liquid) {
  const { first, last, split } = liquid.filters;
  liquid.registerFilter('size', (value) => (typeof value === 'string' ? [...value].length : Array.isArray(value) ? value.length : 0));
  liquid.registerFilter('first', function firstCharacter(value) {
    return typeof value === 'string' ? [...value][0] ?? '' : first.call(this, value);
  });
  liquid.registerFilter('last', function lastCharacter(value) {
    return typeof value === 'string' ? [...value].at(-1) ?? '' : last.call(this, value);
  });
  liquid.registerFilter('split', function splitCharacters(value, separator) {
    return asText(separator) === '' ? [...asText(value)] : split.call(this, value, separator);
  });
  liquid.registerFilter('replace', function replaceCharacters(value, pattern, replacement) {
    const parts = asText(pattern) === '' ? [...asText(value)] : asText(value).split(asText(pattern));
    return parts.join(asText(replacement));
  });
}

function datesOnly(liquid) {
  const { date } = liquid.filters;
  liquid.registerFilter('date', function dateOf(value, ...rest) {
    return typeof value === 'string' || typeof value === 'number' ? date.call(this, value, ...rest) : value;
  });
}

function truncateWords(value, count = 15, ellipsis = '...') {
  const words = asText(value).trim().split(/\s+/);
  const most = Math.max(Number(count) || 0, 1);
  return words.slice(0, most).join(' ') + (words.length > most ? ellipsis : '');
}

function peer(options) {
  const ours = Object.assign({}, ...DIFFERENCES.map((difference) => difference.options ?? {}));
  const liquid = new Liquid({ strictFilters: true, timezoneOffset: 0, locale: 'en-US', ...ours, ...options });
  for (const { same } of DIFFERENCES) same?.(liquid);
  return liquid;
}

async function main() {
  const [driverPath, count = process.env.TEMPLATE_COUNT ?? '3000', seed = process.env.TEMPLATE_SEED ?? '1'] = process.argv.slice(2);
  if (!driverPath) throw new Error('usage: template_liquid.mjs DRIVER [COUNT] [SEED]');
  const peers = { html: peer({ outputEscape: 'escape' }), text: peer({}) };
  const driver = new Driver(driverPath);
  const random = new Random(Number(seed));
  let failed = 0;
  let nonEmpty = 0;
  for (let i = 0; i < Number(count); i++) {
    const kind = random.pick(['html', 'text']);
    const source = new Generator(random, kind).template();
    const data = values(random);
    const { output, error } = await driver.ask({ kind, source, values: data });
    const expected = await peers[kind].parseAndRender(source, data).catch((problem) => `(liquidjs: ${problem.message})`);
    if (expected.trim() !== '') nonEmpty++;
    if (output === expected) continue;
    failed++;
    if (failed <= 10) {
      console.log(`FAILED ${kind} ${JSON.stringify(source)}\n  ${JSON.stringify(data)}\n  ours  ${JSON.stringify(output ?? { error })}\n  peer  ${JSON.stringify(expected)}`);
    }
  }
  failed += await moneyAgainstIntl(driver);
  driver.close();
  console.log(`${Number(count) - failed} passed, ${failed} failed (templates, seed ${seed}; ${nonEmpty} of them show something)`);
  process.exit(failed === 0 && nonEmpty > Number(count) / 2 ? 0 : 1);
}

await main();
