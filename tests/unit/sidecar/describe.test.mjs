// What a preparation says about the document: text, title, preview, links, images, warnings. And the sample newsletter.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

import { prepareHtml } from '../../../src/render/sidecar/html/prepare.mjs';
import { findHazards } from './hazards.mjs';

const prepare = (content) => prepareHtml({ content });
const examples = new URL('../../../examples/newsletter/', import.meta.url);
const newsletter = readFileSync(new URL('newsletter.html', examples), 'utf8');

describe('plain text', () => {
  test('headings, paragraphs, lists, rules, links and pictures', () => {
    const { text } = prepare('<h1>Big News</h1><p>Hello {{ name }},<br>read <a href="https://e.example/a?b=1&amp;c=2">this</a>'
      + ' or <a href="https://e.example/">https://e.example/</a>.</p><hr><ul><li>one</li><li>two</li></ul>'
      + '<img src="https://e.example/i.png" alt="A cat"><img src="https://e.example/s.gif" alt="">');
    assert.equal(text, `Big News\n\nHello {{ name }},\nread this <https://e.example/a?b=1&c=2> or https://e.example/.\n\n${'-'.repeat(40)}`
      + '\n\n - one\n - two\n\nA cat');
  });

  test('figures keep their columns, layout tables become lines', () => {
    const { text } = prepare('<table><tr><td><table><tr><th>Item</th><th>Price</th></tr><tr><td>Tea</td><td>4.00</td></tr>'
      + '<tr><td>Coffee beans</td><td>14.00</td></tr></table></td><td><p>Beside</p></td></tr></table>');
    assert.equal(text, 'Item           Price\nTea            4.00\nCoffee beans   14.00\n\nBeside');
  });

  test('hidden things, Outlook blocks and filler characters stay out; long lines are not wrapped', () => {
    const long = 'word '.repeat(60).trim();
    const { text } = prepare(`<div style="display:none">Secret</div><style>.m { display: none } @media (max-width:1px) { .m { top: 0 } }</style>`
      + `<div class="m">Mobile only</div><!--[if mso]><p>Outlook</p><![endif]--><p>a&nbsp;b&shy;&#8203;c</p><p>${long}</p>`);
    assert.equal(text, `a bc\n\n${long}`);
  });

  test('joiners that words and emoji need stay', () => {
    assert.equal(prepare('<p>\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u{1f469}\u200d\u{1f33e}</p>').text, '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u{1f469}\u200d\u{1f33e}');
    const preview = prepare('<div style="display:none">\u0645\u06cc\u200c\u062e&nbsp;&zwnj;&nbsp;&zwnj;</div><p>x</p>').previewText;
    assert.equal(preview, '\u0645\u06cc\u200c\u062e');
  });

  test('expressions are verbatim, also those that HTML has to escape', () => {
    const { text } = prepare('<p title="{{ t }}">{{ a | default: "<b>" }} {% if x > 1 %}y{% endif %}</p>');
    assert.equal(text, '{{ a | default: "<b>" }} {% if x > 1 %}y{% endif %}');
  });
});

describe('title and preview', () => {
  test('the title, else the first heading, else nothing', () => {
    assert.equal(prepare('<title> A  &amp; B </title><h1>H</h1>').title, 'A & B');
    assert.equal(prepare('<p>x</p><h2>Second <b>level</b></h2><h1>H</h1>').title, 'Second level');
    assert.equal(prepare('<p>x</p>').title, null);
  });

  test('the hidden text before the content, without its filler', () => {
    const hidden = (style) => prepare(`<body><div style="${style}">Soon {{ x }}&zwnj;&nbsp;&#847;&zwnj;&nbsp;</div><p>Hello</p></body>`).previewText;
    assert.equal(hidden('display:none'), 'Soon {{ x }}');
    assert.equal(hidden('DISPLAY : none !important; color: red'), 'Soon {{ x }}');
    assert.equal(hidden('max-height:0px;overflow:hidden'), 'Soon {{ x }}');
    assert.equal(hidden('opacity:0'), 'Soon {{ x }}');
    assert.equal(hidden('color:red; opacity:0.9; max-height:10px'), null);
  });

  test('hidden by a class; not the hidden half of a layout further down', () => {
    assert.equal(prepare('<style>.pre { display: none }</style><span class="pre">Soon</span><p>x</p>').previewText, 'Soon');
    assert.equal(prepare(`<p>${'x'.repeat(200)}</p><div style="display:none">Mobile</div>`).previewText, null);
  });
});

describe('links and images', () => {
  test('every occurrence in document order, with its text or its picture\'s', () => {
    const { links, images } = prepare('<a href="https://e.example/a"> one <b>two</b></a><a href="https://e.example/a">again</a>'
      + '<a href="https://e.example/b"><img src="https://e.example/i.png" alt="Pic"></a><a name="x">none</a><img src="https://e.example/j.png">');
    assert.deepEqual(links, [
      { index: 0, href: 'https://e.example/a', text: 'one two' },
      { index: 1, href: 'https://e.example/a', text: 'again' },
      { index: 2, href: 'https://e.example/b', text: 'Pic' },
    ]);
    assert.deepEqual(images, [{ src: 'https://e.example/i.png', alt: 'Pic' }, { src: 'https://e.example/j.png', alt: null }]);
  });

  test('the n-th link is the n-th href of the document', () => {
    const { html, links } = prepareHtml({ content: newsletter });
    const decode = (value) => value.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
    const tags = html.match(/<[a-zA-Z][^<>]*>/g);
    const hrefs = tags.flatMap((tag) => [...tag.matchAll(/ href="([^"]*)"/g)]).map(([, value]) => decode(value));
    assert.ok(hrefs.length > 15);
    assert.deepEqual(hrefs, links.map(({ href }) => href));
  });
});

describe('the report', () => {
  test('bytes are those of the document', () => {
    const { html, report } = prepare('<p>Zoë 京都</p>');
    assert.equal(report.htmlBytes, Buffer.byteLength(html, 'utf8'));
  });

  test('over 95 KB the heaviest parts are named', () => {
    const part = (name, chars) => `<div><h2>${name}</h2><p>${'x'.repeat(chars)}</p></div>`;
    const { report } = prepare(part('Small', 20_000) + part('Large', 70_000) + `<p style="font-family:${'a'.repeat(9_000)}">x</p>`);
    const warning = report.warnings.find(({ code }) => code === 'GMAIL_CLIP');
    assert.match(warning.message, /^The HTML is 97 KB .* Heaviest: the part “Largex+…” 68 KB, the part “Smallx+…” 20 KB, (?:style attributes 9 KB, the part “x” 9 KB|the part “x” 9 KB, style attributes 9 KB)\.$/);
  });

  test('at 95 KB there is no warning yet', () => {
    const { report } = prepare(`<p>${'x'.repeat(95 * 1024 - 110)}</p>`);
    assert.ok(report.htmlBytes <= 95 * 1024 && report.htmlBytes > 95 * 1024 - 100, `${report.htmlBytes}`);
    assert.deepEqual(report.warnings, []);
  });

  test('what is known of an image: its alternative text, the heading above it, the first text after it', () => {
    const { imageTexts } = prepare('<h1>Spring <b>sale</b></h1><table><tr><td><img src="https://e.example/a.png" alt=" Red  shoe "></td></tr><tr><td>'
      + '<p>The <i>walker</i>, £60 {{ firstName }}</p><p>Order today</p></td></tr></table><h2>Hats</h2><img src="https://e.example/b.png">'
      + '<img src="https://e.example/b.png" alt="again"><div style="display:none">hidden</div>');
    assert.deepEqual(imageTexts, {
      'https://e.example/a.png': { alt: 'Red shoe', heading: 'Spring sale', beside: 'The walker, £60' },
      'https://e.example/b.png': { alt: '', heading: 'Hats', beside: '' },
    });
    const bare = prepare(`<p>x</p><img src="https://e.example/c.png"><p>${'word '.repeat(500)}</p>`).imageTexts;
    assert.equal(bare['https://e.example/c.png'].beside.length, 200);
    assert.deepEqual(prepare('<img src="https://e.example/d.png">').imageTexts, {});
    const long = prepare(`<h1>${'🦊'.repeat(100000)}</h1>${'<img src="https://e.example/e.png"><img src="https://e.example/f.png">'.repeat(100)}`).imageTexts;
    assert.equal([...long['https://e.example/f.png'].heading].length, 200);
  });

  test('data images that are no pictures of pixels are removed with a warning', () => {
    const { html, images, report } = prepare('<p>x</p><img src="data:image/svg+xml;base64,AAAA" alt="A">');
    assert.doesNotMatch(html, /data:|<img/);
    assert.deepEqual(images, []);
    assert.deepEqual(report.warnings.map(({ code }) => code), ['DATA_URL_REMOVED']);
  });
});

describe('the sample newsletter', () => {
  test('is a proper size and needs no repair', () => {
    assert.ok(newsletter.length > 10_000 && newsletter.length < 40_000);
    const { html, report } = prepareHtml({ content: newsletter });
    assert.deepEqual(report.warnings, []);
    assert.deepEqual(report.removed.map(({ what }) => what), ['comment']);
    assert.deepEqual(findHazards(html), []);
  });

  test('keeps everything an import must keep', () => {
    const { html, title, previewText, slots, links, text } = prepareHtml({ content: newsletter });
    assert.equal(title, 'The October letter: bulbs now, tulips in April');
    assert.equal(previewText, 'Six weeks of good planting weather left. What goes into the ground now, and what can wait.');
    assert.deepEqual(slots, ["firstName | default: 'there'", 'unsubscribeUrl']);
    assert.equal(links.at(-1).href, '{{ unsubscribeUrl }}');
    for (const part of ["<p class=\"text\" style=\"", "Hello {{ firstName | default: 'there' }},", '@media (max-width: 620px)',
      '@media (prefers-color-scheme: dark)', '[data-ogsc] .text', '<!--[if mso]><table role="presentation" width="600"',
      '<v:roundrect ', '<w:anchorlock/>', '<o:OfficeDocumentSettings>', '<!--[if !mso]><!-->', 'href="{{ unsubscribeUrl }}"']) {
      assert.ok(html.includes(part), part);
    }
    assert.match(text, /Tulip +First hard frost +15 cm\n/);
    assert.doesNotMatch(text, /Six weeks of good planting/);
  });

  test('gives the same bytes again, and stays as it is when prepared again', () => {
    const first = prepareHtml({ content: newsletter });
    assert.deepEqual(prepareHtml({ content: newsletter }), first);
    const second = prepareHtml({ content: first.html });
    const third = prepareHtml({ content: second.html });
    assert.equal(third.html, second.html);
    assert.deepEqual(second.links, first.links);
    assert.equal(second.text, first.text);
  });

  test('its contacts are 200, distinct, reachable only at example domains', () => {
    const contacts = JSON.parse(readFileSync(new URL('contacts.json', examples), 'utf8'));
    assert.equal(contacts.length, 200);
    assert.equal(new Set(contacts.map(({ email }) => email.toLowerCase())).size, 200);
    for (const { email, customFields } of contacts) {
      assert.match(email, /^[a-z0-9.-]+@example\.(?:com|org|net)$/);
      assert.deepEqual(Object.keys(customFields), ['city', 'plan']);
    }
    assert.equal(contacts.filter(({ firstName }) => firstName === undefined).length, 18);
    assert.equal(contacts.filter(({ subscribed }) => subscribed === false).length, 7);
  });
});
