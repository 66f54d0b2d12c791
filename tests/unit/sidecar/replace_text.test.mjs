// Exact edits of a finished document (D-148): a text is found as a reader sees it and replaced where it is; every other byte
// stays. What cannot be replaced is refused with the count, the places, or the nearest text.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readFileSync } from 'node:fs';

import { prepareHtml } from '../../../src/render/sidecar/html/prepare.mjs';
import { replaceText } from '../../../src/render/sidecar/html/replace_text.mjs';
import { renderMjml } from '../../../src/render/sidecar/mjml/mjml.mjs';

const HEAD = '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"></head><body>';
const TAIL = '</body></html>';
const finished = (body) => prepareHtml({ content: body }).html;

/** `replacements` are lists [find, with, all]. */
const edit = (html, replacements, subject = null) => replaceText({
  content: html, subject, replacements: replacements.map(([find, text, all = false]) => ({ find, with: text, all })),
});

/** The body of the result. The body of the source must be written as the serializer writes it. */
function body(source, replacements) {
  const html = finished(source);
  assert.equal(html, HEAD + source + TAIL, 'the source is not finished');
  const edited = edit(html, replacements).html;
  assert.ok(edited.startsWith(HEAD) && edited.endsWith(TAIL), edited);
  return edited.slice(HEAD.length, -TAIL.length);
}

function refusal(source, replacements, subject) {
  try {
    edit(finished(source), replacements, subject);
  } catch (error) {
    assert.equal(error.code, 'INVALID_REQUEST', error.stack);
    return error;
  }
  return assert.fail('it was not refused');
}

/** What it shows → [body, find, with, body afterwards]. */
const FOUND = {
  'a word': ['<p>Helo world</p>', 'Helo', 'Hello', '<p>Hello world</p>'],
  'a text over an inline element': ['<p><b>Hel</b>lo</p>', 'Hello', 'Goodbye', '<p><b>Goodbye</b></p>'],
  'a text that begins before an element': ['<p>Hel<b>lo</b> you</p>', 'Hello', 'Goodbye', '<p>Goodbye<b></b> you</p>'],
  'nested elements': ['<p>a<b>b<i>c<u>d</u></i></b>e</p>', 'abcde', 'x', '<p>x<b><i><u></u></i></b></p>'],
  'words in common stay in their elements': ['<p>Hello <b>big</b> <i>world</i></p>', 'Hello big world', 'Hello small world', '<p>Hello <b>small</b> <i>world</i></p>'],
  'a text that grows': ['<p>Hello</p>', 'Hello', 'Hello world', '<p>Hello world</p>'],
  'a text that goes': ['<p>Hello big world</p>', ' big', '', '<p>Hello world</p>'],
  entities: ['<p>Fish &amp; chips &lt; 5</p>', 'Fish & chips < 5', 'Tea > 5 & <b>', '<p>Tea &gt; 5 &amp; &lt;b&gt;</p>'],
  'an entity is text, not markup': ['<p>a &amp;amp; b</p>', '&amp;', '&lt;', '<p>a &amp;lt; b</p>'],
  'no-break spaces': ['<p>10&nbsp;000&nbsp; EUR</p>', '10 000 EUR', '9 000 EUR', '<p>9&nbsp;000&nbsp; EUR</p>'],
  'a no-break space in the new text': ['<p>10 EUR</p>', '10 EUR', '10\u00a0EUR', '<p>10&nbsp;EUR</p>'],
  'white space of the source': ['<p>Hello\n    <b>\n big</b>\n world</p>', 'Hello big world', 'Bye', '<p>Bye<b></b></p>'],
  'white space of the text to find': ['<p>Hello big world</p>', 'Hello\n  big\tworld', 'Bye', '<p>Bye</p>'],
  'a line break': ['<p>Hello<br>world</p>', 'Hello world', 'Hello moon', '<p>Hello<br>moon</p>'],
  'soft hyphens': ['<p>un\u00adbe\u00adlievable</p>', 'unbelievable', 'credible', '<p>credible</p>'],
  'zero-width spaces': ['<p>a\u200bb \ufeffc</p>', 'ab c', 'x', '<p>x</p>'],
  'an accent of its own': ['<p>cafe\u0301 noir</p>', 'café', 'tea', '<p>tea noir</p>'],
  'a composed accent': ['<p>café noir</p>', 'cafe\u0301', 'tea', '<p>tea noir</p>'],
  emoji: ['<p>a 🎉🎉 b</p>', '🎉🎉 b', '👩‍💻', '<p>a 👩‍💻</p>'],
  'right to left': ['<p dir="rtl">שלום <b>עולם</b> טוב</p>', 'שלום עולם', 'ערב', '<p dir="rtl">ערב<b></b> טוב</p>'],
  'a cell': ['<table><tbody><tr><td>One</td><td>Two</td></tr></tbody></table>', 'Two', '2', '<table><tbody><tr><td>One</td><td>2</td></tr></tbody></table>'],
  'a link': ['<p><a href="https://a.example/One">One</a></p>', 'One', 'Two', '<p><a href="https://a.example/One">Two</a></p>'],
  'the text of a button is found with a word of its address': ['<p><a href="https://a.example/sale">sale</a></p>', 'sale', 'deal', '<p><a href="https://a.example/sale">deal</a></p>'],
  'a word that is only in an address': ['<p><a href="https://a.example/sale">Go</a></p>', 'sale', 'deal', '<p><a href="https://a.example/deal">Go</a></p>'],
  'an address': ['<p><a href="https://a.example/?x=1&amp;y=2">Go</a></p>', 'https://a.example/?x=1&y=2', 'https://b.example/?q="<&', '<p><a href="https://b.example/?q=&quot;&lt;&amp;">Go</a></p>'],
  'an address before a merge tag': ['<p><a href="https://a.example/{{ id | default: &quot;x&quot; }}?a=1">Go</a></p>', 'a.example', 'b.example', '<p><a href="https://b.example/{{ id | default: &quot;x&quot; }}?a=1">Go</a></p>'],
  'an alternative text': ['<p>a<img src="https://a.example/a.png" alt="A &quot;red&quot; box"></p>', '"red" box', '"><script>', '<p>a<img src="https://a.example/a.png" alt="A &quot;&gt;&lt;script&gt;"></p>'],
  'text beside a merge tag': ['<p>Helo {{ a | default: "b < c" }}!</p>', 'Helo', 'Hello', '<p>Hello {{ a | default: "b < c" }}!</p>'],
  'text around a merge tag': ['<p>Hi {{ a }}, wlcome</p>', 'Hi {{ a }}, wlcome', 'Dear {{ a }}, welcome', '<p>Dear {{ a }}, welcome</p>'],
  'a whole merge tag': ['<p>Hi {{ first }}!</p>', '{{ first }}', '{{ last | default: "a & b" }}', '<p>Hi {{ last | default: "a & b" }}!</p>'],
  'text inside a condition': ['<p>{% if a %}Yess{% else %}No{% endif %}</p>', 'Yess', 'Yes', '<p>{% if a %}Yes{% else %}No{% endif %}</p>'],
  'the new text is not searched': ['<p>a a</p>', 'a', 'aa', '<p>aa aa</p>', true],
  'matches of one text do not overlap': ['<p>aaa</p>', 'aa', 'b', '<p>ba</p>', true],
  'a text beside a style with its words': ['<p style="color:red">color</p>', 'color', 'colour', '<p style="color:red">colour</p>'],
  'a part between lines for other clients': ['<!--[if !mso]><!--><p>Hi</p><!--<![endif]-->', 'Hi', 'Ho', '<!--[if !mso]><!--><p>Ho</p><!--<![endif]-->'],
};

describe('a text is found as a reader sees it', () => {
  for (const [name, [source, find, text, expected, all]] of Object.entries(FOUND)) {
    test(name, () => assert.equal(body(source, [[find, text, all]]), expected));
  }

  test('title and subject', () => {
    const html = prepareHtml({ content: '<title>Old &amp; new</title><p>x</p>' }).html;
    const result = edit(html, [['Old & new', 'New & <old>', true]], 'Old & new!');
    assert.equal(result.html, html.replace('Old &amp; new', 'New &amp; &lt;old&gt;'));
    assert.equal(result.title, 'New & <old>');
    assert.equal(result.subject, 'New & <old>!');
    assert.deepEqual(result.replaced, [{ count: 2, places: { subject: 1, title: 1 } }]);
  });

  test('the hidden text before the content is the preview text', () => {
    const html = finished('<div style="display:none">Sprng &zwnj;&nbsp;</div><p>Sprng</p><div style="display:none">Sprng</div>');
    const { previewText, text, replaced } = edit(html, [['Sprng', 'Spring', true]]);
    assert.deepEqual([previewText, text], ['Spring', 'Spring']);
    assert.deepEqual(replaced, [{ count: 3, places: { preview: 1, text: 2 } }]);
  });

  test('several replacements are made at once, on the text as it was', () => {
    assert.equal(body('<p>one two <b>three</b></p>', [['one', 'two'], ['two', 'three'], ['three', 'one']]), '<p>two three <b>one</b></p>');
  });

  test('a text for Outlook stays and is counted', () => {
    const html = finished('<!--[if mso]><v:rect href="https://a.example/"><center>Shop &amp; go</center></v:rect><![endif]--><p>Shop &amp; go</p>');
    const result = edit(html, [['Shop & go', 'Buy']]);
    assert.equal(result.html, html.replace('<p>Shop &amp; go', '<p>Buy'));
    assert.deepEqual(result.replaced, [{ count: 1, places: { text: 1 }, outlook: 1 }]);
  });

  test('text, links and report are those of a preparation', () => {
    const html = finished('<p>Old <a href="https://a.example/x">link</a></p>');
    const { links, text, report } = edit(html, [['Old', 'Nów'], ['https://a.example/x', 'https://b.example/y']]);
    assert.deepEqual(links, [{ index: 0, href: 'https://b.example/y', text: 'link' }]);
    assert.equal(text, 'Nów link <https://b.example/y>');
    assert.equal(report.htmlBytes, Buffer.byteLength(html) + 1);
  });
});

/** What it shows → [body, replacements, part of the message, param]. */
const REFUSED = {
  'no such text': ['<p>Spring</p>', [['Autumn', 'x']], 'Found 0 times', 'replacements.0.find'],
  'a typing error': ['<p>Big Spring sale today</p>', [['Sprng sale', 'x']], 'The nearest is “Spring sale” (text)'],
  'another case': ['<p>Big Spring Sale today</p>', [['spring sale', 'x']], 'The nearest is “Spring Sale” (text)'],
  'white space at the end of a paragraph': ['<p>Hello you</p><p>x</p>', [['Hello you\n', 'x']], 'The nearest is “Hello you” (text)'],
  'other quotes': ['<p>It’s here</p>', [['It\'s', 'x']], 'The nearest is “It’s” (text)'],
  'one long word': ['<p>unbelievable</p>', [['unbeleivable', 'x']], 'The nearest is “unbelievable” (text)'],
  markup: ['<p>Hello <b>you</b></p>', [['<b>you</b>', 'x']], 'without markup'],
  'paragraphs': ['<p>Hello</p><p>you</p>', [['Hello you', 'x']], 'spans several paragraphs'],
  'cells': ['<table><tr><td>Hel</td><td>lo</td></tr></table>', [['Hello', 'x']], 'spans several paragraphs'],
  'an element that is a block': ['<p>Hel<span style="display: block">lo</span></p>', [['Hello', 'x']], 'spans several paragraphs'],
  'a hidden element between': ['<p>Hel<span style="display:none">x</span>lo</p>', [['Helxlo', 'x']], 'spans several paragraphs'],
  'several places': ['<p>a Sale</p><p>b Sale</p>', [['Sale', 'x']], 'Found 2 times. Set all to true to replace every one, or give a longer text. It is in text “a Sale”, text “b Sale”.'],
  'many places': [`<p>${'Sale '.repeat(30)}</p>`, [['Sale', 'x']], 'Found 30 times'],
  'the inside of a merge tag': ['<p>{{ first }}</p>', [['first', 'x']], 'merge tag'],
  'the beginning of a merge tag': ['<p>a {{ first }}</p>', [['a {{', 'x']], 'merge tag'],
  'the end of a merge tag': ['<p>{{ first }} a</p>', [['first }} a', 'x']], 'merge tag'],
  'a part of an emoji': ['<p>👩‍💻</p>', [['👩', 'x']], 'part of a merge tag or of a character'],
  'a letter without its accent': ['<p>cafe\u0301</p>', [['cafe', 'x']], 'The nearest is “café” (text)'],
  'a style sheet': ['<style>@media print { .sprng { color: red } }</style><p class="sprng">x</p>', [['sprng', 'x']], 'Found 0 times'],
  'a conditional comment': ['<!--[if mso]><p>Only <b>there</b></p><![endif]--><p>x</p>', [['Only there', 'x']], 'Outlook'],
  'a comment of Liquid': ['<p>a {% comment %}hidden{% endcomment %} b</p>', [['hidden', 'x']], 'Found 0 times'],
  'the address of the unsubscribe link': ['<p>a <a href="{{ unsubscribeUrl }}?a=b">off</a></p>', [['?a=b', 'x']], 'unsubscribe link'],
  'the only text of the unsubscribe link': ['<p>a <a href="{{ unsubscribeUrl }}"><b>o</b>ff</a></p>', [['off', ' ']], 'unsubscribe link'],
  'the unsubscribe tag itself': ['<p>Stop: {{ unsubscribeUrl }}</p>', [['Stop: {{ unsubscribeUrl }}', 'x']], 'unsubscribe link'],
  'a script in an address': ['<p><a href="https://a.example/">x</a></p>', [['https://a.example/', 'javascript:alert(1)']], 'would not be allowed', 'replacements.0.with'],
  'a script made of two parts': ['<p><a href="https://a.example/">x</a></p>', [['https:', 'javascript:']], 'would not be allowed'],
  'an address without scheme': ['<p><a href="https://a.example/">x</a></p>', [['https://a.example/', 'b.example']], 'would not be allowed'],
  'an address on the same server': ['<p><a href="https://a.example/">x</a></p>', [['https://a.example/', '//b.example']], 'would not be allowed'],
  'no address': ['<p><a href="https://a.example/">x</a></p>', [['https://a.example/', '']], 'would not be allowed'],
  'white space in an address': ['<p><a href="https://a.example/">x</a></p>', [['https://a.example/', 'https://b.example/ c']], 'white space'],
  'a merge tag without an end': ['<p>a {{ b }}</p>', [['a', '{{ a']], 'not complete', 'replacements.0.with'],
  'an end without a merge tag': ['<p>a {{ b }}</p>', [['a', 'x %}']], 'not complete'],
  'a merge tag with the text beside it': ['<p>{x b}</p>', [['x', '{ a'], [' b', '}']], 'become a merge tag'],
  'the same text': ['<p>a</p>', [['a', 'a']], 'are the same', 'replacements.0.with'],
  'nothing that is seen': ['<p>a b</p>', [['\u00ad \u200b', 'x']], 'a reader sees', 'replacements.0.find'],
  'two replacements of one text': ['<p>Hello big world</p>', [['Hello big', 'x'], ['big world', 'y']], 'overlap', 'replacements.1.find'],
  'one good and one bad replacement': ['<p>Hello</p>', [['Hello', 'x'], ['Bye', 'y']], 'Found 0 times', 'replacements.1.find'],
};

describe('what cannot be replaced is refused', () => {
  for (const [name, [source, replacements, message, param = null]] of Object.entries(REFUSED)) {
    test(name, () => {
      const error = refusal(source, replacements);
      assert.ok(error.message.includes(message), error.message);
      if (param !== null) assert.equal(error.param, param);
    });
  }

  test('a subject is one line, of text, and not too long', () => {
    for (const text of ['a\nBcc: x@example.com', '', 'x'.repeat(251)]) {
      assert.equal(refusal('<p>x</p>', [['Old', text]], 'Old').param, 'replacements.0.with');
    }
  });

  test('a result without text or image', () => {
    assert.throws(() => edit(finished('<p>Hello</p>'), [['Hello', '']]), { code: 'EMAIL_IMPORT_FAILED' });
  });
});

describe('all other bytes stay', () => {
  test('designs of the gallery', async () => {
    for (const name of ['newsletter_harbour', 'welcome_fernhill', 'update_tallysheet']) {
      const source = readFileSync(new URL(`../../../src/gallery/${name}.mjml`, import.meta.url), 'utf8');
      const { html } = prepareHtml({ content: (await renderMjml(source)).html });
      const words = [...new Set(prepareHtml({ content: html }).text.replace(/\{\{[^}]*\}\}|\{%[^%]*%\}|<[^>]*>/g, ' ').match(/[A-Z][a-z]{4,}/g))];
      for (const word of words.slice(0, 25)) {
        const there = edit(html, [[word, 'Qqqqq', true]]).html;
        assert.notEqual(there, html);
        assert.equal(edit(there, [['Qqqqq', word, true]]).html, html);
      }
    }
  });
});

/** Each takes under 3 s of one core of a small machine; quadratic work would take minutes. */
const PROCESSOR_SECONDS = 20;

describe('time stays in proportion', () => {
  const MILLION = 1_000_000;
  const paragraphs = Array.from({ length: 9_000 }, (_, i) => `<p style="color:red">Paragraph number ${i} with some <b>bold</b> text and <a href="https://a.example/${i}">a link</a></p>`).join('');
  const many = (text) => Array.from({ length: 50 }, (_, i) => text(i));
  const LARGE = {
    'fifty texts in a design of 1 MB': [paragraphs, many((i) => [`number ${i + 100} with`, 'x'])],
    'one text at every place': [paragraphs, [['some bold text', 'some thin text', true]]],
    'texts that nearly match everywhere': ['a'.repeat(MILLION), many((i) => [`${'a'.repeat(1_900 + i)}b`, 'x'])],
    'a text that nearly matches from its end': ['a'.repeat(MILLION), [[`b${'a'.repeat(1_999)}`, 'x']]],
    'a text of many elements': ['<b>a</b>'.repeat(40_000), [['a'.repeat(2_000), 'x', true]]],
    'marks on one letter': [`e${'\u0301'.repeat(MILLION / 2)}`, [['x', 'y']]],
    'opening braces': ['{{ '.repeat(300_000), [['x', 'y']]],
    'comments of Liquid': ['{% comment %} x {% endcomment %} y'.repeat(4_000), [['y', 'z', true]]],
    'conditional comments': [`<p>y</p>${'<!--[if mso]><p>a</p><![endif]-->'.repeat(20_000)}`, [['y', 'z']]],
    'a result that is too large': ['a'.repeat(MILLION), [['a', 'b'.repeat(10_000), true]]],
    'a text that is nowhere among many words': [Array.from({ length: 100_000 }, (_, i) => `w${(i * 7919) % 100_003}`).join(' '), [['wq1234567', 'x']]],
  };
  for (const [name, [source, replacements]] of Object.entries(LARGE)) {
    test(name, () => {
      const before = process.cpuUsage();
      try {
        edit(`${HEAD}${source}${TAIL}`, replacements);
      } catch (error) {
        assert.equal(error.code, 'INVALID_REQUEST', error.stack);
      }
      const { user, system } = process.cpuUsage(before);
      const seconds = (user + system) / 1e6;
      assert.ok(seconds < PROCESSOR_SECONDS, `took ${seconds} s of processor time`);
    });
  }
});
