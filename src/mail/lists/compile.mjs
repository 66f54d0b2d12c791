// Generates a C file with sorted tables of disposable domains, free mail domains and role addresses, from the lists of npm
// packages (package.json):
//
//   compile.mjs OUTPUT_FILE
//
// A table is one string of entries, each ended by a NUL, and an array of offsets in the byte order of the entries.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';

const ENTRY = /^[a-z0-9._+-]{1,253}$/;
const [output] = process.argv.slice(2);
const require = createRequire(import.meta.url);

function load(name) {
  try {
    return require(name);
  } catch (problem) {
    console.error(`address lists: ${name} is not installed; run bash tests/setup.sh (${problem.code ?? problem.message})`);
    process.exit(1);
  }
}

function table(name, entries) {
  const sorted = [...new Set(entries.map((entry) => entry.trim().toLowerCase()))].filter((entry) => ENTRY.test(entry)).sort();
  // This detects a package whose format has changed, which would give an empty list.
  if (sorted.length < 500) throw new Error(`${name}: the list has only ${sorted.length} entries; expected at least 500`);
  let at = 0;
  const offsets = sorted.map((entry) => [at, (at += entry.length + 1)][0]);
  const lines = sorted.map((entry) => `    "${entry}\\0"`);
  const rows = Array.from({ length: Math.ceil(offsets.length / 16) }, (_, i) => `    ${offsets.slice(i * 16, i * 16 + 16).join(', ')},`);
  return `static const char ${name}_text[] =\n${lines.join('\n')};\nstatic const uint32_t ${name}_offsets[] = {\n${rows.join('\n')}\n};\n`;
}

const disposable = load('disposable-email-domains-js/dist/dict/disposable_email_blocklist.json');
const disposableDomains = new Set(disposable);
// The list of free services includes the disposable domains.
const free = load('free-email-domains/domains.json').filter((domain) => !disposableDomains.has(domain));
const roles = load('role-based-email-addresses');

const versions = ['disposable-email-domains-js', 'free-email-domains', 'role-based-email-addresses'].map((name) => {
  const { version, license } = JSON.parse(readFileSync(require.resolve(`${name}/package.json`), 'utf8'));
  return ` *   ${name} ${version} (${license})`;
});
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, [
  `/* Address lists, compiled by src/mail/lists/compile.mjs from\n${versions.join('\n')} */`,
  '#include <stdint.h>\n',
  table('disposable', disposable), table('free_mail', free), table('role', [...roles]),
].join('\n'));
