// Postal addresses of websites: declared as schema.org PostalAddress, in an <address> element, or as lines of an imprint.

import { attribute, isElement, walk } from '../html/document.mjs';
import { blockTexts, line, textOf } from './texts.mjs';

const ADDRESS_CHARS = 500;

/** Country names and codes: the code, its names, and the time zone where the country has one only. */
const COUNTRIES = [
  ['DE', 'Europe/Berlin', 'germany', 'deutschland', 'allemagne', 'alemania'], ['AT', 'Europe/Vienna', 'austria', 'österreich', 'autriche'],
  ['CH', 'Europe/Zurich', 'switzerland', 'schweiz', 'suisse', 'svizzera'], ['FR', 'Europe/Paris', 'france', 'frankreich', 'francia'],
  ['NL', 'Europe/Amsterdam', 'netherlands', 'the netherlands', 'nederland', 'niederlande'], ['BE', 'Europe/Brussels', 'belgium', 'belgique', 'belgië'],
  ['IT', 'Europe/Rome', 'italy', 'italia', 'italien'], ['GB', 'Europe/London', 'united kingdom', 'uk', 'great britain', 'england', 'scotland', 'wales'],
  ['IE', 'Europe/Dublin', 'ireland', 'irland'], ['DK', 'Europe/Copenhagen', 'denmark', 'danmark', 'dänemark'], ['SE', 'Europe/Stockholm', 'sweden', 'sverige', 'schweden'],
  ['NO', 'Europe/Oslo', 'norway', 'norge', 'norwegen'], ['FI', 'Europe/Helsinki', 'finland', 'suomi', 'finnland'], ['PL', 'Europe/Warsaw', 'poland', 'polska', 'polen'],
  ['CZ', 'Europe/Prague', 'czechia', 'czech republic', 'česko', 'tschechien'], ['LU', 'Europe/Luxembourg', 'luxembourg', 'luxemburg'], ['JP', 'Asia/Tokyo', 'japan'],
  ['ES', null, 'spain', 'españa', 'spanien', 'espagne'], ['PT', null, 'portugal'], ['US', null, 'united states', 'usa', 'united states of america'],
  ['CA', null, 'canada', 'kanada'], ['AU', null, 'australia', 'australien'],
];

function countryOf(text) {
  const word = (text ?? '').trim();
  const lower = word.toLowerCase();
  return COUNTRIES.find(([code, , ...names]) => code === word || names.includes(lower)) ?? null;
}

/** The time zone of the country that an address ends with; null when it names none, or one with several zones. */
export function zoneOfAddress(address) {
  return countryOf(address?.split(',').at(-1))?.[1] ?? null;
}

const word = (value, most = 120) => (typeof value === 'string' ? line(value, most) : line(value?.name, most));

/** The lines of an address in one, with commas between. */
function join(parts) {
  return line(parts.filter(Boolean).join(', '), ADDRESS_CHARS);
}

/** An address of a schema.org PostalAddress as a plain object, or a text; null when it has no street and no place. */
export function declaredAddress(value) {
  if (typeof value === 'string') return line(value, ADDRESS_CHARS);
  if (value === null || typeof value !== 'object') return null;
  const [street, code, place, region] = ['streetAddress', 'postalCode', 'addressLocality', 'addressRegion'].map((name) => word(value[name]));
  const country = word(value.addressCountry);
  if (street === null || place === null) return null;
  const isAmerican = /^(US|USA|CA|AU)$/.test(country ?? '') || (region !== null && /^[A-Z]{2,3}$/.test(region));
  const city = isAmerican ? [place, [region, code].filter(Boolean).join(' ')].filter(Boolean).join(', ') : [code, place].filter(Boolean).join(' ');
  return join([street, city, country]);
}

/** "12345 Town", "F-12345 Town", "1234 AB Town", "Town, ST 12345", "Town SW1A 1AA". */
const PLACE = [
  /^(?:[A-Z]{1,2}[- ])?\d{4,5}(?: [A-Z]{2})? \p{Lu}[\p{L} .'()/-]{1,60}$/u,
  /^\p{Lu}[\p{L} .'-]{1,60},? [A-Z]{2},? \d{5}(?:-\d{4})?$/u,
  /^\p{Lu}[\p{L} .'-]{1,60},? [A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}$/u,
];
/** The number is at the beginning or at the end: "12 Mill Road", "Ziegelweg 12a", "Suite 4". */
const STREET = /^(?=.*\p{L}{2})(?!.*[@:])(?=\d|.*\d ?\p{L}?(?: ?[-–/] ?\d+ ?\p{L}?)?$).{4,80}$/u;

/** The first address in lines: a street, a place, and perhaps a country. */
export function addressInLines(lines) {
  const parts = lines.flatMap((text) => (text.length <= 300 ? splitLine(text) : []));
  for (let i = 1; i < parts.length; i++) {
    if (!PLACE.some((pattern) => pattern.test(parts[i])) || !STREET.test(parts[i - 1]) || PLACE[0].test(parts[i - 1])) continue;
    const country = parts[i + 1] !== undefined && countryOf(parts[i + 1]) !== null ? parts[i + 1] : null;
    return join([parts[i - 1], parts[i], country]);
  }
  return null;
}

/** "Street 1, 12345 Town" is two lines; "Austin, TX 78701" is one. */
function splitLine(text) {
  if (PLACE.some((pattern) => pattern.test(text))) return [text];
  const parts = text.split(/\s*[,·|•]\s*/).map((part) => part.trim()).filter(Boolean);
  const joined = [];
  for (const part of parts) {
    if (/^[A-Z]{2},? \d{5}(?:-\d{4})?$/.test(part) && joined.length > 0) joined.push(`${joined.pop()}, ${part}`);
    else joined.push(part);
  }
  return joined;
}

/** The members of microdata of a type, by name: <… itemtype="https://schema.org/PostalAddress"><span itemprop="postalCode">. */
export function microdata(root) {
  const members = {};
  const visit = (node) => {
    for (const child of node.childNodes ?? []) {
      if (!isElement(child)) continue;
      const name = attribute(child, 'itemprop');
      const isItem = attribute(child, 'itemscope') !== null;
      if (name !== null && members[name] === undefined) {
        members[name] = isItem ? microdata(child) : line(attribute(child, 'content') ?? attribute(child, 'href') ?? textOf(child), 500);
      }
      if (!isItem) visit(child);
    }
  };
  visit(root);
  return members;
}

/** The addresses of a document: declared ones, those of <address>, those in its lines. `null` for each that it does not have. */
export function addressesIn(document) {
  let item = null;
  let element = null;
  walk(document, (node) => {
    if (!isElement(node)) return;
    if (/schema\.org\/PostalAddress$/i.test(attribute(node, 'itemtype') ?? '')) item ??= declaredAddress(microdata(node));
    if (node.tagName === 'address') element ??= addressInLines(blockTexts(node));
  });
  return { item, element, lines: addressInLines(blockTexts(document)) };
}
