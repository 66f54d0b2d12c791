// Generates the table of quality checks and its reference page from their declarations (schemas/checks/*.json):
//
//   compile.mjs FOLDER_OF_DECLARATIONS OUTPUT_FOLDER
//
// A file has the checks of one engine and is named for it. An engine without a file has no checks.
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const ENGINES = ['static', 'browser', 'links', 'spam', 'authentication'];
const CATEGORIES = ['accessibility', 'content', 'links', 'deliverability', 'compatibility'];
const SEVERITIES = ['info', 'warning', 'error', 'blocker'];
const WEIGHTS = { blocker: 25, error: 10, warning: 4, info: 1 };
const ID = /^[a-z][a-zA-Z0-9]{2,59}$/;
const MEMBERS = ['id', 'rule', 'summary', 'category', 'severity', 'impact', 'remedy', 'sources'];
const MAX_TEXT = 300;
const [folder, output] = process.argv.slice(2);

function refuse(place, problem) {
  console.error(`${place}: ${problem}`);
  process.exit(1);
}

function checkText(place, name, value, ending) {
  if (typeof value !== 'string' || value.length === 0 || value.length > MAX_TEXT) refuse(place, `${name} is not a text of 1 to ${MAX_TEXT} characters`);
  if (!ending.test(value)) refuse(place, `${name} does not end with a full stop`);
}

function checkSources(place, sources) {
  if (!Array.isArray(sources) || sources.length === 0 || sources.length > 8) refuse(place, 'sources are not a list of 1 to 8 texts');
  for (const source of sources) checkText(place, 'sources', source, /./);
}

function checkCheck(engine, check, known) {
  const place = `${join(folder, `${engine}.json`)}: ${check.id}`;
  if (!ID.test(check.id)) refuse(place, 'the id is not camelCase of 3 to 60 characters');
  if (known.has(check.id)) refuse(place, 'another check has this id');
  known.add(check.id);
  for (const name of Object.keys(check)) if (!MEMBERS.includes(name)) refuse(place, `${name} is not a member of a check`);
  if (!CATEGORIES.includes(check.category)) refuse(place, `${check.category} is not a category`);
  if (!SEVERITIES.includes(check.severity)) refuse(place, `${check.severity} is not a severity`);
  checkText(place, 'summary', check.summary, /./);
  checkText(place, 'impact', check.impact, /\.$/);
  checkText(place, 'remedy', check.remedy, /\.$/);
  checkSources(place, check.sources);
  return { engine, ...check, summary: check.summary.replace(/\.$/, '') };
}

function readChecks() {
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
  for (const name of files) if (!ENGINES.includes(basename(name, '.json'))) refuse(join(folder, name), 'no engine has this name');
  const known = new Set();
  return ENGINES.filter((engine) => files.includes(`${engine}.json`))
    .flatMap((engine) => JSON.parse(readFileSync(join(folder, `${engine}.json`), 'utf8')).map((check) => checkCheck(engine, check, known)));
}

const constant = (word) => word.toUpperCase();
const text = (value) => JSON.stringify(value);

function row(check) {
  return `    { .id = ${text(check.id)}, .engine = CHECK_ENGINE_${constant(check.engine)}, .category = CATEGORY_${constant(check.category)},
      .severity = SEVERITY_${constant(check.severity)},
      .summary = ${text(check.summary)},
      .impact = ${text(check.impact)},
      .remedy = ${text(check.remedy)},
      .sources = (const char *const[]){ ${[...check.sources.map(text), 'NULL'].join(', ')} } },`;
}

const table = (checks) => `/* Generated from schemas/checks by src/engine/quality/compile.mjs. */
static const struct quality_check all_checks[] = {
${checks.map(row).join('\n')}
    { .id = NULL },
};
`;

const cell = (value) => value.replaceAll('|', '\\|').replaceAll('<', '&lt;');
const pageRow = (check) => `| \`${check.id}\`: ${cell(check.summary)} | ${check.category} | ${check.severity}, ${WEIGHTS[check.severity]} `
  + `| ${cell(check.impact)} ${cell(check.remedy)} | ${cell(check.sources.join(', '))} |`;

const section = (engine, checks) => `## ${engine}

${checks.length === 0 ? 'No checks.' : `| Check | Category | Severity, weight | Impact and remedy | Sources |
|---|---|---|---|---|
${checks.map(pageRow).join('\n')}`}
`;

const page = (checks) => `# Checks

Generated from \`schemas/checks\`. An audit of an email runs these checks, by engine. The weights are what a check with findings takes
from the score of 100.

${ENGINES.map((engine) => section(engine, checks.filter((check) => check.engine === engine))).join('\n')}`;

function write(path, content) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

const checks = readChecks();
write(join(output, 'engine/quality/check_table.h'), table(checks));
write(join(output, 'docs/reference/checks.md'), page(checks));
