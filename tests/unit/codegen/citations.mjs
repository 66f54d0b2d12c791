// A citation that schemas/rules.json does not explain is found wherever it is written, with its file and line. So is an unknown
// word in tests/rules.json.
//
//     node citations.mjs
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { danglingCitations, loadRuleTexts } from '../../citations.mjs';
import { loadTestFacts } from '../../rules.mjs';

// Put together, so that this file cites nothing itself.
const id = (letter, number) => `${letter}-${number}`;
const [KNOWN, GONE, CHOICE, OTHER_CHOICE] = [id('R', '001'), id('R', '999'), id('D', '01'), id('A', '77')];

const TREE = {
  'schemas/rules.json': JSON.stringify({ areas: ['x'], rules: [{ id: KNOWN, area: 'x', text: `As ${CHOICE} says.` }, { id: CHOICE, area: 'x' }] }),
  'schemas/operations/x.json': `[{"rules": [\n  "${KNOWN}",\n  "${GONE}"\n]}]`,
  'src/x/x.c': `/* Fine (${CHOICE}). */\n\n/* Not fine (${OTHER_CHOICE}). */\n`,
  'src/x/picture.png': `\0${GONE}`,
  'src/x/node_modules/y/index.js': `// ${GONE}`,
  'tests/x.test.mjs': `test('${KNOWN}, ${GONE}: two rules', () => {});\n`,
  'tests/package-lock.json': `"${GONE}"`,
  'docs/page.md': `UTF-16, SHA-256, ${GONE}x, X${GONE}, ${id('R', '1')}\n${id('D', '1000')}\n`,
  'tools/x.json': `{"rules": ["${id('R', '01')}"]}`,
  'README.md': `See ${GONE}.`,
};

// Contents of tests/rules.json, and what is said of them.
const WRONG_FACTS = [
  [{ waitFor: { [KNOWN]: ['things.get'] }, reasons: {} }, null],
  [{ waitFor: {}, reasons: {}, raesons: {} }, 'tests/rules.json:4: unknown member raesons'],
  [{ waitFor: {}, reasons: { [GONE]: 'none' } }, `tests/rules.json:4: ${GONE} is not in schemas/rules.json`],
  [{ waitFor: { [KNOWN]: ['things.look'] }, reasons: {} }, `tests/rules.json:3: ${KNOWN} waits for the unknown operation things.look`],
];

const root = mkdtempSync(join(tmpdir(), 'posthorn-citations-'));
try {
  for (const [name, text] of Object.entries(TREE)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const found = danglingCitations(root, loadRuleTexts(root)).map(({ file, line, id: cited }) => `${file}:${line}: ${cited}`);
  assert.deepEqual(found.sort(), [
    `README.md:1: ${GONE}`,
    `docs/page.md:2: ${id('D', '1000')}`,
    `schemas/operations/x.json:3: ${GONE}`,
    `src/x/x.c:3: ${OTHER_CHOICE}`,
    `tests/x.test.mjs:1: ${GONE}`,
    `tools/x.json:1: ${id('R', '01')}`,
  ]);
  for (const [facts, problem] of WRONG_FACTS) {
    writeFileSync(join(root, 'tests/rules.json'), JSON.stringify(facts, null, 2));
    const load = () => loadTestFacts(root, { operations: new Map([['things.get', {}]]) }, loadRuleTexts(root));
    if (problem === null) assert.doesNotThrow(load);
    else assert.throws(load, { message: problem });
  }
} finally {
  rmSync(root, { recursive: true, force: true });
}
console.log(`${Object.keys(TREE).length} files, 6 citations without a text`);
