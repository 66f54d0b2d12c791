// Values of declared parameters at a size. A size has four dimensions, each a share from 0 (the least) to 1 (the declared maximum):
//
//     rows     items of lists, lines of files, conditions of filters, elements of designs
//     fields   members of objects with free names, columns, values of one condition, merge fields
//     names    the characters of such names
//     values   the characters of texts
//
// A distribution is one of DISTRIBUTIONS: all rows alike, all different, or texts of characters that take four bytes in UTF-8.
// What a parameter means is read from its declaration; the table KINDS has a generator for each meaning that needs one.

import { kindOf } from '../lib/resource_kinds.mjs';
import { filterOf } from './filters.mjs';
import { designOf } from './designs.mjs';

export const DIMENSIONS = ['rows', 'fields', 'names', 'values'];
export const DISTRIBUTIONS = ['alike', 'different', 'multi-byte'];

/** Bounds that docs/modules/contacts.md and imports.md document; no declaration has them. */
const FIELD_NAME_CHARS = 64;
const FIELD_TEXT_CHARS = 2000;
const BRAND_FIELDS = 490; // of 500: some names are short in one call and long in the next
const CSV_COLUMNS = 490; // of 500, with the address and those of earlier calls
const CSV_ROW_BYTES = 1_000_000;

const ADDRESS_CHARS = 254; // RFC 5321 §4.5.3.1.3, without the brackets
const LOCAL_CHARS = 64;
const LABEL_CHARS = 63;
const LEAST_CHARS = 8;
const DOMAIN_NAME_CHARS = 219;
const URL_CHARS = 2048;
/** Letters that take four bytes, of which there are 42,720. */
const WIDE_FIRST = 0x20000;
const WIDE_COUNT = 42_720;

const between = (share, least, most) => Math.min(Math.max(least, Math.round(most * share)), Math.max(least, most));

export class Values {
  /**
   * `idOf(kind)` gives the id of a resource. `first` is the number of the first row: other numbers make other addresses. `format`
   * is the language of designs. `enums` has the values of declared enums by name.
   */
  constructor({ scale, distribution, idOf, enums, first = 0, format = 'html' }) {
    Object.assign(this, { scale, distribution, idOf, enums, first, format });
  }

  get isWide() {
    return this.distribution === 'multi-byte';
  }

  /** How many of something, of which there may be `most`. */
  count(dimension, most, least = 1) {
    return between(this.scale[dimension], least, most);
  }

  // ---- Texts ----

  /** `chars` characters; `number` tells one from another, except where all are alike. */
  text(chars, number = 0) {
    if (chars <= 0) return '';
    if (this.isWide) {
      const letter = String.fromCodePoint(WIDE_FIRST + (number % WIDE_COUNT));
      return letter.repeat(chars);
    }
    const mark = this.distribution === 'alike' ? 'x' : `${number.toString(36).padStart(5, '0')}-`;
    return mark.repeat(Math.ceil(chars / mark.length)).slice(0, chars);
  }

  textOf({ minLength = 0, maxLength }, number) {
    const most = Math.min(maxLength, this.#textMost ?? maxLength);
    return this.text(this.count('values', most, Math.min(Math.max(minLength, LEAST_CHARS), maxLength)), number);
  }

  #textMost;

  /** Names of one length that differ: at the end where all are alike, so that comparing two reads all of them. */
  name(number) {
    const index = number.toString(36).padStart(3, '0');
    const rest = Math.max(0, this.count('names', FIELD_NAME_CHARS, 4) - index.length - 1);
    if (this.isWide) return `f${index}${String.fromCodePoint(WIDE_FIRST).repeat(rest)}`;
    const fill = 'abcdefghij'.repeat(7).slice(0, rest);
    return this.distribution === 'alike' ? `f${fill}${index}` : `f${index}${fill}`;
  }

  /** An address that mail could have; those of one number are the same. */
  address(row, maxLength) {
    const number = this.distribution === 'alike' ? 0 : this.first + row;
    const chars = this.count('values', Math.min(maxLength, ADDRESS_CHARS), 20);
    const domainChars = chars - 1 - Math.min(LOCAL_CHARS, Math.max(12, chars - 20));
    return `${`r${number}`.padEnd(chars - 1 - domainChars, 'x')}@${domainOf(domainChars, 'example')}`;
  }

  // ---- Objects with free names ----

  /** The field names of a row: the same ones in every row, or, where rows differ, as many names as a brand may have. */
  fieldNames(row, most) {
    const count = this.count('fields', most);
    const from = this.distribution === 'alike' ? 0 : row * count;
    return Array.from({ length: count }, (_, i) => this.name((from + i) % BRAND_FIELDS));
  }

  fieldValue(row, index, chars = FIELD_TEXT_CHARS) {
    return this.text(this.count('values', chars, 1), row * BRAND_FIELDS + index);
  }

  fieldsOf({ maxProperties }, row) {
    return Object.fromEntries(this.fieldNames(row, maxProperties).map((name, index) => [name, this.fieldValue(row, index)]));
  }

  payloadFieldsOf({ maxItems }) {
    const text = { type: 'string', required: false, fallbackValue: this.textOf({ maxLength: FIELD_TEXT_CHARS }, 0) };
    const others = Array.from({ length: this.count('fields', maxItems - 1) }, (_, i) => ({ key: this.name(i), ...text }));
    return [{ key: 'email', type: 'string', required: true }, ...others];
  }

  groupsOf({ maxProperties }, row) {
    return Object.fromEntries(this.fieldNames(row, maxProperties).map((name) => [name, true]));
  }

  // ---- Files of contacts ----

  columns() {
    return Array.from({ length: this.count('fields', CSV_COLUMNS) }, (_, i) => this.name(i));
  }

  csvOf({ maxLength }) {
    const names = this.columns();
    const cell = Math.floor(Math.min(FIELD_TEXT_CHARS, CSV_ROW_BYTES / names.length / (this.isWide ? 4 : 1)));
    const line = (row) => [this.address(row, 320), ...names.map((_, index) => this.fieldValue(row, index, cell))].join(',');
    const chars = this.count('rows', maxLength, 40);
    const lines = [['email', ...names].join(','), line(0)];
    for (let row = 1, size = lines[0].length + lines[1].length; ; row++) {
      const next = this.distribution === 'alike' ? lines[1] : line(row);
      size += next.length + 1;
      if (size > chars) return `${lines.join('\n')}\n`;
      lines.push(next);
    }
  }

  mappingOf() {
    return Object.fromEntries(this.columns().map((name) => [name, name]));
  }

  // ---- Parameters ----

  /** A value for a parameter; undefined where none can be made, or where its absence is the ordinary case. */
  of(schema, name, { isRequired = false, row = 0 } = {}) {
    const kind = KINDS.find(({ fits }) => fits(schema, name, this));
    return kind.make(this, schema, name, { isRequired, row });
  }

  #itemsOf(schema, name, row) {
    const count = this.count('rows', schema.maxItems, schema.minItems ?? 1);
    const item = (i) => this.of(schema.items, name, { isRequired: true, row: schema.items.type === 'object' ? i : row + i });
    return Array.from({ length: count }, (_, i) => item(i));
  }

  #membersOf(schema, row) {
    const members = Object.entries(schema.properties).map(([member, within]) =>
      [member, this.of(within, member, { isRequired: schema.required?.includes(member), row })]);
    return Object.fromEntries(members.filter(([, value]) => value !== undefined));
  }

  static list = (values, schema, name, { row }) => values.#itemsOf(schema, name, row);
  static object = (values, schema, name, { row }) => values.#membersOf(schema, row);
}

const domains = new Map();

/** A domain name of about `chars` characters, labels as long as they may be. */
function domainOf(chars, start) {
  const key = `${chars} ${start}`;
  if (!domains.has(key)) {
    let rest = Math.max(0, chars - start.length - '.com'.length);
    const labels = [];
    for (; rest > 1; rest -= labels.at(-1).length + 1) labels.push('x'.repeat(Math.min(LABEL_CHARS, rest - 1)));
    domains.set(key, [...labels, start, 'com'].join('.'));
  }
  return domains.get(key);
}

const isText = (schema) => schema.type === 'string' && schema.enum === undefined;
const isFree = (schema) => schema.free === true;
const ifRequired = (make) => (values, schema, name, options) => (options.isRequired ? make(values, schema, name, options) : undefined);
const nothing = () => undefined;

/** The first kind that fits makes the value. A new kind of value is a line here; a new parameter of a known kind is none. */
const KINDS = [
  // What stands for a place in a list, for a file, or for a secret, cannot be made large.
  { fits: (schema, name) => isText(schema) && ['cursor', 'path'].includes(name), make: nothing },
  { fits: (schema) => schema.type === 'string' && schema.format === 'tokens', make: (values, schema) => schema.enum.join(',') },
  { fits: (schema) => schema.enum !== undefined && schema.enum.includes('jsx'), make: (values) => values.format },
  { fits: (schema) => schema.enum !== undefined, make: ifRequired((values, schema) => schema.enum[0]) },
  { fits: (schema) => schema.format === 'date-time', make: ifRequired(() => new Date(Date.now() - 864e5).toISOString()) },
  // Resources: only those that must be named.
  { fits: (schema, name) => isText(schema) && (/Ids?$/.test(name) || schema.format?.startsWith('id:')) && kindOf(name.replace(/Ids$/, 'Id'), schema) !== undefined,
    make: ifRequired((values, schema, name) => values.idOf(kindOf(name.replace(/Ids$/, 'Id'), schema)) ?? values.text(schema.maxLength ?? LEAST_CHARS)) },
  { fits: (schema, name, values) => isText(schema) && values.enums.has(name.replace(/s$/, '')), make: (values, schema, name, { row }) => {
    const choices = values.enums.get(name.replace(/s$/, ''));
    return choices[row % choices.length];
  } },
  { fits: (schema, name) => isFree(schema) && name === 'filters', make: (values, schema) => filterOf(values, schema) },
  { fits: (schema, name) => isFree(schema) && name === 'mapping', make: (values) => values.mappingOf() },
  { fits: (schema, name) => isFree(schema) && /groups$/i.test(name), make: (values, schema, name, { row }) => values.groupsOf(schema, row) },
  { fits: (schema) => isFree(schema) && schema.shape === 'payloadField', make: (values, schema) => values.payloadFieldsOf(schema) },
  { fits: (schema) => isFree(schema) && schema.type === 'object', make: (values, schema, name, { row }) => values.fieldsOf(schema, row) },
  { fits: (schema) => isFree(schema), make: ifRequired((values, schema) => Array.from({ length: values.count('rows', schema.maxItems) }, (_, row) => row)) },
  // A text that every design of the harness has. What a reader sees stays, so each edit meets the same design.
  { fits: (schema, name) => schema.type === 'array' && name === 'replacements', make: () => [{ find: 'Hi', with: 'H\u00adi', all: true }] },
  { fits: (schema, name) => isText(schema) && name === 'csv', make: (values, schema) => values.csvOf(schema) },
  { fits: (schema, name) => isText(schema) && ['content', 'html', 'mjml'].includes(name), make: (values, schema) => designOf(values, schema) },
  { fits: (schema, name) => isText(schema) && isAddress(schema, name), make: (values, schema, name, { row }) => values.address(row, schema.maxLength) },
  { fits: (schema, name) => isText(schema) && /zone$/i.test(name), make: ifRequired(() => 'Europe/Paris') },
  { fits: (schema, name) => isText(schema) && name === 'locale', make: ifRequired(() => 'en') },
  { fits: (schema) => isText(schema) && schema.maxLength === DOMAIN_NAME_CHARS,
    make: (values, schema, name, { row }) => domainOf(values.count('values', schema.maxLength, 20), `sizes${values.first + row}`) },
  { fits: (schema) => isText(schema) && schema.maxLength === URL_CHARS,
    make: (values, schema) => `https://example.com/${values.text(values.count('values', schema.maxLength - 20, LEAST_CHARS)).replace(/[^\x21-\x7e]/gu, '%F0%A0%80%80').slice(0, schema.maxLength - 20)}` },
  { fits: isText, make: (values, schema, name, { row }) => values.textOf(schema, values.first + row) },
  { fits: (schema, name) => schema.type === 'integer' && name === 'limit', make: (values, schema) => values.count('rows', schema.maximum) },
  { fits: (schema) => ['integer', 'number'].includes(schema.type), make: ifRequired((values, schema) => schema.maximum) },
  { fits: (schema) => schema.type === 'boolean', make: ifRequired(() => true) },
  { fits: (schema) => schema.type === 'array', make: Values.list },
  { fits: (schema) => schema.properties !== undefined, make: Values.object },
  { fits: () => true, make: nothing },
];

function isAddress(schema, name) {
  return schema.format === 'email' || (/^emails?$|^to$|recipient/i.test(name) && schema.maxLength >= 320);
}
