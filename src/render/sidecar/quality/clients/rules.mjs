// Rules of a mail client: which declarations, selectors, at-rules, elements and images it does not understand. They come from features.json,
// which maps features of caniemail.com to rules. A rule applies when the newest test of the client says "no", or when it has the note of
// a rule under `notes`. A feature without a rule is not simulated.

import { readFileSync } from 'node:fs';

import { clientSupport } from '../client_support.mjs';
import { readColour } from './colours.mjs';

const FEATURES = JSON.parse(readFileSync(new URL('./features.json', import.meta.url), 'utf8'));
const cache = new Map();
/** Verdicts about declarations that a client keeps from mail to mail: how many, and the characters of a declaration. */
const KNOWN_MAX = 5000;
const KNOWN_CHARS = 200;

/** The rules of a client of caniemail.com, such as gmail.ios; those of null are empty. */
export function rulesOf(client) {
  if (!cache.has(client)) cache.set(client, new Rules(client === null ? [] : activeRules(client)));
  return cache.get(client);
}

/** The features that the previews of a client simulate, by slug. For the documents and the tests. */
export const simulatedFeatures = (client) => [...new Set(activeRules(client).map(({ slug }) => slug))];

function activeRules(client) {
  const support = clientSupport();
  return Object.entries(FEATURES).flatMap(([slug, feature]) => {
    const known = support.get(slug);
    if (known === undefined) throw new Error(`features.json: ${slug} is not a feature of caniemail`);
    const noted = (known.notes.get(client) ?? []).filter((number) => feature.notes?.[number]).map((number) => feature.notes[number]);
    return [...(known.verdicts.get(client) === 'n' ? [feature] : []), ...noted].map((rule) => ({ slug, rule, isNoted: rule !== feature }));
  }).sort((a, b) => Number(a.isNoted) - Number(b.isNoted)); // what a client lacks as a whole comes first
}

const escape = (text) => text.replace(/[^\w-]/g, '\\$&');

/** A pattern of alternatives, and the slug of each. */
class Words {
  #slugs = new Map();
  #pattern;

  constructor(entries, wrap) {
    for (const [word, slug] of entries) if (!this.#slugs.has(word)) this.#slugs.set(word, slug);
    this.#pattern = entries.length === 0 ? null : new RegExp(wrap([...this.#slugs.keys()].map(escape).join('|')), 'i');
  }

  find(text) {
    const found = this.#pattern?.exec(text);
    return found ? this.#slugs.get(found[1].toLowerCase()) : null;
  }
}

/** How a selector looks without the texts in it. */
const outline = (selector) => selector.replace(/\\./g, 'x').replace(/\[[^\]]*\]/g, '[]').replace(/\([^()]*\)/g, '()').replace(/\([^()]*\)/g, '()');
const attributesOf = (selector) => [...selector.matchAll(/\[([^\]]*)\]/g)].map(([, inner]) => inner);

const SELECTORS = {
  child: (selector) => outline(selector).includes('>'),
  adjacentSibling: (selector) => outline(selector).includes('+'),
  generalSibling: (selector) => outline(selector).includes('~'),
  universal: (selector) => /(?:^|[\s>+~])\*/.test(outline(selector)),
  chaining: (selector) => /[.#][\w-]+[.#]/.test(outline(selector)),
  attribute: (selector) => attributesOf(selector).length > 0,
  attributeNotEqual: (selector) => attributesOf(selector).some((inner) => !/^[\w\s-]+=/.test(inner)),
  attributeNotClass: (selector) => attributesOf(selector).some((inner) => !/^\s*class\s*~=/i.test(inner)),
};

const covers = (name, property) => (name.endsWith('*') ? property.startsWith(name.slice(0, -1)) : name === property);

class Rules {
  constructor(active) {
    const pick = (member) => active.filter(({ rule }) => rule[member] !== undefined);
    const words = (member) => pick(member).flatMap(({ slug, rule }) => rule[member].map((word) => [word, slug]));
    this.active = active;
    this.byProperty = pick('properties');
    this.byKeyword = active.filter(({ rule }) => rule.keywords || rule.keywordsExcept);
    this.functions = new Words(words('functions'), (all) => `(?<![\\w-])(${all})\\(`);
    this.units = new Words(pick('units').filter(({ rule }) => !rule.ofProperties).flatMap(({ slug, rule }) => rule.units.map((unit) => [unit, slug])),
      (all) => `(?<![\\w#-])[+-]?(?:\\d+|\\d*\\.\\d+)(${all})(?![\\w-])`);
    this.ofProperties = pick('ofProperties');
    this.pseudo = new Words(words('pseudo'), (all) => `::?(${all})(?![\\w-])`);
    this.pseudoOfClasses = new Words(words('pseudoOfClasses'), (all) => `[.#\\]][^\\s>+~,]{0,100}::?(${all})(?![\\w-])`);
    this.selectors = pick('selector');
    this.atRules = new Map(words('atRules'));
    this.media = new Words(words('media'), (all) => `\\(\\s*(?:-webkit-)?(?:min-|max-)?(?:any-)?(${all})(?![\\w-])`);
    this.mediaExcept = pick('mediaExcept');
    this.nested = pick('nested')[0]?.slug ?? null;
    this.elements = new Map(pick('elements').flatMap(({ slug, rule }) => Object.entries(rule.elements).map(([name, how]) => [name, { slug, how }])));
    this.attributes = pick('attributes').flatMap(({ slug, rule }) => Object.entries(rule.attributes).map(([name, tags]) => ({ slug, name, tags, except: rule.except ?? [] })));
    this.inputs = new Map(words('inputs'));
    this.metas = new Map(words('metas'));
    this.imageTypes = new Map(words('imageTypes'));
    this.dataImages = pick('dataImages')[0]?.slug ?? null;
    this.stylesInBody = pick('stylesInBody')[0]?.slug ?? null;
    this.known = new Map();
  }

  /**
   * The rules about a declaration, first those for all elements: [{ slug, on, except, value }]. `on` and `except` are names of elements or
   * undefined; `value` is what is left of the value, or null.
   */
  aboutDeclaration(property, value) {
    const name = property.toLowerCase();
    const key = `${name}:${value}`;
    if (key.length > KNOWN_CHARS) return this.#judge(name, value);
    if (!this.known.has(key)) {
      if (this.known.size >= KNOWN_MAX) this.known.clear();
      this.known.set(key, this.#judge(name, value));
    }
    return this.known.get(key);
  }

  #judge(property, value) {
    const slug = this.functions.find(value) ?? this.units.find(value);
    if (slug) return [{ slug, value: null }];
    const lower = value.trim().toLowerCase();
    const found = [
      ...this.byProperty.filter(({ rule }) => rule.properties.some((name) => covers(name, property))),
      ...this.byKeyword.filter(({ rule }) => hasKeyword(rule, property, lower)),
      ...this.ofProperties.filter(({ rule }) => rule.ofProperties.some((name) => covers(name, property)) && isRefused(rule, lower)),
    ].map(({ slug: id, rule }) => ({ slug: id, on: rule.on, except: rule.except, value: rule.colourOnly ? colourOf(value) : null }));
    return found.filter((one) => one.value !== value).sort((a, b) => Number(Boolean(a.on || a.except)) - Number(Boolean(b.on || b.except)));
  }

  /** The slug of the rule against a selector, or null. */
  againstSelector(selector) {
    return this.pseudo.find(selector) ?? this.pseudoOfClasses.find(selector) ?? this.selectors.find(({ rule }) => SELECTORS[rule.selector](selector))?.slug ?? null;
  }

  /** The slug of the rule against an at-rule, or null. */
  againstAtRule(name, parameters) {
    const found = this.atRules.get(name) ?? null;
    if (found !== null || name !== 'media') return found;
    const features = [...parameters.matchAll(/\(\s*([a-z-]+)/gi)].map(([, feature]) => feature.toLowerCase());
    const limited = this.mediaExcept.find(({ rule }) => features.some((feature) => !rule.mediaExcept.includes(feature)));
    return this.media.find(parameters) ?? limited?.slug ?? null;
  }

  againstAttribute(tagName, name) {
    const found = this.attributes.find((one) => one.name === name && (one.tags.includes('*') || one.tags.includes(tagName)) && !one.except.includes(tagName));
    return found?.slug ?? null;
  }
}

function hasKeyword({ keywords, keywordsExcept }, property, value) {
  const words = value.split(/\s+/);
  if (keywords?.[property]?.some((word) => words.includes(word))) return true;
  return keywordsExcept?.[property] !== undefined && !keywordsExcept[property].includes(value);
}

function isRefused({ isNegative, units, values }, value) {
  if (values) return new RegExp(values).test(value);
  if (isNegative) return /(?:^|\s)-(?=[\d.]*[1-9])/.test(value);
  return units.some((unit) => new RegExp(`\\d${unit}(?![\\w-])`).test(value));
}

/** The colour of a shorthand, or null. */
function colourOf(value) {
  if (readColour(value) || value.trim().toLowerCase() === 'transparent') return value;
  return value.match(/[\w#%.-]+(?:\([^()]*\))?/g)?.find((word) => readColour(word)) ?? null;
}
