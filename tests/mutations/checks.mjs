// Tests the tests of quality checks: without a check, its test must fail. In the copy of the tree the reports drop the findings of the
// check that POSTHORN_WITHOUT_CHECK names, so one build serves all checks. A test that fails with all checks proves nothing and is an error.
//
//   checks.mjs [ENGINE|CHECK …]   all checks, those of these files of schemas/checks, or these
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile, configure, copy, makeCopy, root, takeCopy, targetsOf, testPasses } from './tree.mjs';

const QUALITY = 'src/render/sidecar/quality';

/** Where reports get their findings: file, line, what replaces it. */
const SEAMS = [
  [`${QUALITY}/static/report.mjs`, "    check.status = 'issues';", "    if (process.env.POSTHORN_WITHOUT_CHECK === id) return; check.status = 'issues';"],
  [`${QUALITY}/browser/report.mjs`, 'new Map(found.map((result) => [result.check, result]))',
    'new Map(found.filter(({ check }) => check !== process.env.POSTHORN_WITHOUT_CHECK).map((result) => [result.check, result]))'],
  ['src/engine/quality/check_report.c', '#include <string.h>', '#include <stdlib.h>\n#include <string.h>'],
  ['src/engine/quality/check_report.c', '    add(report, find_declared(report, check_id), finding);',
    '    if (!text_equal(getenv("POSTHORN_WITHOUT_CHECK"), check_id)) add(report, find_declared(report, check_id), finding);'],
];

/** Engine → the test of a check. Tests of the renderer have one with the id for each check. */
const TESTS = {
  static: (id) => ({ script: 'tests/unit/sidecar/static_checks.test.mjs', only: `^${id} is found` }),
  browser: (id) => ({ script: 'tests/unit/sidecar/check_shown.test.mjs', only: `^${id}: ` }),
  links: () => ({ unit: 'jobs_mail_verdicts_test' }),
  spam: () => ({ unit: 'jobs_mail_verdicts_test' }),
  authentication: () => ({ unit: 'jobs_mail_checks_test' }),
};

const folder = join(root, 'schemas/checks');
const checks = readdirSync(folder).sort().flatMap((file) => {
  const engine = file.replace('.json', '');
  return JSON.parse(readFileSync(join(folder, file), 'utf8')).map(({ id }) => ({ id, engine, test: TESTS[engine](id) }));
});

function openSeams() {
  for (const [file, from, to] of SEAMS) {
    const path = join(copy, file);
    const source = readFileSync(path, 'utf8');
    if (source.split(from).length !== 2) throw new Error(`${file} does not have once: ${from}`);
    writeFileSync(path, source.replace(from, () => to));
  }
}

/** Null, or what is wrong. */
function problemOf({ id, engine, test }, sound) {
  if (!sound.has(JSON.stringify(TESTS[engine]('')))) return `the tests of ${engine} fail with all checks`;
  process.env.POSTHORN_WITHOUT_CHECK = id;
  return testPasses(test) ? 'its test passes without it' : null;
}

function run(chosen) {
  delete process.env.POSTHORN_WITHOUT_CHECK;
  makeCopy();
  openSeams();
  const whole = new Map(chosen.map(({ engine }) => [JSON.stringify(TESTS[engine]('')), { ...TESTS[engine](''), only: undefined }]));
  const targets = [...whole.values()].filter(({ unit }) => unit).flatMap(targetsOf);
  if (targets.length > 0) configure(new Set(targets));
  if (targets.length > 0 && compile([...new Set(targets)]).status !== 0) throw new Error('the copy does not build');
  const sound = new Set([...whole].filter(([, test]) => testPasses(test)).map(([name]) => name));
  let failed = 0;
  for (const check of chosen) {
    const problem = problemOf(check, sound);
    if (problem) failed++;
    console.log(problem ? `FAILED  ${check.engine} ${check.id}: ${problem}` : `killed  ${check.engine} ${check.id}`);
  }
  console.log(`${chosen.length - failed} passed, ${failed} failed`);
  return failed === 0 && chosen.length > 0;
}

const wanted = process.argv.slice(2);
const release = takeCopy();
try {
  process.exitCode = run(checks.filter(({ id, engine }) => wanted.length === 0 || wanted.includes(id) || wanted.includes(engine))) ? 0 : 1;
} finally {
  release();
}
