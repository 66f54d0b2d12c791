// Compares docs/dependencies.md with what the tree uses: the Debian packages of tests/setup.sh, the libraries of CMakeLists.txt,
// and name, version and licence of each direct dependency in every lock file.
//
//     node dependencies.mjs
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const PAGE = 'docs/dependencies.md';
const read = (file) => readFileSync(join(ROOT, file), 'utf8');
const page = read(PAGE);
let passed = 0;
let failed = 0;

/** What is only in one of two lists is wrong. */
function compare(what, listed, used) {
  const wrong = [...used.filter((one) => !listed.includes(one)).map((one) => `lacks ${one}`), ...listed.filter((one) => !used.includes(one)).map((one) => `has ${one}`)];
  for (const one of wrong) console.log(`FAILED ${PAGE}, ${what}: ${one}`);
  failed += wrong.length;
  passed += used.length;
}

/** The cells of the tables in a part of the page, without their headings. */
const rows = (text) => [...text.matchAll(/^\| (`.*) \|$/gm)].map(([, row]) => row.split(' | '));
const names = (cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
/** The part of the page under a heading. */
const under = (heading) => new RegExp(`^#+ ${heading}\\n(.*?)(?=^#|(?![^]))`, 'ms').exec(page)?.[1] ?? '';

// ---- Debian packages, and the libraries that CMake searches ----

const setup = read('tests/setup.sh').replace(/^\s*#.*$/gm, '');
const needed = [...setup.matchAll(/packages\+?=\(([^)]*)\)/g)].flatMap(([, list]) => list.trim().split(/\s+/));
const libraries = rows(under('Libraries linked into the binary'));
const runtime = [...under('Programs at run time').matchAll(/^\|[^|]*\| (`[^|]*)\|/gm)].flatMap(([, cell]) => names(cell));
const others = ['To build', 'Debian packages'].flatMap((heading) => rows(under(heading))).flatMap(([cell]) => names(cell));
compare('Debian packages', [...libraries.flatMap(([cell]) => names(cell)), ...runtime, ...others], needed);

const cmake = read('CMakeLists.txt');
const searched = /set\(library_packages ([^)]*)\)/.exec(cmake)[1].split(/\s+/);
const [, linked] = /target_link_libraries\(posthorn PUBLIC (.*)\)/.exec(cmake);
const further = linked.split(' ').filter((name) => !['settings', 'PkgConfig::DEPS', 'Threads::Threads', 'm'].includes(name));
compare('libraries', libraries.flatMap(([, , cell]) => names(cell)), [...searched, ...further]);

// ---- npm packages ----

/** The folders with a lock file, without what is installed or built. */
function lockFolders(folder = '') {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'package-lock.json') return [folder];
    const isOurs = entry.isDirectory() && !['node_modules', 'build', '.git'].includes(entry.name);
    return isOurs ? lockFolders(join(folder, entry.name)) : [];
  });
}

/** "MIT 2, ISC 1": the most frequent first. */
function countLicences(packages) {
  const counts = new Map();
  for (const { license } of packages) counts.set(license, (counts.get(license) ?? 0) + 1);
  const sorted = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return sorted.map(([name, count]) => `${name} ${count}`).join(', ');
}

const folders = lockFolders();
const sections = page.split(/(?=^[^|\n]*\(`[a-z/_-]+`\)$)/m).slice(1).map((text) => [/\(`([^`]+)`\)/.exec(text)[1], text]);
compare('folders with a lock file', sections.map(([folder]) => folder), folders);
for (const [folder, text] of sections.filter(([name]) => folders.includes(name))) {
  const { packages: { '': tree, ...packages } } = JSON.parse(read(join(folder, 'package-lock.json')));
  const used = Object.keys({ ...tree.dependencies, ...tree.devDependencies }).map((name) => {
    const { version, license } = packages[`node_modules/${name}`];
    return `${name} ${version} ${license}`;
  });
  const table = rows(text.slice(text.indexOf('\n')).split(/^#/m)[0]);
  compare(folder, table.map(([name, version, license]) => `${names(name)} ${version} ${license}`), used);
  const [, counted] = /licences(?: of the whole tree)?: (.*)\.$/m.exec(text) ?? [];
  if (counted !== undefined) compare(`${folder}, licences`, [counted], [countLicences(Object.values(packages))]);
}

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
