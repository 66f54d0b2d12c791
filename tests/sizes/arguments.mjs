// The arguments of an operation at a size, from its declaration: every parameter that can be large, as large as the size says, and
// the whole within the bound of the body.

import { asRequest } from '../cases/runner/catalogue.mjs';
import { kindOf, Resources } from '../lib/resource_kinds.mjs';
import { DIMENSIONS, Values } from './values.mjs';

const LINE_BYTES = 7000; // the longest request line that libmicrohttpd takes is a little longer
const BODY_SHARE = 0.98;
/** A share of which the size is measured, to estimate that of the whole. */
const SAMPLE = 0.02;
const MORE = 0.2;
const TINY = 1e-6;
const UNKNOWN_CHARS = 16;
const LEAST = { rows: 0, fields: 0, names: 0, values: 0 };

export const parametersOf = (operation) => ({ ...operation.path, ...operation.query, ...operation.body });

/** {name of a parameter: its values} of all enums in the declarations: a list `eventTypes` takes values of an `eventType`. */
export function enumsOf(catalogue) {
  const found = new Map();
  for (const operation of catalogue.operations.values()) {
    for (const [name, schema] of Object.entries(parametersOf(operation))) if (schema.enum) found.set(name, schema.enum);
  }
  return found;
}

/** The kinds of the resources that the parameters may name. */
export function kindsOf(operation) {
  const found = new Set();
  const look = (schema, name) => {
    const kind = kindOf(name.replace(/Ids$/, 'Id'), schema);
    if (kind !== undefined) found.add(kind);
    if (schema.items) look(schema.items, name);
    for (const [member, within] of Object.entries(schema.properties ?? {})) look(within, member);
  };
  for (const [name, schema] of Object.entries(parametersOf(operation))) look(schema, name);
  for (const code of operation.errors ?? []) if (code.endsWith('_NOT_FOUND')) found.add(code.slice(0, -'_NOT_FOUND'.length).toLowerCase());
  return [...found].filter((kind) => Resources.makes(kind));
}

/** What a refused path means in the declaration: `contacts.0.email` is `contacts.email`. */
const withoutIndexes = (param) => param.split('.').filter((step) => !/^\d+$/.test(step));

function without(value, [step, ...rest]) {
  if (Array.isArray(value)) return value.map((item) => without(item, [step, ...rest]));
  if (value === null || typeof value !== 'object' || !(step in value)) return value;
  const { [step]: inner, ...others } = value;
  return rest.length === 0 ? others : { ...others, [step]: without(inner, rest) };
}

export class Arguments {
  #operation;
  #bodyBytes;
  #omitted = [];
  #given = {};

  /**
   * `ids`: {kind: id} of the resources that exist; `plainIds` are tried when one of them is refused. `enums`: the values of declared enums by the name of their parameter. `example`:
   * values of the documented example. `only`: of the parameters that may be absent, this one alone.
   */
  constructor(operation, { bodyBytes, ids, plainIds = {}, enums = new Map(), example = {}, format = 'html', only }) {
    this.#operation = operation;
    this.#bodyBytes = operation.maxBodyBytes ?? bodyBytes;
    this.ids = ids;
    this.plainIds = plainIds;
    this.enums = enums;
    this.example = example;
    this.format = format;
    this.only = only;
  }

  get leftOut() {
    return [...this.#omitted.map((steps) => steps.join('.')), ...Object.keys(this.#given).map((name) => `${name} (example)`)];
  }

  /** Parameters left out that can be large: what they are in place of another one. */
  alternatives() {
    return this.#omitted.filter((steps) => steps.length === 1).map(([name]) => name).filter((name) => {
      const alone = new Arguments(this.#operation, { bodyBytes: this.#bodyBytes, ids: this.ids, enums: this.enums, only: name });
      return alone.dimensions().length > 0;
    });
  }

  /** `limit`, where other parameters that may be absent stand beside it. */
  pages() {
    const { limit, ...others } = this.make({}, 'different');
    return limit !== undefined && Object.keys(others).some((name) => !this.#isRequired(name)) ? ['limit'] : [];
  }

  /** The languages of the content, when there is one. */
  formats() {
    return parametersOf(this.#operation).format?.enum ?? [];
  }

  #isRequired(name) {
    const { path = {}, required = [], when } = this.#operation;
    return name in path || required.includes(name) || when?.present === name;
  }

  #values(scale, distribution, first) {
    return new Values({ scale: { ...LEAST, ...scale }, distribution, first, format: this.format, idOf: (kind) => this.ids[kind], enums: this.enums });
  }

  make(scale, distribution, first = 0) {
    const values = this.#values(scale, distribution, first);
    let args = {};
    for (const [name, schema] of Object.entries(parametersOf(this.#operation))) {
      const isRequired = this.#isRequired(name);
      if (this.only !== undefined && !isRequired && name !== this.only) continue;
      const existing = name in (this.#operation.path ?? {}) ? this.ids[kindOf(name, schema)] : undefined;
      const value = this.#given[name] ?? existing ?? values.of(schema, name, { isRequired });
      if (value !== undefined) args[name] = value;
    }
    for (const steps of this.#omitted) args = without(args, steps);
    return { ...args, ...this.#operation.when?.equals };
  }

  /** How many bytes the arguments take, and how many they may. */
  bytes(args) {
    if (this.#operation.route === null) return { used: Buffer.byteLength(JSON.stringify(args)), most: this.#bodyBytes };
    const { path, body } = asRequest(this.#operation, args);
    const used = body === undefined ? 0 : Buffer.byteLength(JSON.stringify(body));
    return path.length > LINE_BYTES ? { used: path.length, most: LINE_BYTES } : { used: used + path.length, most: this.#bodyBytes };
  }

  /** The dimensions in which the operation has a size at all. What is in rows and fields counts, so there are some. */
  dimensions() {
    const few = Object.fromEntries(DIMENSIONS.map((name) => [name, SAMPLE]));
    const size = (scale) => this.bytes(this.make(scale, 'different')).used;
    const hasLimit = 'limit' in parametersOf(this.#operation);
    const grows = (name, base) => size({ ...base, [name]: MORE }) > size(base);
    // Where the rows fill a file, names and values make each of them longer, and the file no larger.
    return DIMENSIONS.filter((name) => grows(name, few) || grows(name, { ...few, rows: 0 }) || (name === 'rows' && hasLimit));
  }

  /**
   * The largest size with these dimensions at their maxima that the bound of the body admits. The first dimension whose least would
   * fit shrinks until the whole does; one that is too large at its least stays there.
   */
  fit(dimensions, distribution) {
    const scale = Object.fromEntries(dimensions.map((name) => [name, 1]));
    const measure = (change) => this.bytes(this.make({ ...scale, ...change }, distribution));
    for (const name of dimensions) {
      const [none, some] = [measure({ [name]: 0 }), measure({ [name]: SAMPLE })];
      const room = none.most * BODY_SHARE - none.used;
      if (room < 0) {
        scale[name] = 0;
        continue;
      }
      scale[name] = Math.min(1, some.used <= none.used ? 1 : (SAMPLE * room) / (some.used - none.used));
      for (let whole = measure({}); scale[name] > TINY && whole.used > whole.most * BODY_SHARE; whole = measure({})) {
        scale[name] *= Math.min(0.97, (whole.most * BODY_SHARE) / whole.used);
      }
      break;
    }
    return scale;
  }

  /**
   * Takes back what made the server refuse the least arguments: a parameter that may be absent is left out, and an inner one of it;
   * an absent one that is wanted is given; a required one gets a resource of the kind that was not found, or the documented
   * example. False when nothing can be done about it.
   */
  giveWay(code, param) {
    const steps = this.#declared(withoutIndexes(param ?? ''));
    const [name] = steps;
    const schema = parametersOf(this.#operation)[name];
    if (schema === undefined || name === this.only) return false;
    if (this.#isOmitted(steps)) return false;
    if (steps.length > 1 || !this.#isRequired(name)) {
      if (steps.length === 1 && !(name in this.make({}, 'different'))) return this.#give(name, this.#valueOf(schema, name));
      this.#omitted.push(steps);
      return true;
    }
    const wanted = /^(\w+)_NOT_FOUND$/.exec(code)?.[1].toLowerCase();
    return this.givePlain(param) || this.#give(name, this.ids[wanted]) || this.#give(name, this.example[name]) || this.#give(name, 'x'.repeat(Math.min(schema.maxLength ?? UNKNOWN_CHARS, UNKNOWN_CHARS)));
  }

  /** In place of the largest resource one that any operation takes. */
  givePlain(param) {
    const [name] = this.#declared(withoutIndexes(param ?? ''));
    const kind = name === undefined ? undefined : kindOf(name, parametersOf(this.#operation)[name]);
    return kind !== undefined && this.plainIds[kind] !== this.ids[kind] && this.#give(name, this.plainIds[kind]);
  }

  #valueOf(schema, name) {
    return this.#values({}, 'different', 0).of(schema, name, { isRequired: true });
  }

  /** Each parameter is given one other value, no more. */
  #give(name, value) {
    if (value === undefined || name in this.#given) return false;
    this.#given[name] = value;
    return true;
  }

  #isOmitted(steps) {
    return this.#omitted.some((each) => each.join('.') === steps.join('.'));
  }

  /** The declared part of a path; what is required within an object stands for the object. */
  #declared(steps) {
    let schema = { properties: parametersOf(this.#operation), required: [] };
    let depth = 0;
    for (const step of steps) {
      const parent = schema.items ?? schema;
      if (parent.properties?.[step] === undefined) break;
      if (parent.required?.includes(step) && depth > 0) break;
      schema = parent.properties[step];
      depth++;
    }
    return steps.slice(0, depth);
  }
}
