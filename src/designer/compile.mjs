// Generates from the declaration of documents (schemas/document.json):
//
//   compile.mjs DECLARATION OUTPUT_FOLDER
//
//   designer/document_data.h   the tables that src/designer/document.c checks documents with
//   designer/schema_data.h     the JSON Schemas of a document: a full one, and a strict one for model providers; the short form for assistants
//   docs/reference/document.md the reference page
//
// The strict schema names every member as required and gives those that may be left out the type null, since providers refuse optional
// members; it has no lengths and no recursion.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const [declaration, folder] = process.argv.slice(2);
const declared = JSON.parse(readFileSync(declaration, 'utf8'));

function refuse(place, problem) {
  console.error(`${declaration}: ${place}: ${problem}`);
  process.exit(1);
}

// ---- The declaration, with shared fields in their places ----

const NAME = /^[a-z][A-Za-z]{1,30}$/;
const MEMBERS = ['kind', 'shared', 'summary', 'required', 'min', 'max', 'values', 'pattern', 'fields', 'items'];
const BOUNDED = ['inline', 'plain', 'name', 'link', 'source', 'moment', 'html', 'condition', 'path', 'id'];

/** A field in full: what a shared one lacks comes from its declaration. */
function resolve(field, place) {
  const shared = field.shared === undefined ? {} : declared.shared[field.shared] ?? refuse(place, `${field.shared} is not a shared field`);
  const whole = { required: false, ...shared, ...field };
  delete whole.shared;
  for (const member of Object.keys(whole)) if (!MEMBERS.includes(member)) refuse(place, `${member} is not a member of a field`);
  if (declared.kinds[whole.kind] === undefined) refuse(place, `${whole.kind} is not a kind`);
  if (!whole.summary?.endsWith('.')) refuse(place, 'the summary is not a sentence');
  if (BOUNDED.includes(whole.kind) && !(whole.max > 0)) refuse(place, 'a text needs a bound');
  if (whole.kind === 'enum' && !(whole.values?.length > 0)) refuse(place, 'an enum needs values');
  if (whole.fields !== undefined) whole.fields = resolveAll(whole.fields, place);
  if (whole.items !== undefined) whole.items = resolve(whole.items, `${place}.items`);
  if (whole.kind === 'list' && !(whole.max > 0)) refuse(place, 'a list needs a bound');
  return whole;
}

function resolveAll(fields, place) {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => {
    if (!NAME.test(name)) refuse(place, `${name} is not a name`);
    return [name, resolve(field, `${place}.${name}`)];
  }));
}

const document = resolveAll(declared.document, 'document');
const common = resolveAll(declared.block, 'block');
const blocks = Object.entries(declared.blocks).map(([type, { summary, variants, fields }]) => {
  if (!NAME.test(type) || !(variants?.length > 0) || !summary?.endsWith('.')) refuse(`blocks.${type}`, 'needs a summary and variants');
  return { type, summary, variants, fields: resolveAll(fields, `blocks.${type}`) };
});
const operations = Object.entries(declared.operations).map(([op, { summary, fields }]) => ({ op, summary, fields: resolveAll(fields, `operations.${op}`) }));

// ---- Tables in C ----

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const upper = (name) => snake(name).toUpperCase().replaceAll('-', '_');
const text = (value) => (value === undefined ? 'NULL' : JSON.stringify(value));

class Tables {
  lines = [];

  /** The table of fields; its name, after those that it names. */
  fields(name, fields) {
    const rows = Object.entries(fields).map(([member, field]) => this.#row(`${name}_${snake(member)}`, member, field));
    // A type without members has an empty table, which C does not know.
    if (rows.length === 0) return { table: 'NULL', count: 0 };
    this.lines.push(`static const struct document_field ${name}[] = {`, ...rows, '};');
    return { table: name, count: rows.length };
  }

  words(name, values) {
    this.lines.push(`static const char *const ${name}[] = { ${[...values.map(text), 'NULL'].join(', ')} };`);
    return name;
  }

  #row(table, name, field) {
    const members = [`.name = ${text(name)}`, `.kind = DOCUMENT_${upper(field.kind)}`];
    if (field.required) members.push('.is_required = true');
    if (field.min !== undefined) members.push(`.min = ${field.min}`);
    if (field.max !== undefined) members.push(`.max = ${field.max}`);
    if (field.pattern !== undefined) members.push(`.pattern = DOCUMENT_PATTERN_${upper(field.pattern)}`);
    if (field.values !== undefined) members.push(`.values = ${this.words(`${table}_values`, field.values)}`);
    if (field.fields !== undefined) {
      const inner = this.fields(table, field.fields);
      members.push(`.fields = ${inner.table}`, `.field_count = ${inner.count}`);
    }
    if (field.items !== undefined) {
      const inner = this.fields(table, { item: field.items });
      members.push(`.fields = ${inner.table}`, `.field_count = ${inner.count}`);
    }
    return `    { ${members.join(', ')} },`;
  }
}

function tables() {
  const all = new Tables();
  const top = all.fields('document_fields', document);
  const shared = all.fields('block_fields', common);
  const rows = blocks.map(({ type, variants, fields }) => {
    const own = all.fields(`${snake(type)}_fields`, fields);
    const words = all.words(`${snake(type)}_variants`, variants);
    return `    { ${text(type)}, ${words}, ${own.table}, ${own.count} },`;
  });
  return [
    '/* The forms of documents, compiled by src/designer/compile.mjs. */',
    ...all.lines,
    'static const struct document_block_type block_types[] = {', ...rows, '};',
    `enum { DOCUMENT_FIELD_COUNT = ${top.count}, BLOCK_FIELD_COUNT = ${shared.count} };`, '',
  ].join('\n');
}

// ---- JSON Schemas ----

const strictType = (type, isRequired) => (isRequired ? type : [type, 'null']);

function schemaOf(field, isStrict) {
  const { kind, values, fields, items, summary, min, max, required } = field;
  const type = (name) => (isStrict ? strictType(name, required) : name);
  const description = `${summary.slice(0, -1)}${kind === 'inline' ? '; inline Markdown' : ''}.`;
  if (kind === 'group') return { type: type('object'), description, ...objectOf(fields, isStrict) };
  if (kind === 'list') {
    const bounds = isStrict ? {} : { minItems: min ?? 0, maxItems: max };
    return { type: type('array'), description, ...bounds, items: schemaOf({ ...items, required: true }, isStrict) };
  }
  if (kind === 'enum') return { type: type('string'), description, enum: isStrict && !required ? [...values, null] : values };
  if (kind === 'integer') return { type: type('integer'), description, ...(isStrict ? {} : { minimum: min, maximum: max }) };
  if (kind === 'colour') return { type: type('string'), description, ...(isStrict ? {} : { pattern: '^#[0-9a-fA-F]{6}$' }) };
  return { type: type('string'), description, ...(isStrict ? {} : { minLength: min ?? 0, maxLength: max }) };
}

function objectOf(fields, isStrict) {
  const names = Object.keys(fields);
  const required = isStrict ? names : names.filter((name) => fields[name].required);
  const properties = Object.fromEntries(names.map((name) => [name, schemaOf(fields[name], isStrict)]));
  return { properties, ...(required.length > 0 ? { required } : {}), additionalProperties: false };
}

function blockSchema({ type, summary, variants, fields }, isStrict) {
  const variant = { kind: 'enum', values: variants, required: false, summary: 'Form of the block.' };
  const members = { variant, ...common, ...fields };
  // A model gives no ids: the service does.
  if (isStrict) delete members.id;
  const { properties, required = [] } = objectOf(members, isStrict);
  return {
    type: 'object', description: summary, properties: { type: { type: 'string', enum: [type] }, ...properties },
    required: ['type', ...required], additionalProperties: false,
  };
}

function documentSchema(isStrict) {
  const { blocks: list, ...rest } = document;
  if (isStrict) delete rest.schema;
  const { properties, required } = objectOf(rest, isStrict);
  const items = { anyOf: blocks.map((block) => blockSchema(block, isStrict)) };
  const bounds = isStrict ? {} : { minItems: list.min, maxItems: list.max };
  return {
    type: 'object', description: declared.summary,
    properties: { ...properties, blocks: { type: 'array', description: list.summary, ...bounds, items } },
    required: [...required, 'blocks'], additionalProperties: false,
  };
}

// ---- The short form for assistants ----

const SHORT = { inline: 'Markdown', plain: 'text', name: 'plain text', link: 'address', source: 'address of a picture', colour: '#rrggbb', moment: 'date and time' };

function shortForm({ kind, values, fields, items }) {
  if (kind === 'enum') return values.join('|');
  if (fields !== undefined) return `{${shortFields(fields)}}`;
  return items !== undefined ? `[${shortForm(items)}]` : SHORT[kind] ?? kind;
}

/** "heading!: text, …"; the sign marks a required member. */
function shortFields(fields) {
  return Object.entries(fields).map(([name, field]) => `${name}${field.required ? '!' : ''}: ${shortForm(field)}`).join(', ');
}

function help() {
  const { blocks: list, schema, ...members } = document;
  const { id, ...every } = common;
  return [
    `Members (! is required): ${shortFields(members)}, blocks!: ${list.min} to ${list.max} blocks.`, '',
    `Every block: type!, variant, ${shortFields(every)}. Ids are given by the service.`, '',
    ...blocks.map(({ type, variants, fields }) => `- ${type} (${variants.join(', ')})${Object.keys(fields).length > 0 ? `: ${shortFields(fields)}` : ''}`),
  ].join('\n');
}

function schemas() {
  const constant = (name, schema) => [`static const char ${name}[] =`, ...(typeof schema === 'string' ? schema : JSON.stringify(schema)).match(/[^]{1,100}/g).map((part) => `    ${text(part)}`)].join('\n');
  return [
    '/* The JSON Schemas of documents, compiled by src/designer/compile.mjs. */',
    `${constant('full_schema', { $schema: 'https://json-schema.org/draft/2020-12/schema', ...documentSchema(false) })};`,
    `${constant('strict_schema', documentSchema(true))};`,
    `${constant('help_text', help())};`, '',
  ].join('\n');
}

// ---- The reference page ----

const boundOf = ({ kind, min, max, values }) => {
  if (kind === 'enum') return values.map((value) => `\`${value}\``).join(', ');
  if (kind === 'list') return `${min ?? 0} to ${max} entries`;
  if (kind === 'integer') return `${min} to ${max}`;
  return max === undefined ? '' : `at most ${max} characters`;
};

function fieldRows(fields, prefix = '') {
  return Object.entries(fields).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const row = `| \`${path}\`${field.required ? ' (required)' : ''} | ${field.kind} | ${boundOf(field)} | ${field.summary} |`;
    const inner = field.fields ?? field.items?.fields;
    const mark = field.items === undefined ? '.' : '[].';
    const below = inner === undefined ? [] : fieldRows(inner, `${path}${mark}`);
    const entry = field.items !== undefined && inner === undefined ? [`| \`${path}[]\` | ${field.items.kind} | ${boundOf(field.items)} | ${field.items.summary} |`] : [];
    return [row, ...entry, ...below];
  });
}

const table = (fields) => ['| Member | Kind | Bound | Meaning |', '|---|---|---|---|', ...fieldRows(fields)];

function page() {
  return [
    '# Documents', '',
    `${declared.summary} Generated from \`schemas/document.json\`.`, '',
    '## Kinds of values', '', '| Kind | Meaning |', '|---|---|',
    ...Object.entries(declared.kinds).map(([kind, meaning]) => `| ${kind} | ${meaning}. |`), '',
    '## The document', '', ...table(document), '',
    '## Every block', '',
    'A block has a `type`, may have a `variant`, and may have these members. The first variant is taken when none is given.', '',
    ...table(common), '',
    ...blocks.flatMap(({ type, summary, variants, fields }) => [
      `## ${type}`, '', `${summary} Variants: ${variants.map((one) => `\`${one}\``).join(', ')}.`, '',
      ...(Object.keys(fields).length > 0 ? [...table(fields), ''] : []),
    ]),
    '## Operations', '', 'An operation has the member `op` with its name. All operations of a change are applied, or none.', '',
    ...operations.flatMap(({ op, summary, fields }) => [`### ${op}`, '', summary, '', ...table(fields), '']),
  ].join('\n');
}

function write(name, contents) {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, contents);
}

write('designer/document_data.h', tables());
write('designer/schema_data.h', schemas());
write('docs/reference/document.md', `${page().trimEnd()}\n`);
