// The generator of the table of quality checks refuses declarations that contradict themselves.
//
//     node checks.mjs SOURCE_FOLDER
//
// A declaration that is accepted is broken in one way at a time; each time the generator must exit with 1 and name the reason.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const generator = join(process.argv[2], 'src/engine/quality/compile.mjs');
const good = {
  id: 'imageAlt', summary: 'Images have a text', category: 'accessibility', severity: 'error', impact: 'Some <i>readers</i> miss it.',
  remedy: 'Write "a text".', sources: ['WCAG 2.2 SC 1.1.1'],
};

const broken = [
  ['camelCase', 'static', [{ ...good, id: 'image-alt' }]],
  ['another check has this id', 'static', [good, good]],
  ['weight is not a member', 'static', [{ ...good, weight: 4 }]],
  ['fun is not a category', 'static', [{ ...good, category: 'fun' }]],
  ['critical is not a severity', 'static', [{ ...good, severity: 'critical' }]],
  ['summary is not a text', 'static', [{ ...good, summary: '' }]],
  ['impact does not end', 'static', [{ ...good, impact: 'None' }]],
  ['remedy is not a text', 'static', [{ ...good, remedy: '' }]],
  ['sources are not a list', 'static', [{ ...good, sources: [] }]],
  ['no engine has this name', 'statics', [good]],
];

const folder = mkdtempSync(join(tmpdir(), 'posthorn-checks-'));
const declarations = join(folder, 'checks');
let passed = 0;
let failed = 0;

function run(files) {
  rmSync(declarations, { recursive: true, force: true });
  mkdirSync(declarations);
  for (const [name, checks] of Object.entries(files)) writeFileSync(join(declarations, `${name}.json`), JSON.stringify(checks));
  return spawnSync(process.execPath, [generator, declarations, folder], { encoding: 'utf8' });
}

function verify(name, condition) {
  if (condition) passed++;
  else { failed++; console.error(`failed: ${name}`); }
}

const written = () => readFileSync(join(folder, 'engine/quality/check_table.h'), 'utf8');
verify('a declaration is accepted', run({ static: [good], links: [{ ...good, id: 'linkWorks' }] }).status === 0);
verify('the engine of a check is that of its file', /"linkWorks", \.engine = CHECK_ENGINE_LINKS/.test(written()));
verify('a summary is a phrase', run({ static: [{ ...good, summary: 'Images have a text.' }] }).status === 0 && written().includes('"Images have a text"'));
run({ static: [good] });
verify('texts are written as C strings', written().includes('"Write \\"a text\\"."'));
verify('the page has no elements of a text', readFileSync(join(folder, 'docs/reference/checks.md'), 'utf8').includes('&lt;i>'));
verify('no engine has a file', run({}).status === 0);
for (const [reason, engine, checks] of broken) {
  const { status, stderr } = run({ [engine]: checks });
  verify(reason, status === 1 && stderr.includes(reason));
}
rmSync(folder, { recursive: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
