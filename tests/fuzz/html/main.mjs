// Fuzzes the preparation of HTML and MJML; a browser with another sanitizer judges the result (judge.mjs).
//
//   THIRD_PARTY_INSTALL=build/third_party node main.mjs [ROUNDS [SEED]]
//
// A failure names its seed and round; `main.mjs 1 SEED ROUND` repeats it. The judge is asked first about documents that are not
// prepared: one that finds nothing in them would prove nothing.

import { prepareHtml } from '../../../src/render/sidecar/html/prepare.mjs';
import { renderMjml } from '../../../src/render/sidecar/mjml/mjml.mjs';
import { RequestError } from '../../../src/render/sidecar/errors.mjs';
import { documentOf } from './documents.mjs';
import { Judge } from './judge.mjs';

const rounds = Number(process.argv[2] ?? 300);
const seed = Number(process.argv[3] ?? 1);
const first = Number(process.argv[4] ?? 0);
const SAMPLE = 20;

async function prepare({ format, content }) {
  if (format === 'html') return prepareHtml({ content });
  const { html, warnings } = await renderMjml(content);
  return prepareHtml({ content: html, warnings });
}

/** How many of the documents are dangerous as they are given. */
async function countHostile(judge) {
  let hostile = 0;
  for (let round = 0; round < SAMPLE; round++) {
    if ((await judge.problems(documentOf(seed, round).content, [])).length > 0) hostile++;
  }
  return hostile;
}

const judge = await Judge.open();
let prepared = 0;
let failed = 0;
try {
  if (first === 0 && await countHostile(judge) < SAMPLE / 4) throw new Error('the judge finds too little');
  for (let round = first; round < first + rounds; round++) {
    const given = documentOf(seed, round);
    let result;
    try {
      result = await prepare(given);
    } catch (error) {
      if (error instanceof RequestError) continue;
      console.log(`FAILED seed ${seed}, round ${round}: ${error.stack}`);
      failed++;
      continue;
    }
    prepared++;
    const problems = await judge.problems(result.html, result.assets.urls);
    if (problems.length === 0) continue;
    failed++;
    console.log(`FAILED seed ${seed}, round ${round}: ${problems.join('; ')}\n${given.content}\n${result.html}`);
  }
} finally {
  await judge.close();
}
if (prepared < rounds / 4) {
  console.log(`FAILED seed ${seed}: only ${prepared} of ${rounds} documents could be prepared`);
  failed++;
}
console.log(`html: seed ${seed}, ${rounds} documents, ${prepared} prepared, ${prepared - failed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
