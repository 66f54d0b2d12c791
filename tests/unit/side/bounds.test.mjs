// Size, depth and time: whatever is sent, the answer comes soon and the stack holds.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { WorkClock } from '../../../src/render/side/deadline.mjs';
import { LIMITS } from '../../../src/render/side/limits.mjs';
import { prepareHtml } from '../../../src/render/side/prepare.mjs';
import { Preparer } from '../../../src/render/side/preparer.mjs';

const SECONDS = 10; // of processor time: each takes under 3 on one core of a small machine; quadratic work would take minutes

function prepareTimed(content) {
  const work = new WorkClock();
  try {
    return prepareHtml({ content });
  } finally {
    assert.ok(!work.hasHad(SECONDS * 1000, Infinity), `took more than ${SECONDS} s`);
  }
}

const failsWith = (code, message) => (error) => {
  assert.equal(error.code, code);
  assert.match(error.message, message);
  return true;
};

describe('over a limit', () => {
  const TOO_DEEP = { div: '<div>', b: '<b>', table: '<table><tr><td>', font: '<font size=1>', 'blockquote in a list': '<ul><li><blockquote>' };
  for (const [name, tag] of Object.entries(TOO_DEEP)) {
    test(`100,000 nested ${name}`, () => {
      assert.throws(() => prepareTimed(tag.repeat(100_000)), failsWith('EMAIL_IMPORT_FAILED', /nested deeper than 512/));
    });
  }

  test('the depth limit is where it is said to be', () => {
    const nested = (depth) => `<body>${'<div>'.repeat(depth - 2)}x`; // html and body count
    assert.equal(prepareTimed(nested(LIMITS.depth)).text, 'x');
    assert.throws(() => prepareTimed(nested(LIMITS.depth + 1)), failsWith('EMAIL_IMPORT_FAILED', /nested deeper/));
  });

  test('the element limit is where it is said to be', () => {
    const flat = (count) => `<body>${'<br>'.repeat(count - 4)}<p>x`; // html, head, body and p count
    assert.equal(prepareTimed(flat(LIMITS.elements)).text, 'x');
    assert.throws(() => prepareTimed(flat(LIMITS.elements + 1)), failsWith('EMAIL_IMPORT_FAILED', /more than 50000 elements/));
  });

  test('5,000,000 characters are taken, one more is not', () => {
    const content = `<p>${'x '.repeat(2_499_980)}</p>`;
    assert.ok(content.length <= LIMITS.contentChars && content.length > LIMITS.contentChars - 100);
    assert.ok(prepareTimed(content).report.warnings.some(({ code }) => code === 'GMAIL_CLIP'));
    assert.throws(() => prepareTimed('x'.repeat(LIMITS.contentChars + 1)), failsWith('PAYLOAD_TOO_LARGE', /5000000 characters/));
  });

  test('expressions are counted', () => {
    assert.throws(() => prepareTimed('{{a}}'.repeat(LIMITS.expressions + 1)), failsWith('EMAIL_IMPORT_FAILED', /template expressions/));
  });

  test('styles that multiply are stopped', () => {
    const css = Array.from({ length: 2000 }, (_, i) => `--v${i}:1`).join(';');
    assert.throws(() => prepareTimed(`<style>.a{${css}}</style>${'<p class=a>x</p>'.repeat(1500)}`),
      failsWith('EMAIL_IMPORT_FAILED', /grows too large/));
  });

  test('nothing to show is an error', () => {
    for (const content of ['', '  ', '<p></p>', '<script>x</script>', '<!-- x -->', '<title>t</title>', '<img alt=x>']) {
      assert.throws(() => prepareTimed(content), failsWith('EMAIL_IMPORT_FAILED', /Nothing to show/), content);
    }
    assert.ok(prepareTimed('{{ body }}').html);
    assert.ok(prepareTimed('<img src="https://e.example/a.png" alt="">').html);
  });
});

describe('time stays in proportion', () => {
  const SLOW_FOR_THE_CARELESS = {
    'half a million attributes': `<p ${Array.from({ length: 500_000 }, (_, i) => `a${i}`).join(' ')}>x`,
    'opening braces': `${'{{'.repeat(1_000_000)}x`,
    'unclosed comments': `x${'<!--'.repeat(500_000)}`,
    'unclosed conditions': `x${'<!--[if mso]>'.repeat(300_000)}`,
    'a condition of spaces': `x<!--[if mso]>${' '.repeat(1_000_000)}y-->`,
    'unclosed url(': `<p style="background:${'url('.repeat(500_000)}">x`,
    'spaces in url(': `<p style="background:url(${' '.repeat(500_000)}x y)">x`,
    'unclosed parentheses in a sheet': `<style>a{b:${'(a'.repeat(500_000)}</style>x`,
    'unclosed braces in a sheet': `<style>${'a{'.repeat(500_000)}</style>x`,
    'comment starts in a string of CSS': `<p style='content:"${'/*'.repeat(500_000)}"'>x`,
    'a long property name': `<p style="${'a'.repeat(2_000_000)}">x`,
    'dashes in a sheet': `<!--[if mso]><style>${'-'.repeat(2_000_000)}</style><![endif]-->x`,
    'selectors in a list': `<style>${'a,'.repeat(200_000)}b{color:red}</style><b>x</b>`,
    'descendants': `<style>z ${'div '.repeat(200)}{color:red}</style>${'<div>'.repeat(400)}x`,
    'siblings': `<style>p ~ p ~ p ~ p ~ p{color:red}</style>${'<p>x</p>'.repeat(10_000)}`,
    'rules times elements': `<style>${'.a b{color:red}'.repeat(20_000)}</style>${'<p class=a>x'.repeat(2_000)}`,
    'misnested formatting': '<b><i><u><p></b>'.repeat(3_000),
    'foster parenting': `<table>${'<p>a'.repeat(20_000)}`,
    'spans in a table': '<table><tr><th colspan=999999999>a<th>b<tr><td rowspan=99999999>a<td>b</table>',
    'conditional comments': `${'<!--[if mso]><v:rect href="https://e.example/">x</v:rect><![endif]-->'.repeat(30_000)}x`,
  };
  for (const [name, content] of Object.entries(SLOW_FOR_THE_CARELESS)) {
    test(name, () => {
      try {
        prepareTimed(content);
      } catch (error) {
        assert.equal(error.code, 'EMAIL_IMPORT_FAILED', error.stack);
      }
    });
  }
});

test('a deadline counts the work and not the wait for the processor, up to a bound', async () => {
  const work = new WorkClock();
  await new Promise((done) => { setTimeout(done, 600); });
  assert.equal(work.hasHad(500, Infinity), false, 'this process did nothing meanwhile');
  assert.equal(work.hasHad(500, 550), true, 'but it has waited for longer than the bound');
  while (!work.hasHad(500, Infinity)) prepareHtml({ content: '<p>x</p>' });
});

describe('the preparing thread', () => {
  const content = '<p>x</p>'.repeat(20_000);

  test('is replaced when a preparation passes its deadline, and the next one works', async () => {
    const preparer = new Preparer({ prepareMs: 40 });
    await assert.rejects(preparer.prepare({ content, baseUrl: null }), failsWith('EMAIL_IMPORT_FAILED', /too long/));
    preparer.prepareMs = 10_000;
    assert.equal((await preparer.prepare({ content: 'ok', baseUrl: null })).text, 'ok');
    await preparer.close();
  });

  test('is replaced when a preparation takes its memory, and the next one works', async () => {
    const preparer = new Preparer({ workerHeapMb: 24 });
    await assert.rejects(preparer.prepare({ content: content.repeat(2), baseUrl: null }), failsWith('EMAIL_IMPORT_FAILED', /too much memory/));
    assert.equal((await preparer.prepare({ content: 'ok', baseUrl: null })).text, 'ok');
    await preparer.close();
  });

  test('answers in order and refuses what it cannot queue', async () => {
    const preparer = new Preparer();
    const order = [];
    const jobs = Array.from({ length: LIMITS.waitingRequests + 5 }, (_, i) => preparer.prepare({ content: `n${i}`, baseUrl: null })
      .then(({ text }) => order.push(text), (error) => error.code));
    const codes = (await Promise.all(jobs)).filter((answer) => answer === 'INTERNAL_ERROR');
    assert.equal(codes.length, 4); // one runs, the limit waits, the rest is refused
    assert.deepEqual(order, Array.from({ length: LIMITS.waitingRequests + 1 }, (_, i) => `n${i}`));
    await preparer.close();
  });
});
