// Outlines of prepared HTML, and edits by their ids: the places are right to the byte, all other bytes stay, and what an email needs
// cannot be lost.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { outline, spliceHtml } from '../../../src/render/sidecar/html/outline.mjs';
import { prepareHtml } from '../../../src/render/sidecar/html/prepare.mjs';

const SOURCE = `<html><head><title>Früh&amp;ling</title><style>.a{color:red}</style></head><body>
<div style="display:none">Preview {{ contact.firstName }}</div>
<h1>Häuser &amp; <b>Gärten</b> 🌷</h1>
<p>Hi {{ contact.firstName | default: "you" }}, see <a href="https://a.example/shop?a=1&amp;b={{ id }}">our shop</a>.</p>
<!--[if mso]><p><a href="https://a.example/mso">Outlook</a></p><![endif]-->
{% if vip %}<p>For you</p>{% endif %}
<table><tr><td><a href="https://a.example/buy" style="padding:8px;background:#000">Buy now</a></td></tr></table>
<a href="https://a.example/i"><img src="https://a.example/i.png" alt="Red shoes"></a>
<p><a href="{{ unsubscribeUrl }}">Unsubscribe</a></p>
</body></html>`;
const HTML = prepareHtml({ content: SOURCE }).html;

const splice = (edits, content = HTML) => spliceHtml({ content, edits: edits.map(([id, text, drop = []]) => ({ id, with: text, drop })) }).html;
const bytesAt = (html, { begin, end }) => Buffer.from(html).subarray(begin, end).toString();
const OUTLINE = outline({ content: HTML });
const textNamed = (text) => OUTLINE.texts.find((one) => one.text === text) ?? assert.fail(`${text} is not in the outline`);

function refusal(edits) {
  try {
    splice(edits);
  } catch (error) {
    assert.equal(error.code, 'INVALID_REQUEST', error.stack);
    return error;
  }
  return assert.fail('it was not refused');
}

describe('an outline', () => {
  test('has texts, links and images at their places', () => {
    assert.deepEqual(OUTLINE.texts.map(({ text }) => text), ['Früh&ling', 'Preview {{ contact.firstName }}', 'Häuser & Gärten 🌷',
      'Hi {{ contact.firstName | default: "you" }}, see our shop.', '{% if vip %}', 'For you', '{% endif %}', 'Buy now', 'Unsubscribe']);
    assert.equal(bytesAt(HTML, textNamed('Häuser & Gärten 🌷')), 'Häuser &amp; <b>Gärten</b> 🌷');
    assert.deepEqual(OUTLINE.links.map(({ href, isButton, isProtected }) => [href, isButton, isProtected]), [
      ['https://a.example/shop?a=1&b={{ id }}', false, false], ['https://a.example/buy', true, false],
      ['https://a.example/i', false, false], ['{{ unsubscribeUrl }}', false, true]]);
    assert.equal(bytesAt(HTML, OUTLINE.links[0]), 'https://a.example/shop?a=1&amp;b={{ id }}');
    assert.deepEqual(OUTLINE.links[1].texts, [textNamed('Buy now').id]);
    const [image] = OUTLINE.images;
    assert.deepEqual([image.src, image.alt, image.link], ['https://a.example/i.png', 'Red shoes', OUTLINE.links[2].id]);
    assert.equal(bytesAt(HTML, image), 'https://a.example/i.png');
  });
});

describe('edits by id', () => {
  test('are written as their place needs it', () => {
    const edited = splice([[textNamed('Buy now').id, 'Buy <2> & "go"'], [OUTLINE.links[1].id, 'https://b.example/?x="1"&y=2'],
      [OUTLINE.images[0].id, 'https://b.example/b.png'], [OUTLINE.images[0].altId, '"Blue" shoes']]);
    assert.ok(edited.includes('>Buy &lt;2&gt; &amp; "go"</a>'));
    assert.ok(edited.includes('href="https://b.example/?x=&quot;1&quot;&amp;y=2"'));
    assert.ok(edited.includes('src="https://b.example/b.png" alt="&quot;Blue&quot; shoes"'));
  });

  test('leave all bytes outside of their places', () => {
    const spans = [...OUTLINE.texts.filter(({ text }) => !text.includes('{')), ...OUTLINE.links.filter(({ isProtected, href }) => !isProtected && !href.includes('{')), ...OUTLINE.images];
    for (const span of spans) {
      const edited = Buffer.from(splice([[span.id, 'https://new.example/ö']]));
      const source = Buffer.from(HTML);
      assert.deepEqual(edited.subarray(0, span.begin), source.subarray(0, span.begin), span.id);
      const after = source.length - span.end;
      assert.deepEqual(edited.subarray(edited.length - after), source.subarray(span.end), span.id);
      assert.notDeepEqual(edited, source);
    }
  });

  test('give the first bytes again', () => {
    const [from, to] = ['Buy now', 'Order'];
    assert.equal(splice([[textNamed(from).id, from]], splice([[textNamed(from).id, to]])), HTML);
  });

  test('keep elements, conditional comments and merge tags', () => {
    const edited = splice([[textNamed('Häuser & Gärten 🌷').id, 'Neu'], [OUTLINE.texts[3].id, 'Dear {{ contact.firstName | default: "you" }}']]);
    assert.ok(edited.includes('<!--[if mso]>'));
    assert.ok(edited.includes('<b></b>'));
    assert.ok(edited.includes('Dear {{ contact.firstName | default: "you" }}'));
    assert.ok(splice([[OUTLINE.texts[1].id, 'Preview', ['{{ contact.firstName }}']]]).includes('>Preview<'));
  });

  for (const [name, edits, param] of [
    ['an id that is not there', [['t99', 'x']], 'edits.0.id'],
    ['the address of the unsubscribe link', [[OUTLINE.links[3].id, 'https://a.example/']], 'edits.0.id'],
    ['an unsubscribe link without text', [[textNamed('Unsubscribe').id, '']], 'edits'],
    ['a lost merge tag', [[OUTLINE.texts[1].id, 'Preview']], 'edits.0.with'],
    ['a lost tag of a condition', [[textNamed('{% endif %}').id, 'x']], 'edits.0.with'],
    ['a script as an address', [[OUTLINE.links[1].id, 'javascript:alert(1)']], 'edits.0.with'],
    ['a script as an image', [[OUTLINE.images[0].id, 'data:text/html,x']], 'edits.0.with'],
    ['half a merge tag', [[textNamed('Buy now').id, '{{ x']], 'edits.0.with'],
    ['one place twice', [[textNamed('Buy now').id, 'A'], [textNamed('Buy now').id, 'B']], 'edits.1.id'],
    ['the second of two, so none is applied', [[textNamed('Buy now').id, 'A'], [OUTLINE.links[1].id, 'x y']], 'edits.1.with'],
  ]) test(`refuses ${name}`, () => { assert.equal(refusal(edits).param, param); });
});
