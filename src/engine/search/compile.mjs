// Generates a C file with the data of the searches from their declaration (schemas/search.json):
//
//   compile.mjs DECLARATION OUTPUT_FILE
//
// Words keep the form in which people write them: src/engine/search/tokens.c folds them when they are used.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const NAME = /^[a-z][a-z-]{1,30}$/;
const CATEGORIES = ['welcome', 'newsletter', 'promotional', 'product-launch', 'product-update', 'cart-abandonment',
  'event-invitation', 'event-reminder', 'feedback-request', 're-engagement', 'referral', 'business', 'internal', 'general'];
const FIELDS = ['title', 'category', 'brand', 'subject', 'preview', 'text', 'concept', 'mentioned'];
const MAX_PHRASE_WORDS = 5;
const [declaration, output] = process.argv.slice(2);
const search = JSON.parse(readFileSync(declaration, 'utf8'));

function refuse(problem) {
  console.error(`${declaration}: ${problem}`);
  process.exit(1);
}

const text = (value) => JSON.stringify(value);
const number = (value, place) => (Number.isFinite(value) && value >= 0 ? String(value) : refuse(`${place} is not a number of 0 or more`));
const words = (list) => `(const char *const[]){ ${[...list.map(text), 'NULL'].join(', ')} }`;

function checkName(name, known) {
  if (!NAME.test(name) || known.has(name)) refuse(`${name} is not a new name`);
  known.add(name);
}

function field(name) {
  const { weight, b } = search.templates.fields[name] ?? refuse(`templates.fields.${name} is missing`);
  return `        [TEMPLATE_FIELD_${name.toUpperCase()}] = { ${number(weight, `${name}.weight`)}, ${number(b, `${name}.b`)} },`;
}

const names = new Set();

function concept({ name, categories, phrases }) {
  checkName(name, names);
  for (const category of categories) if (!CATEGORIES.includes(category)) refuse(`${name}: ${category} is not a category`);
  const all = Object.values(phrases).flat();
  for (const phrase of all) if (phrase.split(/\s+/).length > MAX_PHRASE_WORDS) refuse(`${name}: "${phrase}" has more than ${MAX_PHRASE_WORDS} words`);
  return `    { "@${name}", ${words(categories)},\n      ${words([...new Set(all)])} },`;
}

function colour([name, list]) {
  checkName(name, new Set());
  return `    { ${text(name)}, ${words(list)} },`;
}

const covered = new Set(search.concepts.flatMap(({ categories }) => categories));
for (const category of CATEGORIES) if (!covered.has(category)) refuse(`no concept has the category ${category}`);
if (Object.keys(search.templates.fields).length !== FIELDS.length) refuse('templates.fields has another number of fields');

mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, `/* Generated from schemas/search.json by src/engine/search/compile.mjs. */
const char *const search_stop_words[] = { ${[...Object.values(search.stopWords).flat().map(text), 'NULL'].join(', ')} };

const char *const picture_stop_words[] = { ${[...search.pictureStopWords.map(text), 'NULL'].join(', ')} };

const struct template_weights template_weights = {
    .k1 = ${number(search.templates.k1, 'templates.k1')},
    .concept = ${number(search.templates.conceptWeight, 'templates.conceptWeight')},
    .corrected = ${number(search.templates.correctedWeight, 'templates.correctedWeight')},
    .fields = {
${FIELDS.map(field).join('\n')}
    },
};

const struct colour_words search_colours[] = {
${Object.entries(search.colours).map(colour).join('\n')}
    { NULL, NULL },
};

const struct concept search_concepts[] = {
${search.concepts.map(concept).join('\n')}
    { NULL, NULL, NULL },
};
`);
