// Refuses words that have a better term: names that files and identifiers had before, and phrases that make a reader stop.
// tests/words.json lists them as regular expressions: the word, `in` which files when not in all, and the term to use. It also lists
// exceptions: a file as a whole, or one word in some files or lines, with the reason.
//   node tests/words.mjs [FOLDER…]    src, schemas, tools, tests and docs when none is named
// A word is found in comments, texts and identifiers, whatever its case; snake_case and camelCase are words with spaces.
// A failure names file and line.
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const { words, exceptions } = JSON.parse(readFileSync(join(root, 'tests/words.json'), 'utf8'));
const IGNORED = /^(node_modules|build|\.git|package-lock\.json)$/;
const IS_TEXT = /\.(c|h|sql|mjs|cjs|js|tsx|json|jsonl|md|sh|py|cmake|txt|mjml|html)$/;

function filesBelow(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { withFileTypes: true })
    .filter(({ name }) => !IGNORED.test(name))
    .flatMap(({ name }) => filesBelow(join(path, name)))
    .filter((file) => IS_TEXT.test(file));
}

// ---- Finding words ----

/** A space in a word is also a line break in a comment, and `_` in an identifier. */
const inIdentifiers = (word) => word.replace(/ (?!\?)/g, '(?:[ _]|\\s+(?:\\*|//|--|#)?\\s*)').replace(/_(?!\?)/g, '[_ ]?');
const anyWord = new RegExp(words.map(({ word }, index) => `(?<w${index}>(?<![a-z])(?:${inIdentifiers(word)})(?![a-z]))`).join('|'), 'gi');

/** Puts a space between the words of camelCase, so that line numbers stay. */
const apart = (text) => text.replace(/([a-z0-9])([A-Z])/g, '$1 $2');

function* findings(text) {
  for (const match of apart(text).matchAll(anyWord)) {
    const index = Object.entries(match.groups).find(([, found]) => found !== undefined)[0].slice(1);
    yield { entry: words[Number(index)], at: match.index };
  }
}

// ---- Exceptions ----

const matches = (pattern, text) => pattern === undefined || new RegExp(pattern).test(text);
const isException = (path, { word, in: where }, text) =>
  !matches(where, path) || exceptions.some((one) => matches(one.path, path) && one.word === word && matches(one.text, text));
const isWholeException = (path) => exceptions.some((one) => one.word === undefined && matches(one.path, path));

// ---- The run ----

const folders = process.argv.length > 2 ? process.argv.slice(2) : ['src', 'schemas', 'tools', 'tests', 'docs', 'README.md'];
let passed = 0;
let failed = 0;

function judgeFile(path) {
  const text = readFileSync(join(root, path), 'utf8');
  const lines = text.split('\n');
  const spaced = apart(text);
  let isClean = true;
  for (const { entry, at } of findings(text)) {
    const line = spaced.slice(0, at).split('\n').length;
    if (isException(path, entry, lines[line - 1])) continue;
    isClean = false;
    console.log(`FAILED ${path}:${line}: "${lines[line - 1].trim()}": use ${entry.use}`);
  }
  isClean ? passed++ : failed++;
}

for (const folder of folders)
  for (const file of filesBelow(join(root, folder))) {
    const path = relative(root, file);
    if (!isWholeException(path)) judgeFile(path);
  }

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
