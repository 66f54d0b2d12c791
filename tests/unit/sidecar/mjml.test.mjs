// MJML (R-224): rendered as the mjml package renders it, without a read of the disk, template expressions untouched, and
// what MJML would drop or misread without a word is an error with its line.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { describe, test } from 'node:test';

import { renderMjml } from '../../../src/render/sidecar/mjml/mjml.mjs';
import { prepareHtml } from '../../../src/render/sidecar/html/prepare.mjs';
import { findHazards } from './hazards.mjs';

const require = createRequire(new URL('../../../src/render/sidecar/package.json', import.meta.url));
const mjml2html = require('mjml');

const design = (body, head = '') => `<mjml>\n<mj-head>${head}</mj-head>\n<mj-body>\n${body}\n</mj-body>\n</mjml>`;
const section = (content) => `<mj-section><mj-column>${content}</mj-column></mj-section>`;
const rendered = async (source) => (await renderMjml(source)).html;
const prepared = async (source) => {
  const { html, warnings } = await renderMjml(source);
  return prepareHtml({ content: html, warnings });
};
const fails = (message) => ({ code: 'EMAIL_IMPORT_FAILED', param: 'source.content', message });

const NEWSLETTER = design(`
  <mj-hero mode="fixed-height" height="300px" background-url="https://e.example/hero.jpg"><mj-text font-size="30px">Spring</mj-text></mj-hero>
  <mj-wrapper background-color="#eee">
    <mj-section><mj-group>
      <mj-column width="30%"><mj-image src="https://e.example/a.png" alt="A tulip"/></mj-column>
      <mj-column width="70%"><mj-text css-class="lead">Tulips are <b>here</b></mj-text><mj-divider/><mj-spacer height="20px"/></mj-column>
    </mj-group></mj-section>
  </mj-wrapper>
  ${section(`<mj-table><tr><th>Item</th><th>Price</th></tr><tr><td>Bulbs</td><td>4.50</td></tr></mj-table>
    <mj-button href="https://e.example/shop" background-color="#0a0">Shop now</mj-button>
    <mj-social><mj-social-element name="facebook" href="https://e.example/fb">Follow us</mj-social-element></mj-social>`)}`,
`<mj-title>Spring letter</mj-title><mj-preview>Tulips inside</mj-preview><mj-attributes><mj-all font-family="Georgia"/><mj-class name="x" color="red"/></mj-attributes>
  <mj-style>.lead { color: #333 } @media (max-width: 480px) { .lead { font-size: 20px } }</mj-style><mj-style inline="inline">.lead { font-weight: bold }</mj-style>`);

describe('MJML', () => {
  test('R-224: before it is cleaned it is what the mjml package makes of it', async () => {
    for (const source of [NEWSLETTER, design(section('<mj-text>Hello</mj-text>'))]) {
      const { html } = await mjml2html(source, { fonts: {}, keepComments: false });
      assert.equal(await rendered(source), html);
    }
  });

  test('R-224: goes the way of HTML: safe, described, with a text part', async () => {
    const { html, text, title, previewText, links, images, report } = await prepared(NEWSLETTER);
    assert.deepEqual(findHazards(html), []);
    assert.deepEqual(report.warnings, []);
    assert.equal(title, 'Spring letter');
    assert.equal(previewText, 'Tulips inside');
    for (const words of ['Spring', 'Tulips are here', 'Bulbs   4.50', 'Shop now <https://e.example/shop>', 'Follow us']) {
      assert.ok(text.includes(words), `${words} in ${text}`);
    }
    assert.ok(links.some(({ href }) => href === 'https://e.example/shop'));
    assert.ok(images.some(({ src, alt }) => src === 'https://e.example/a.png' && alt === 'A tulip'));
    assert.match(html, /@media/);
    assert.match(html, /<html lang="en"/);
    assert.match(html, /<!--\[if mso \| IE\]>/);
  });

  test('template expressions survive in text, attributes, title, preview, styles and mj-raw', async () => {
    const { html, text, title, previewText, slots, tags } = await prepared(design(
      `<mj-raw>{% if vip %}</mj-raw>${section(`<mj-text>Hi {{ firstName | default: "there" }}{% if a < 3 %} few{% endif %}</mj-text>
        <mj-button href="{{ url }}?a={{ b | url_encode }}" background-color="{{ color }}">Go</mj-button>
        <mj-image src="https://e.example/{{ pic }}.png" alt="{{ alt | default: "q" }}"/>`)}<mj-raw>{% endif %}</mj-raw>`,
      '<mj-title>T {{ t }}</mj-title><mj-preview>P {{ p }}</mj-preview>'));
    assert.deepEqual(slots, ['t', 'p', 'firstName | default: "there"', 'color', 'url', 'b | url_encode', 'alt | default: "q"', 'pic']);
    assert.deepEqual(tags, ['if vip', 'if a < 3', 'endif']);
    assert.ok(html.includes('{{ firstName | default: "there" }}{% if a < 3 %} few{% endif %}'));
    assert.ok(html.includes('href="{{ url }}?a={{ b | url_encode }}"'));
    assert.match(html, /\{% if vip %\}[^]*Hi \{\{[^]*\{% endif %\}\s*(?:<!--|<\/div>)/);
    assert.equal(title, 'T {{ t }}');
    assert.equal(previewText, 'P {{ p }}');
    assert.ok(text.includes('Hi {{ firstName | default: "there" }}{% if a < 3 %} few{% endif %}'));
  });

  test('equal sources give equal bytes, also where mjml draws random names', async () => {
    const carousel = design(section('<mj-carousel><mj-carousel-image src="https://e.example/a.png"/><mj-carousel-image src="https://e.example/b.png"/></mj-carousel>'));
    assert.equal(await rendered(carousel), await rendered(carousel));
    const before = Math.random();
    assert.notEqual(Math.random(), before, 'the generator of everybody else is back');
  });

  test('one design leaves nothing behind for the next: fonts, classes, attributes', async () => {
    const plain = design(section('<mj-text mj-class="c" font-family="Leak">Hello</mj-text>'));
    const before = await rendered(plain);
    await rendered(design(section('<mj-text font-family="Leak" mj-class="__proto__">x</mj-text>'),
      '<mj-font name="Leak" href="https://e.example/leak.css"/><mj-attributes><mj-all color="red"/><mj-class name="c" color="blue"/><mj-class name="__proto__" polluted="yes"/></mj-attributes>'));
    assert.equal(await rendered(plain), before);
    assert.equal({}.polluted, undefined);
  });
});

describe('MJML that is refused', () => {
  const LINES = [
    ['an include', design('<mj-include path="/etc/passwd" />'), 'Line 4: mj-include is not available; an import is one file, so put the included MJML there.'],
    ['an include of CSS in the head', design('x', '\n<mj-include type="css" path="./a.css" />'), /^Line 3: mj-include/],
    ['an include inside of text', design(section('<mj-text>\n<MJ-INCLUDE path="a"/></mj-text>')), /^Line 5: mj-include/],
    ['an unknown element', design(section('\n<mj-txt>Hello</mj-txt>')), 'Line 5: <mj-txt> is not an MJML element; put HTML into mj-text or mj-raw.'],
    ['HTML between the elements', design(section('\n\n<p>Hello</p>')), /^Line 6: <p> is not an MJML element/],
    ['a template tag between the elements', design(`{% if\nvip %}\n${section('<mj-text>Hello</mj-text>')}\n{% endif %}`),
      'Line 4: {% if vip %} is between MJML elements, where MJML drops text; put it into mj-text or mj-raw.'],
    ['a template expression between the elements', design(`<mj-section>\n\n{{ x }}<mj-column></mj-column></mj-section>`), /^Line 6: \{\{ x \}\} is between/],
    ['a template tag inside of a tag', design(section('<mj-text {% if x %}color="red"{% endif %}>Hello</mj-text>')), 'Line 4: {% if x %} is inside a tag but outside an attribute value.'],
    ['an element that is never closed', '<mjml><mj-body>\n<mj-section><mj-column>\n<mj-text>Hello', 'Line 3: <mj-text> is never closed.'],
    ['an element closed by another', design('<mj-section><mj-column>\n<mj-text>Hello</mj-text></mj-section></mj-column>'), 'Line 5: </mj-section> has no matching start tag; <mj-column> of line 4 is open there.'],
    ['an element where it makes no sense', design('<mj-section><mj-column>\n<mj-style>a{}</mj-style></mj-column></mj-section>'), /^Line 5: mj-style: mj-style cannot be used inside mj-column, only inside: /],
    ['no body', '<mjml><mj-head></mj-head></mjml>', 'The MJML has no <mj-body> in its <mjml>.'],
    ['no MJML', '<p>Hello</p>', /no <mjml> element/],
    ['nothing', '', /no <mjml> element/],
    ['nesting without end', design('<mj-wrapper>'.repeat(50_000)), /elements\.$/],
    ['elements without end', design(section('<mj-text>x</mj-text>').repeat(9_000)), 'The MJML has more than 20000 elements.'],
    ['output without end', design(section('<mj-text>x</mj-text>').repeat(6_000)), 'The MJML grows too large when it is rendered.'],
  ];
  for (const [name, source, message] of LINES) {
    test(name, async () => {
      await assert.rejects(renderMjml(source), fails(message));
    });
  }

  test('the disk is never read, whatever a source names', async (t) => {
    const reads = [];
    for (const name of ['readFileSync', 'openSync', 'lstatSync', 'realpathSync', 'existsSync', 'statSync']) {
      const original = fs[name];
      t.mock.method(fs, name, function (path, ...rest) {
        reads.push(String(path));
        return original.call(this, path, ...rest);
      });
    }
    syncBuiltinESMExports();
    const html = await rendered(design(`<!-- <mj-include path="/etc/passwd"/> --><mj-raw><mj-raw src="/etc/passwd"></mj-raw></mj-raw>
      <mj-section background-url="/etc/passwd"><mj-column><mj-image src="file:///etc/passwd" alt="x"/><mj-text>x</mj-text></mj-column></mj-section>`,
    '<mj-font name="x" href="file:///etc/passwd"/><mj-style inline="inline">@import "/etc/passwd";</mj-style>'));
    await assert.rejects(renderMjml(design('<mj-include path="/etc/passwd" type="html"/>')), fails(/mj-include/));
    assert.doesNotMatch(html, /root:/);
    assert.deepEqual(reads, []);
    assert.deepEqual(findHazards(prepareHtml({ content: html }).html), []);
  });

  test('random MJML gives a safe document or an error with its reason, and the same again', async () => {
    const NAMES = ['section', 'column', 'text', 'button', 'raw', 'image', 'table', 'social', 'social-element', 'navbar', 'navbar-link', 'hero', 'wrapper',
      'group', 'accordion', 'accordion-element', 'carousel', 'carousel-image', 'divider', 'style', 'attributes', 'all', 'class', 'title', 'preview', 'font',
      'html-attributes', 'selector', 'html-attribute', 'head', 'body'].map((name) => `mj-${name}`);
    const ATTRIBUTES = ['width', 'src', 'href', 'background-url', 'css-class', 'mj-class', 'padding', 'color', 'name', 'path', 'inline', 'mode', 'onclick', '__proto__', 'constructor'];
    const VALUES = ['10px', '50%', 'abc', '-1', '1e9px', '{{ x }}', '{% if a %}', 'javascript:alert(1)', 'https://e.example/a.png', '&quot;', '<', 'url(x)', '', '__proto__'];
    const TEXTS = ['Hello {{ n }}', '{% if x %}', '<b>b</b>', '<!-- c', '-->', '<script>alert(1)</script>', '</mj-text>', '<p onclick="x">y</p>'];
    let state = 1;
    const below = (n) => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
      return (state >>> 8) % n;
    };
    const pick = (list) => list[below(list.length)];
    const some = (most, make) => Array.from({ length: below(most + 1) }, make).join('');
    const element = (depth) => {
      const name = pick(NAMES);
      const attributes = some(2, () => ` ${pick(ATTRIBUTES)}="${pick(VALUES)}"`);
      if (depth === 0) return below(3) ? pick(TEXTS) : `<${name}${attributes}/>`;
      return `<${name}${attributes}>${some(3, () => element(depth - 1))}</${name}>`;
    };
    let rendered = 0;
    for (let round = 0; round < 300; round++) {
      const body = section(`<${pick(NAMES)}>${pick(TEXTS)}</${pick(NAMES)}>`.repeat(below(2)) + `<mj-text>${pick(TEXTS)}</mj-text>`);
      const source = design(below(2) ? body : body + element(3), below(2) ? '' : element(2));
      const outcome = () => prepared(source).then((result) => JSON.stringify(result), (error) => {
        assert.ok(['EMAIL_IMPORT_FAILED', 'PAYLOAD_TOO_LARGE'].includes(error.code), `${error.stack}\n${source}`);
        return error.message;
      });
      const first = await outcome();
      assert.equal(await outcome(), first, source);
      if (!first.startsWith('{')) continue;
      rendered++;
      assert.deepEqual(findHazards(JSON.parse(first).html), [], source);
    }
    assert.ok(rendered > 20, `${rendered} rendered`);
  });

  test('text that MJML drops and attributes it does not know are told, not refused', async () => {
    const { warnings } = await renderMjml(design(`<mj-section><mj-column>\nLost<mj-text foo="x" bar="y">Hello</mj-text></mj-column></mj-section>`));
    assert.deepEqual(warnings, [
      { code: 'MJML_INVALID', message: 'Line 5: mj-text: Attributes foo, bar are illegal.' },
      { code: 'MJML_TEXT_LOST', message: 'MJML drops the text directly inside the element in line 4; put it into mj-text or mj-raw.' },
    ]);
  });
});
