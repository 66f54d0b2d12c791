// The features of mail clients that a mail uses: each snippet has the named features of caniemail.com, and what it does not have is not found. The newest
// test of a client decides.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { clientName, clientSupport, newest, supportDate } from '../../../src/render/sidecar/quality/client_support.mjs';
import { featuresOf } from '../../../src/render/sidecar/quality/static/features.mjs';
import { readTree } from '../../../src/render/sidecar/quality/static/mail_tree.mjs';

const slugsOf = (html) => featuresOf(readTree(html)).map(({ feature }) => feature.slug);
const bodyOf = (body, head = '') => slugsOf(`<html><head>${head}</head><body>${body}</body></html>`);
const PLAIN = new Set(bodyOf('<p>x</p>'));
const more = (found) => found.filter((slug) => !PLAIN.has(slug)).sort();

/** A style → its features, without the prefix css-. */
const STYLES = {
  'display:flex': 'display display-flex', 'display:inline-grid': 'display display-grid', 'display:none': '', 'flex-direction:column': 'flex-direction', 'flex-direction:row': '', 'flex-wrap:wrap': 'flex-wrap',
  'width:calc(1% + 2em)': 'unit-calc unit-em unit-percent width', 'width:min(1vw,2vh)': 'function-min unit-vh unit-vw width', 'width:max(1vmin,2vmax)': 'function-max unit-vmax unit-vmin width',
  'width:clamp(1rem,2ch,3ex)': 'function-clamp unit-ch unit-ex unit-rem width', 'width:1cm;height:1in': 'height unit-cm unit-in width', 'width:1mm;height:1pc': 'height unit-mm unit-pc width', 'width:12pt': 'unit-pt width',
  'width:.5px': 'unit-px width', 'width:fit-content': 'intrinsic-size width', 'width:initial': 'unit-initial', 'color:rgb(1,2,3)': 'rgb', 'color:rgba(1,2,3,.5)': 'rgba', 'color:oklch(50% 0 0)': 'modern-color unit-percent',
  'color:light-dark(red,blue)': 'function-light-dark', 'color:var(--a)': 'variables', '--a:red': 'variables', 'color:red !important': 'important', 'background:linear-gradient(red,blue)': 'background linear-gradient',
  'background:radial-gradient(red,blue)': 'background radial-gradient', 'background-image:conic-gradient(red,blue)': 'background-image conic-gradient', 'font-family:system-ui': 'sytem-ui', 'font-family:Arial': '',
  'margin-left:1px': 'margin unit-px', 'padding-top:1px': 'padding unit-px', 'border-top:1px solid': 'border unit-px', 'left:1px': 'left-right-top-bottom unit-px', 'column-gap:1px': 'column-layout-properties gap unit-px',
  'inset-inline-start:1px': 'inset unit-px', 'border-start-start-radius:1px': 'border-radius-logical unit-px', 'overflow-inline:hidden': 'overflow', 'scroll-snap-type:x': 'scroll-snap', 'margin-inline-end:1px': 'margin-inline-start-end unit-px',
  'padding-block:1px': 'padding-inline-block unit-px', 'grid-template-areas:a': 'grid-template', 'mask:url(a)': 'mask-image', 'transition-duration:1s': 'transition', 'animation-name:a': 'animation', 'object-fit:cover': 'object-fit',
  'color:#1e5cm2': '', 'background:url(a-2px.png)': 'background', 'opacity:none': '',
};
/** A style sheet → its features. */
const SHEETS = {
  '@media (prefers-color-scheme:dark){}': 'at-media at-media-prefers-color-scheme', '@media (prefers-reduced-motion){}': 'at-media at-media-prefers-reduced-motion', '@media (any-hover:hover){}': 'at-media at-media-hover',
  '@media (orientation:portrait){}': 'at-media at-media-orientation', '@media (-webkit-min-device-pixel-ratio:2){}': 'at-media at-media-device-pixel-ratio', '@font-face{}': 'at-font-face', '@import "a";': 'at-import',
  '@supports (a:b){}': 'at-supports', '@-webkit-keyframes a{from{color:red}}': 'at-keyframes', 'a:hover{}': 'pseudo-class-hover selector-type', 'a::before{}': 'pseudo-element-before selector-type',
  'a:after{}': 'pseudo-element-after selector-type', '.a{}': 'selector-class', '#a{}': 'selector-id', '[a]{}': 'selector-attribute', '*{}': 'selector-universal', 'a b{}': 'selector-descendant selector-type',
  'a>b{}': 'selector-child selector-type', 'a+b{}': 'selector-adjacent-sibling selector-type', 'a~b{}': 'selector-general-sibling selector-type', 'a,b{}': 'selector-grouping selector-type', 'a.b{}': 'selector-chaining selector-class selector-type',
  'p{color:red !important}': 'important selector-type', 'a:nth-child(2){}': 'pseudo-class-nth-child selector-type',
};
/** HTML → its features, with their prefix. */
const HTML = {
  '<h2>x</h2>': 'html-h1-h6', '<ul><li>x</ul>': 'html-lists', '<video src="a"></video>': 'html-video', '<nav>x</nav>': 'html-semantics', '<embed src="a">': 'html-object', '<svg></svg>': 'html-svg', '<form></form>': 'html-form',
  '<input type="radio">': 'html-input-radio', '<input>': 'html-input-text', '<button>x</button>': 'html-button-submit', '<button type="reset">x</button>': 'html-button-reset', '<a href="mailto:a@b.de">x</a>': 'html-mailto-links',
  '<a href="#here" id="here">x</a>': 'html-anchor-links', '<a href="#nowhere">x</a>': '', '<p align="left">x</p>': 'html-align', '<p aria-hidden="true">x</p>': 'html-aria-hidden', '<p role="note">x</p>': 'html-role',
  '<img src="https://a.de/b.webp?x=1" srcset="a">': 'html-srcset image-webp', '<img src="https://a.de/b.JPEG">': 'image-jpg', '<img src="https://a.png/b">': '', '<img src="data:image/png;base64,AA">': 'image-base64',
  '<p hidden><video></video></p>': '', '<!--[if mso]><video></video><![endif]-->': '',
};

const withPrefix = (names) => names.split(' ').filter(Boolean).map((name) => `css-${name}`).sort();

describe('features that a mail uses', () => {
  for (const [style, names] of Object.entries(STYLES)) test(style, () => assert.deepEqual(more(bodyOf(`<p style="${style}">x</p>`)), withPrefix(names)));
  for (const [css, names] of Object.entries(SHEETS)) test(css, () => assert.deepEqual(more(bodyOf('<p>x</p>', `<style>${css}</style>`)).filter((slug) => slug !== 'html-style'), withPrefix(names)));
  for (const [html, slugs] of Object.entries(HTML)) test(html, () => assert.deepEqual(more(bodyOf(`<p>x</p>${html}`)), slugs.split(' ').filter(Boolean).sort()));
});

describe('the data', () => {
  test('has the verdict of the newest test', () => {
    assert.equal(newest({ 9.1: 'n', 10: 'y' }), '10');
    assert.equal(newest({ '2019-10': 'n', '2021-01': 'y', '2020-05': 'n' }), '2021-01');
    assert.equal(newest({ 2007: 'n', 2019: 'n', 2016: 'y' }), '2019');
    assert.equal(newest({ '2019-10': 'n', '16.80': 'y' }), '16.80');
  });

  test('has features, clients with names, and dates', () => {
    assert.equal(clientSupport().size, 307);
    assert.equal(clientName('outlook.windows'), 'Outlook (Windows)');
    assert.match(supportDate(), /^\d{4}-\d\d-\d\d$/);
    for (const { testedOn, verdicts } of clientSupport().values()) {
      assert.match(testedOn, /^\d{4}-\d\d-\d{1,2}$/);
      for (const verdict of verdicts.values()) assert.ok('ynau'.includes(verdict));
    }
  });
});
