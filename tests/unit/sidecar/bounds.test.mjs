// Size and depth: whatever is sent, the stack and the memory hold, and the preparing thread is replaced when it takes too much.

import './patience.mjs';

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { WorkClock } from '../../../src/render/sidecar/deadline.mjs';
import { LIMITS } from '../../../src/render/sidecar/limits.mjs';
import { Preparer } from '../../../src/render/sidecar/preparer.mjs';
import { prepareBounded } from './bounded.mjs';

/** A deadline that no busy machine reaches. */
const NEVER_MS = 600_000;

const failsWith = (code, message) => (error) => {
  assert.equal(error.code, code);
  assert.match(error.message, message);
  return true;
};

describe('over a limit', () => {
  const TOO_DEEP = { div: '<div>', b: '<b>', table: '<table><tr><td>', font: '<font size=1>', 'blockquote in a list': '<ul><li><blockquote>' };
  for (const [name, tag] of Object.entries(TOO_DEEP)) {
    test(`100,000 nested ${name}`, () => {
      assert.throws(() => prepareBounded(tag.repeat(100_000)), failsWith('EMAIL_IMPORT_FAILED', /nested deeper than 512/));
    });
  }

  test('the depth limit is where it is said to be', () => {
    const nested = (depth) => `<body>${'<div>'.repeat(depth - 2)}x`; // html and body count
    assert.equal(prepareBounded(nested(LIMITS.depth)).text, 'x');
    assert.throws(() => prepareBounded(nested(LIMITS.depth + 1)), failsWith('EMAIL_IMPORT_FAILED', /nested deeper/));
  });

  test('the element limit is where it is said to be', () => {
    const flat = (count) => `<body>${'<br>'.repeat(count - 4)}<p>x`; // html, head, body and p count
    assert.equal(prepareBounded(flat(LIMITS.elements)).text, 'x');
    assert.throws(() => prepareBounded(flat(LIMITS.elements + 1)), failsWith('EMAIL_IMPORT_FAILED', /more than 50000 elements/));
  });

  test('5,000,000 characters are taken, one more is not', () => {
    const content = `<p>${'x '.repeat(2_499_980)}</p>`;
    assert.ok(content.length <= LIMITS.contentChars && content.length > LIMITS.contentChars - 100);
    assert.ok(prepareBounded(content).report.warnings.some(({ code }) => code === 'GMAIL_CLIP'));
    assert.throws(() => prepareBounded('x'.repeat(LIMITS.contentChars + 1)), failsWith('PAYLOAD_TOO_LARGE', /5000000 characters/));
  });

  test('expressions are counted', () => {
    assert.throws(() => prepareBounded('{{a}}'.repeat(LIMITS.expressions + 1)), failsWith('EMAIL_IMPORT_FAILED', /template expressions/));
  });

  test('styles that multiply are stopped', () => {
    const css = Array.from({ length: 2000 }, (_, i) => `--v${i}:1`).join(';');
    assert.throws(() => prepareBounded(`<style>.a{${css}}</style>${'<p class=a>x</p>'.repeat(1500)}`),
      failsWith('EMAIL_IMPORT_FAILED', /grows too large/));
  });

  test('nothing to show is an error', () => {
    for (const content of ['', '  ', '<p></p>', '<script>x</script>', '<!-- x -->', '<title>t</title>', '<img alt=x>']) {
      assert.throws(() => prepareBounded(content), failsWith('EMAIL_IMPORT_FAILED', /no text or image left/), content);
    }
    assert.ok(prepareBounded('{{ body }}').html);
    assert.ok(prepareBounded('<img src="https://e.example/a.png" alt="">').html);
  });
});

test('a deadline counts the work and not the wait for the processor, up to a bound', (t) => {
  let usedMs = 0;
  let wallMs = 0;
  t.mock.method(process, 'cpuUsage', () => ({ user: usedMs * 1000, system: 0 }));
  t.mock.method(performance, 'now', () => wallMs);
  const work = new WorkClock();
  wallMs = 600;
  usedMs = 499;
  assert.equal(work.hasHad(500, 601), false, 'it has waited, and worked for less');
  assert.equal(work.hasHad(500, 600), true, 'it has waited for the bound');
  usedMs = 500;
  assert.equal(work.hasHad(500, Infinity), true, 'it has worked');
});

describe('the preparing thread', () => {
  const content = '<p>x</p>'.repeat(20_000);

  test('is replaced when a preparation passes its deadline, and the next one works', async () => {
    const preparer = new Preparer({ prepareMs: 40 });
    await assert.rejects(preparer.prepare({ content, baseUrl: null }), failsWith('EMAIL_IMPORT_FAILED', /too long/));
    preparer.prepareMs = NEVER_MS;
    assert.equal((await preparer.prepare({ content: 'ok', baseUrl: null })).text, 'ok');
    await preparer.close();
  });

  test('is replaced when a preparation takes its memory, and the next one works', async () => {
    const preparer = new Preparer({ workerHeapMb: 24, prepareMs: NEVER_MS });
    await assert.rejects(preparer.prepare({ content: content.repeat(2), baseUrl: null }), failsWith('EMAIL_IMPORT_FAILED', /too much memory/));
    assert.equal((await preparer.prepare({ content: 'ok', baseUrl: null })).text, 'ok');
    await preparer.close();
  });

  test('answers in order and refuses what it cannot queue', async () => {
    const preparer = new Preparer({ prepareMs: NEVER_MS });
    const order = [];
    const jobs = Array.from({ length: LIMITS.waitingRequests + 5 }, (_, i) => preparer.prepare({ content: `n${i}`, baseUrl: null })
      .then(({ text }) => order.push(text), (error) => error.code));
    const codes = (await Promise.all(jobs)).filter((answer) => answer === 'INTERNAL_ERROR');
    assert.equal(codes.length, 4); // one runs, the limit waits, the rest is refused
    assert.deepEqual(order, Array.from({ length: LIMITS.waitingRequests + 1 }, (_, i) => `n${i}`));
    await preparer.close();
  });
});
