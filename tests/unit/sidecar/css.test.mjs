// Style sheets: inlined where they can be, kept where they cannot, and harmless either way.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { prepareHtml } from '../../../src/render/sidecar/html/prepare.mjs';
import { findHazards } from './hazards.mjs';

const prepare = (css, body = '<p class="a">x</p>') => prepareHtml({ content: `<head><style>${css}</style></head><body>${body}</body>` });
const styleOf = (html) => /<style[^>]*>(.*?)<\/style>/s.exec(html)?.[1] ?? null;

describe('inlining', () => {
  test('plain rules move into the elements, the stronger one last, !important kept', () => {
    const { html } = prepare('p { color: red; margin: 0 } .a { color: blue !important } p.a { color: green }');
    assert.match(html, /<p class="a" style="margin: 0; color: blue !important;">x<\/p>/);
    assert.equal(styleOf(html), null);
  });

  test('a style attribute wins over a rule', () => {
    assert.match(prepare('p { color: red }', '<p style="color:black">x</p>').html, /<p style="color: black;">/);
  });

  test('media queries, pseudo-classes, font faces, key frames and client hacks stay in a style sheet', () => {
    const kept = '@media (max-width: 600px) { .a { width: 100% !important } } a:hover { color: red } '
      + '@font-face { font-family: X; src: url(https://e.example/x.woff2) } @keyframes k { from { top: 0 } } '
      + '#outlook a { padding: 0 } [data-ogsc] .a { color: #eee !important } u + #body a { color: inherit }';
    const { html } = prepare(`${kept} .a { top: 0 }`);
    assert.equal(styleOf(html), kept);
    assert.match(html, /<p class="a" style="top: 0;">/);
  });

  test('of a list, each selector goes where it belongs', () => {
    const { html } = prepare('.a, .a:hover { color: red }');
    assert.equal(styleOf(html), '.a:hover { color: red }');
    assert.match(html, /style="color: red;"/);
  });

  test('a sheet for another medium is kept whole', () => {
    const { html } = prepareHtml({ content: '<style media="print">p { color: red }</style><p>x</p>' });
    assert.match(html, /<style media="print">p \{ color: red \}<\/style>/);
    assert.match(html, /<p>x<\/p>/);
  });

  test('legacy attributes are not invented', () => {
    assert.match(prepare('td { background-color: red; width: 10px }', '<table><tr><td width="20">x</td></tr></table>').html, /<td width="20" style=/);
  });

  test('too many rules for the document are left in place with a warning', () => {
    const rules = Array.from({ length: 3000 }, (_, i) => `.c${i} b { color: red }`).join('');
    const { html, report } = prepare(rules, '<p>x</p>'.repeat(1000));
    assert.equal(report.warnings[0].code, 'CSS_NOT_INLINED');
    assert.match(styleOf(html), /\.c2999 b/);
  });
});

describe('dangerous CSS', () => {
  const DANGEROUS = [
    '@import url(https://e.example/x.css);', '@import "x.css" screen;', '@\\69mport "x.css";',
    'p { width: expression(alert(1)) }', 'p { wi\\64th: ex\\70 ression(alert(1)) }', 'p { width: expr/* */ession(alert(1)) }',
    'p { background: url("javascript:alert(1)") }', 'p { background: URL( javascript:alert(1) ) }',
    'p { background: u\\72l(java\\73 cript:alert(1)) }', 'p { behavior: url(x.htc) }', 'p { -moz-binding: url(x.xml#a) }',
    'p { background: url(data:image/svg+xml;base64,AAAA) }', '@media screen { p { background: url(vbscript:x) } }',
    '@font-face { font-family: x; src: url(data:font/woff;base64,AAAA) }', 'p{}} @import "x.css"; {',
    'p { content: "a\\"; behavior: url(x)" }', 'p { font-family: "a\';background:url(javascript:alert(1));\'" }',
    'p { font-family: "a\';behavior:url(x);\'" }',
    'a{b:c}<!--d{behavior:url(x)}-->', '/* */p{background:url(/* */javascript:alert(1))}',
    'p { color: red; ; ; {behavior:url(x)} }', '@supports (width:expression(1)) { p { color: red } }',
  ];
  for (const css of DANGEROUS) {
    test(`sheet: ${css}`, () => {
      assert.notDeepEqual(findHazards(`<style>${css}</style>`), [], 'the case is not hostile: the judge does not see it');
      assert.deepEqual(findHazards(prepare(`${css} .a { top: 1px }`).html), []);
    });
  }

  test('a refused address takes its declaration along, an import is warned about', () => {
    const { html, report } = prepare('@import "x.css"; .a { background: url(ftp://e.example/x.png); top: 0 }');
    assert.match(html, /style="top: 0;"/);
    assert.deepEqual(report.warnings.map(({ code }) => code), ['CSS_IMPORT']);
    assert.deepEqual(report.removed, [
      { what: 'URL of unknown scheme', count: 1 }, { what: 'css @import', count: 1 }, { what: 'css declaration', count: 1 },
    ]);
  });

  test('what stands beside it survives', () => {
    const { html } = prepare('.a { color: red; width: expression(1); top: 0 }');
    assert.match(html, /style="color: red; top: 0;"/);
  });

  test('property names of JavaScript objects do not confuse the inliner', () => {
    const { html } = prepare('.a { constructor: x; __proto__: y; toString: z; color: red }', '<p class="a" style="valueOf: 1; hasOwnProperty: 2; top: 0">x</p>');
    assert.match(html, /style="color: red; top: 0;"/);
  });

  test('nested rules are made flat, since no mail client understands them', () => {
    const { html, report } = prepare(`.a { color: red; & b { top: 1px } i { top: 2px } &:hover { @media (hover: hover) { left: 3px } }
      @media (min-width: 40rem) { color: blue; b { left: 4px } } }`, '<p class="a">x<b>y</b><i>z</i></p>');
    assert.match(html, /<p class="a" style="color: red;">x<b style="top: 1px;">y<\/b><i style="top: 2px;">z<\/i>/);
    assert.equal(styleOf(html).replace(/\s+/g, ' ').replace(/ ?([{}:;]) ?/g, '$1'),
      '@media (hover:hover){.a:hover{left:3px}}@media (min-width:40rem){.a{color:blue}.a b{left:4px}}');
    assert.deepEqual(report.warnings, []);
  });

  test('nested rules that cannot be made flat are removed with a warning', () => {
    for (const css of ['.a { [x="&"] & { top: 0 } }', `${'.a,'.repeat(20)}.a { ${'b,'.repeat(20)} b { top: 0 } }`]) {
      const { html, report } = prepare(css, '<p class="a">x<b>y</b></p>');
      assert.ok(report.warnings.some(({ code }) => code === 'CSS_NESTING'));
      assert.doesNotMatch(html, /top/);
    }
  });

  test('nothing in a sheet can end it', () => {
    const { html } = prepare('.a:hover::before { content: "< /style>" } .a:hover::after { content: "<b" } .a[title="<!--"]:hover { top: 0 }');
    assert.deepEqual(findHazards(html), []);
    assert.doesNotMatch(styleOf(html), /<[a-z/!]/i);
  });

  test('addresses in style attributes are completed', () => {
    const { html } = prepareHtml({ content: '<p style="background: url(\'b.png\') no-repeat">x</p>', baseUrl: 'https://e.example/a/' });
    assert.match(html, /url\('https:\/\/e\.example\/a\/b\.png'\) no-repeat/);
  });

  test('a style attribute cannot leave its braces', () => {
    const { html } = prepareHtml({ content: '<p style="color: red } body { display: none">x</p>' });
    assert.match(html, /<p style="color: red">x<\/p>/);
  });

  test('ordinary style attributes stay byte for byte', () => {
    const style = "margin:0;mso-padding-alt:0px 10px;font-family:Arial,'Helvetica Neue',sans-serif;line-height:1.5;COLOR:#FFF";
    assert.ok(prepareHtml({ content: `<p style="${style}">x</p>` }).html.includes(`style="${style}"`));
  });
});
