// Any mail gets a report: large, deep, broken, or without any HTML. The work grows with the size, in processor time. The designs of the gallery have no
// error. The renderer answers the request over its pipe.

import './patience.mjs';

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { CHECK_IDS, checkMail } from '../../../src/render/sidecar/quality/static/check_mail.mjs';
import { Preparer } from '../../../src/render/sidecar/preparer.mjs';
import { LIMITS } from '../../../src/render/sidecar/limits.mjs';
import { prepareTemplate, readGallery } from '../../gallery/templates.mjs';

/** Each takes under 3 s of one core of a small machine; quadratic work would take minutes. */
const PROCESSOR_SECONDS = 20;

function checkBounded(mail) {
  const before = process.cpuUsage();
  const report = checkMail({ subject: 'Hello', previewText: 'Hello', text: 'Hello', ...mail });
  const { user, system } = process.cpuUsage(before);
  assert.ok((user + system) / 1e6 < PROCESSOR_SECONDS, `took ${(user + system) / 1e6} s of processor time`);
  assert.deepEqual(report.checks.map(({ id }) => id), CHECK_IDS);
  for (const { findings } of report.checks) assert.ok(findings.length <= 50);
  return report;
}

const statusOf = (report, id) => report.checks.find((check) => check.id === id).status;
const page = (body, head = '') => `<!DOCTYPE html><html lang="en"><head>${head}</head><body>${body}</body></html>`;
const MB = 1_000_000;
const fit = (unit, chars = MB) => unit.repeat(Math.floor(chars / unit.length));

describe('any mail gets a report', () => {
  const mails = {
    '5 MB of text': page(`<p>${fit('word ', LIMITS.contentChars - 500)}</p>`),
    '1 MB of one word': page(fit('x')),
    '1 MB of braces': page(fit('{{')),
    '1 MB of brackets': page(fit('[your ')),
    '1 MB of postal codes': page(fit('12345 ')),
    '1 MB of percent signs': page(fit('%%a ')),
    '1 MB of capitals and bars': page(fit('*|A')),
    '50,000 elements': page('<p>x</p>'.repeat(49_990)),
    '49,000 links to one address': page('<a href="https://a.example/">here</a> '.repeat(49_000)),
    '49,000 links, each with a fault': page(Array.from({ length: 49_000 }, (_, i) => `<a href="/${i}"></a>`).join('')),
    '49,000 images': page('<img src="a_b.png" alt="a_b">'.repeat(49_000)),
    '20,000 headings': page('<h1></h1><h6>x</h6>'.repeat(20_000)),
    '20,000 different styles': page(Array.from({ length: 20_000 }, (_, i) => `<p style="font-size:${i % 13}px;margin:${i}px;text-align:justify">word ${i}</p>`).join('')),
    '509 levels with text': page(`${'<div>text'.repeat(500)}`),
    '500 levels of links in tables': page('<table><tr><td><a href="https://a.example/">x'.repeat(120)),
    'a style attribute of 1 MB': page(`<p style="${fit('a:(\';')}">x</p>`),
    'a word of 1 MB in a style attribute': page(`<p style="font-family:${fit('a')}">x</p>`),
    'a number of 1 MB in a style attribute': page(`<p style="width:${fit('1')}">x</p>`),
    '1 MB of spaces in a style attribute': page(`<p style="color:a${fit(' ')}b">x</p>`),
    'a style sheet of 1 MB': page('x', `<style>${fit('a:hover > b + c{color:rgb(1,2,3);width:calc(1px + 2em)}')}</style>`),
    'a style sheet of open braces': page('x', `<style>${'@media{a{'.repeat(4)}${fit('b')}</style>`),
    'a selector of 1 MB': page('x', `<style>${fit('a + ')}b{color:red}</style>`),
    'an open conditional comment': page('<!--[if mso]><table><tr><td>' + 'x'.repeat(MB)),
    'an end of a conditional comment only': page('<![endif]--><p>Hello</p>'),
    'only Liquid': '{% if contact.vip %}{{ contact.firstName }}{% else %}{{ payload.text }}{% endif %}',
    'only tags that are not closed': '{% if contact.vip %}{% for x in y %}{% raw %}',
    '10,000 expressions': page(Array.from({ length: 9_999 }, (_, i) => `{{ contact.f${i} }}`).join('')),
    'ends of blocks only': '{% endif %}{% endfor %}{% elsif x %}x',
    nothing: '',
    'half a tag': '<a href="',
    'lone surrogates': page('<p>\ud800</p><a href="\udfff">\ud800</a>'),
  };
  for (const [name, design] of Object.entries(mails)) {
    test(name, () => {
      const report = checkBounded({ design });
      assert.notEqual(statusOf(report, 'linkName'), undefined);
      if (design.length < MB) assert.deepEqual(checkBounded({ design }), report);
    });
  }

  for (const [name, html] of Object.entries({ elements: page('<br>'.repeat(60_000)), levels: page('<div>'.repeat(600)), expressions: page('{{a}}'.repeat(10_001)) })) {
    test(`a composed mail over the limit of ${name}: checks of the tree say why they are not applicable`, () => {
      const report = checkBounded({ design: page('<p>{{ contact.firstName }}</p>'), html });
      const { status, reason } = report.checks.find(({ id }) => id === 'imageAlt');
      assert.equal(status, 'not_applicable');
      assert.match(reason, /more than|deeper than/);
      assert.equal(statusOf(report, 'mergeTagDefault'), 'issues');
      assert.equal(statusOf(report, 'htmlSize'), Buffer.byteLength(html) < 95 * 1024 ? 'passed' : 'issues');
    });
  }

  test('1 MB of text beside 1 MB of plain text', () => {
    checkBounded({ design: page(fit('word 12.5 ')), text: fit('other 13.5 ') });
  });
});

test('the designs of the gallery have neither a blocker nor an error', async () => {
  const address = '1 High Street, London SW1A 1AA';
  const fill = (text) => text.replace(/\{\{\s*brand\.address[^}]*\}\}/g, address).replace(/\{\{ ?unsubscribeUrl ?\}\}/g, 'https://mail.northlight.co.uk/u/Zm9vYmFyYmF6cXV4MTIz')
    .replace(/\{\{[^}]*?default: ?['"]?([^'"}]*)['"]?[^}]*\}\}/g, '$1').replace(/\{%[^%]*%\}/g, '');
  let count = 0;
  for (const template of readGallery().templates) {
    const { html, text, previewText } = await prepareTemplate(template);
    const { checks } = checkMail({ design: html, html: fill(html), text: fill(text), subject: template.subjectLine, shownSubject: fill(template.subjectLine), previewText, address });
    for (const { id, findings } of checks) {
      for (const { severity, message } of findings) {
        const isMild = severity === 'info' || ['textSize', 'placeholderLink', 'cssSupport'].includes(id);
        assert.ok(isMild, `${template.id}: ${id}: ${message}`);
      }
    }
    count++;
  }
  assert.ok(count >= 17);
});

test('a check that passes its deadline fails alone', async () => {
  const preparer = new Preparer({ prepareMs: 1 });
  const content = (body) => JSON.stringify({ design: page(body) });
  await assert.rejects(preparer.prepare({ op: 'checkMail', content: content('<p>x</p>'.repeat(40_000)) }), { code: 'EMAIL_IMPORT_FAILED' });
  preparer.prepareMs = 600_000;
  assert.equal((await preparer.prepare({ op: 'checkMail', content: content('<p>x</p>') })).checks.length, CHECK_IDS.length);
  await preparer.close();
});

describe('the request checkMail', () => {
  async function ask(requests) {
    const main = fileURLToPath(new URL('../../../src/render/sidecar/main.mjs', import.meta.url));
    const sidecar = spawn(process.execPath, ['--no-warnings', main], { stdio: ['pipe', 'pipe', 'inherit'] });
    const replies = [];
    const lines = createInterface({ input: sidecar.stdout }).on('line', (line) => replies.push(JSON.parse(line)));
    sidecar.stdin.end(requests.map((request, id) => `${JSON.stringify({ id, op: 'checkMail', ...request })}\n`).join(''));
    await new Promise((done) => { lines.on('close', done); });
    return replies.sort((a, b) => a.id - b.id);
  }

  test('gets a report, and names what is wrong with it', async () => {
    const [report, ...refused] = await ask([
      { design: page('<p>Hello</p>'), html: null, subject: 'Hello', emptyTags: null, pictures: {} }, {}, { design: 'x', text: 4 }, { design: 'x', emptyTags: [{ path: 'x' }] }, { design: 'x', pictures: { a: 1 } }, { design: 'x', content: 'y' }]);
    assert.equal(report.ok, true);
    assert.equal(report.result.engine.name, 'posthorn-static');
    assert.equal(statusOf(report.result, 'unsubscribeLink'), 'issues');
    assert.equal(refused.length, 5);
    for (const { ok, error } of refused) assert.deepEqual([ok, error.code], [false, 'INVALID_REQUEST']);
  });
});
