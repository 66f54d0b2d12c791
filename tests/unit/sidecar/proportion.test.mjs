// Time: whatever is sent, the work stays in proportion to its size, for HTML, MJML and finished documents (D-148).

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { readDocument } from '../../../src/render/sidecar/html/reader_text.mjs';
import { renderMjml } from '../../../src/render/sidecar/mjml/mjml.mjs';
import { assertBounded, prepareBounded } from './bounded.mjs';

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
        prepareBounded(content);
      } catch (error) {
        assert.equal(error.code, 'EMAIL_IMPORT_FAILED', error.stack);
      }
    });
  }

  const mjml = (text) => `<mjml><mj-body><mj-section><mj-column><mj-text>${text}</mj-text></mj-column></mj-section></mj-body></mjml>`;
  const MJML = {
    'opening braces': '{{'.repeat(1_000_000),
    'opening braces of tags': '{%'.repeat(1_000_000),
    'template expressions': '{{ a }}\n'.repeat(100_000),
    'a long name without an end': `<mj-${'a'.repeat(200_000)}`,
  };
  for (const [name, text] of Object.entries(MJML)) {
    test(`R-224: MJML with ${name}`, async () => {
      const before = process.cpuUsage();
      const { html } = await renderMjml(mjml(text));
      assertBounded(before);
      assert.ok(html.includes(text.trim()));
    });
  }

  const MANY = 200_000;
  const READ = {
    'end tags without a start tag': `${'<p>'.repeat(MANY)}${'</b>'.repeat(MANY)}`,
    'texts in open elements': '<i>x'.repeat(MANY),
    'pictures in open elements': '<b><img alt="">'.repeat(MANY),
  };
  for (const [name, markup] of Object.entries(READ)) {
    for (const html of [markup, `<!--[if mso]>${markup}<![endif]-->`]) {
      test(`D-148: a finished document with ${name}${html === markup ? '' : ' for Outlook'}`, () => {
        const before = process.cpuUsage();
        assert.ok(readDocument(html).markup > 0);
        assertBounded(before);
      });
    }
  }
});
