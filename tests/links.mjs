// Checks the links of every README.md and of every page in docs:
//   1. the file of a relative link exists, and so does the heading of its anchor;
//   2. a path in back quotes that begins with src/ or tests/ exists;
//   3. a source file named in back quotes, with or without its folder, exists.
// Two kinds of pages name files that do not exist: the changelog names old ones, and the pages that a test follows make new ones.
// A failure names the page and the line.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const IGNORED = new Set(['node_modules', 'build', '.git']);
const NAMES_OTHER_FILES = /^docs\/(changelog|first-\w+)\.md$/;
const SOURCE_FILE = /^(?!(catalogue|sql)\/)[\w./-]+\.(c|h|mjs|sql|sh|cmake)$/; // these two folders are generated

function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (IGNORED.has(entry.name)) return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [relative(root, path)];
  });
}

const files = filesBelow(root);
const folders = new Set(files.flatMap((file) => file.split('/').map((_, index, parts) => parts.slice(0, index).join('/'))));
const pages = files.filter((file) => /(^|\/)README\.md$/.test(file) || (file.startsWith('docs/') && file.endsWith('.md')));

let passed = 0;
const wrong = [];
const judge = (holds, page, line, problem) => (holds ? passed++ : wrong.push(`${page}:${line}: ${problem}`));

// ---- Links ----

/** The anchor that a heading gets: lower case, without punctuation, hyphens for spaces. */
const anchorOf = (heading) => heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').trim().replace(/\s/g, '-');

function hasHeading(page, anchor) {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/^#+ (.+)$/gm)].some(([, heading]) => anchorOf(heading) === anchor) || text.includes(`id="${anchor}"`);
}

function judgeLink(page, line, target) {
  if (/^[a-z]+:/.test(target)) return;
  const [path, anchor] = target.split('#');
  const absolute = path === '' ? join(root, page) : join(root, dirname(page), decodeURI(path));
  judge(existsSync(absolute), page, line, `the link ${target} leads to no file`);
  if (anchor !== undefined && absolute.endsWith('.md') && existsSync(absolute))
    judge(hasHeading(relative(root, absolute), anchor), page, line, `the link ${target} leads to no heading`);
}

// ---- Paths in back quotes ----

/** The alternatives of a path with braces: a/{b,c} is a/b and a/c. */
function alternatives(path) {
  const match = /\{([^{}]*)\}/.exec(path);
  return match === null ? [path] : match[1].split(',').flatMap((part) => alternatives(path.replace(match[0], part.trim())));
}

function pathExists(path) {
  if (!path.includes('*')) return existsSync(join(root, path)) || files.some((file) => file.startsWith(path) && /^\.[ch]$/.test(file.slice(path.length)));
  const pattern = new RegExp(`^${path.replace(/[.+?^$()|[\]\\]/g, '\\$&').replace(/\*\*\//g, '(.*/)?').replace(/\*/g, '[^/]*')}$`);
  return files.some((file) => pattern.test(file)) || [...folders].some((folder) => pattern.test(folder));
}

const isPlaceholder = (path) => /[A-Z]{2}|…|<|\$/.test(path);

function judgeMention(page, line, mention) {
  const path = mention.split(/[\s:,]/)[0].replace(/\/$/, '');
  if (isPlaceholder(path)) return;
  if (/^(src|tests)\//.test(path)) {
    for (const one of alternatives(mention.split(/\s/)[0].replace(/:\d+$/, '').replace(/\/$/, '')))
      judge(pathExists(one), page, line, `there is no ${one}`);
  } else if (SOURCE_FILE.test(path)) {
    judge(files.some((file) => file === path || file.endsWith(`/${path}`)), page, line, `no file is named ${path}`);
  }
}

// ---- Pages ----

for (const page of pages) {
  let isCode = false;
  readFileSync(join(root, page), 'utf8').split('\n').forEach((text, index) => {
    if (text.startsWith('```')) isCode = !isCode;
    if (isCode) return;
    for (const [, target] of text.replace(/`[^`]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)) judgeLink(page, index + 1, target);
    // A link around back quotes: [`file`](file).
    for (const [, target] of text.matchAll(/`\]\(([^)\s]+)\)/g)) judgeLink(page, index + 1, target);
    if (NAMES_OTHER_FILES.test(page)) return;
    for (const [, mention] of text.matchAll(/`([^`]+)`/g)) judgeMention(page, index + 1, mention);
  });
}

for (const problem of wrong) console.log(`FAILED ${problem}`);
console.log(`${passed} passed, ${wrong.length} failed`);
process.exitCode = wrong.length > 0 || passed === 0 ? 1 : 0;
