// Images of a document: every place that names one is found, addresses are exchanged there and nowhere else, and the rest of
// the document stays as it is, byte for byte. Embedded images travel beside the document (R-225).

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { LIMITS } from '../../../src/render/sidecar/limits.mjs';
import { prepareHtml } from '../../../src/render/sidecar/html/prepare.mjs';
import { listImages, replaceImages } from '../../../src/render/sidecar/html/asset_addresses.mjs';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const prepare = (content) => prepareHtml({ content });
const at = (name) => `https://x.example/${name}.png`;
const exchanged = (html, images) => replaceImages({ content: html, images }).html;

/** Every place of an image: what it is called → [a document with it, the part of the finished HTML, the same exchanged, the same taken away]. */
const PLACES = {
  'an img': ['<p>K</p><img alt="A" src="URL"><p>L</p>', '<img alt="A" src="URL">', '<img alt="A" src="NEW">', ''],
  'a background': ['<table background="URL"><tr><td>K</td></tr></table>', '<table background="URL">', '<table background="NEW">', '<table>'],
  'a style attribute': ['<p style="color: red; background: #fff url(URL) no-repeat">K</p>', 'url(URL) no-repeat', 'url(\'NEW\') no-repeat', '#fff none no-repeat'],
  'a style attribute with quotes': ['<p style="background-image: url(&quot;URL&quot;)">K</p>', 'url(&quot;URL&quot;)', 'url(&quot;NEW&quot;)', 'background-image: none'],
  'a style sheet': ['<style>@media print { p { background: url("URL") } }</style><p>K</p>', 'url("URL")', 'url("NEW")', 'background: none'],
  'an img for Outlook': ['<!--[if mso]><p>K</p><img src="URL" alt="A"><![endif]--><p>L</p>', '<img src="URL" alt="A">', '<img src="NEW" alt="A">', '<p>K</p><![endif]-->'],
  'a fill of VML': ['<!--[if mso]><v:rect><v:fill type="frame" src="URL" /></v:rect><![endif]--><p>K</p>', 'src="URL"', 'src="NEW"', '<v:fill type="frame"'],
  'an image of VML': ['<!--[if gte vml 1]><v:image src="URL" style="width:10px"/><![endif]--><p>K</p>', 'src="URL"', 'src="NEW"', '<v:image style='],
  'a sheet for Outlook': ['<!--[if mso]><style>p { background: url(URL) }</style><![endif]--><p>K</p>', 'url(URL)', 'url(\'NEW\')', 'background: none'],
  'a revealed part': ['<!--[if !mso]><!--><img src="URL"><!--<![endif]--><p>K</p>', '<img src="URL">', '<img src="NEW">', ''],
};

describe('places of images', () => {
  for (const [name, [content, written, changed, gone]] of Object.entries(PLACES)) {
    test(name, () => {
      const { html, assets } = prepare(content.replaceAll('URL', at('a')));
      const [before, after] = html.split(written.replaceAll('URL', at('a')));
      assert.notEqual(after, undefined, `the place is written otherwise: ${html}`);
      assert.deepEqual(assets, { urls: [at('a')], embedded: {} });
      const moved = exchanged(html, { [at('a')]: at('new') });
      assert.equal(moved, before + changed.replaceAll('NEW', at('new')) + after);
      const without = exchanged(html, { [at('a')]: null });
      assert.ok(!without.includes(at('a')) && without.includes(gone), without);
      assert.deepEqual(listImages(without), []);
      assert.match(without, /K/);
    });
  }

  test('addresses of fonts, links and texts are none', () => {
    const { html, assets } = prepare(`<style>@font-face { font-family: F; src: url(${at('font')}) } @media print { p { fill: url(#x) } }</style>
      <a href="${at('a')}">${at('b')}</a><p title="${at('c')}">&lt;img src="${at('d')}"&gt;</p><!--[if mso]><v:image o:href="${at('e')}"/><![endif]-->`);
    assert.deepEqual(assets.urls, []);
    assert.equal(exchanged(html, Object.fromEntries(['font', 'a', 'b', 'c', 'd', 'e'].map((name) => [at(name), at('new')]))), html);
  });

  test('each address is listed once, as a reader decodes it', () => {
    const { html, assets } = prepare('<img src="https://x.example/?a=1&amp;b=&quot;"><img src=\'https://x.example/?a=1&b="\'><img src="https://x.example/2">');
    assert.deepEqual(assets.urls, ['https://x.example/?a=1&b="', 'https://x.example/2']);
    assert.match(exchanged(html, { [assets.urls[0]]: 'https://y.example/?c&d' }), /(<img src="https:\/\/y\.example\/\?c&amp;d">){2}<img src="https:\/\/x\.example\/2">/);
  });

  test('template expressions stay, in addresses and around them', () => {
    const content = `<p>{{ a | default: "b < c" }}</p><table>{% for x in y %}<tr><td><img src="{{ x.image }}"></td></tr>{% endfor %}</table>
      <img src="${at('a')}" alt="{{ name | default: 'it''s' }}"><img src="https://x.example/{{ id }}.png">`;
    const { html, assets } = prepare(content);
    assert.deepEqual(assets.urls, ['{{ x.image }}', at('a'), 'https://x.example/{{ id }}.png']);
    assert.equal(exchanged(html, { [at('a')]: at('b') }), html.replace(at('a'), at('b')));
    assert.equal(exchanged(html, {}), html);
  });

  test('many images take no time', () => {
    const content = `<p>K</p>${'<img src="https://x.example/a"><p style="background:url(https://x.example/b)">x</p>'.repeat(10_000)}`;
    const { html, assets } = prepare(content);
    assert.equal(assets.urls.length, 2);
    assert.equal(exchanged(html, { 'https://x.example/a': null, 'https://x.example/b': 'https://y.example/c' }).match(/y\.example/g).length, 10_000);
  });
});

describe('embedded images', () => {
  const FORMS = {
    'in quotes': `<img src="data:image/png;base64,${PIXEL}" alt="A">`,
    'in apostrophes': `<img src='data:image/png;base64,${PIXEL}' alt="A">`,
    bare: `<img src=data:image/png;base64,${PIXEL} alt="A">`,
    'over lines': `<img alt="A" src=" data:image/PNG;charset=utf-8;base64,${PIXEL.replace(/.{20}/g, '$&\n  ')} ">`,
    'with escapes': `<img alt="A" src="data:image/png;base64,${PIXEL.replaceAll('+', '%2B').replaceAll('/', '%2f')}">`,
    'in CSS': `<p style="background: url(data:image/png;base64,${PIXEL})">x</p>`,
    'in CSS with quotes': `<p style="background: url(&quot;data:image/png;base64,${PIXEL}&quot;)">x</p>`,
    'in a sheet': `<style>@media print { p { background: url('data:image/png;base64,${PIXEL}') } }</style>`,
    'for Outlook': `<!--[if mso]><v:fill src="data:image/png;base64,${PIXEL}" /><![endif]-->`,
  };
  for (const [name, content] of Object.entries(FORMS)) {
    test(`taken out and handed over: ${name}`, () => {
      const { html, assets, report } = prepare(`<p>K</p>${content}`);
      assert.equal(assets.urls.length, 1);
      assert.deepEqual(assets.embedded, { [assets.urls[0]]: PIXEL });
      assert.doesNotMatch(html, /data:/);
      assert.deepEqual(report.removed, []);
      assert.match(exchanged(html, { [assets.urls[0]]: at('new') }), /x\.example\/new\.png/);
      const back = replaceImages({ content: html, images: { [assets.urls[0]]: `data:image/png;base64,${PIXEL}` } });
      assert.ok(back.html.includes(`data:image/png;base64,${PIXEL}`));
      assert.equal(back.warning, null);
    });
  }

  test('equal ones are one; what no image place names is left to the filters', () => {
    const data = `data:image/png;base64,${PIXEL}`;
    const { html, assets, report } = prepare(`<p>K</p><img src="${data}"><img src='${data}'><a href="${data}">a</a><p data-src="${data}">x</p>`);
    assert.equal(assets.urls.length, 1);
    assert.deepEqual(report.removed, [{ what: 'data URL', count: 1 }]);
    assert.ok(html.includes(`data-src="${data}"`));
  });

  test('no stand-in is left, whatever is said about it', () => {
    const { html } = prepare(`<p>src="data:image/png;base64,${PIXEL}"</p><img src="data:image/gif;base64,AAAA">`);
    assert.match(html, /embedded\.invalid/);
    assert.doesNotMatch(exchanged(html, {}), /embedded\.invalid/);
  });

  test('their number is bounded', () => {
    const content = Array.from({ length: LIMITS.embeddedImages + 5 }, (_, i) => `<img src="data:image/png;base64,${Buffer.from(`${i}`).toString('base64')}">`);
    const { assets, report } = prepare(`<p>K</p>${content.join('')}`);
    assert.equal(assets.urls.length, LIMITS.embeddedImages);
    assert.equal(report.removed.find(({ what }) => what === 'data URL').count, 5);
  });

  test('a document that they make heavy is warned about', () => {
    const { html, assets } = prepare(`<p>K</p><img src="data:image/png;base64,${Buffer.alloc(90_000, 1).toString('base64')}">`);
    const [url] = assets.urls;
    const { htmlBytes, warning } = replaceImages({ content: html, images: { [url]: `data:image/png;base64,${assets.embedded[url]}` } });
    assert.ok(htmlBytes > 120_000);
    assert.match(warning, /^The HTML is 117 KB with its embedded images \(117 KB of base64\), and Gmail hides/);
    assert.equal(replaceImages({ content: html, images: { [url]: at('a') } }).warning, null);
  });
});
