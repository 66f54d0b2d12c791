// Layouts as they are found in real mail: none of their text is lost on the way, in the HTML or in the text part. The judge
// reads the words of the source and of the result with a parser of its own; layouts are put together at random from the
// building blocks of many tools, with a seed that is printed.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';

import { prepareHtml } from '../../../src/render/sidecar/html/prepare.mjs';
import { findHazards } from './hazards.mjs';

const require = createRequire(new URL('../../../src/render/sidecar/package.json', import.meta.url));
const { parse } = require('parse5');

const SEED = Number(process.env.LAYOUT_SEED ?? 20261121);
const ROUNDS = Number(process.env.LAYOUT_ROUNDS ?? 150);

const UNSEEN = new Set(['script', 'style', 'head', 'noscript', 'template', 'title']);
const BREAKS = new Set(['td', 'th', 'tr', 'p', 'div', 'li', 'br', 'h1', 'h2', 'table', 'center', 'a', 'blockquote', 'hr', 'img']);

/** The words that a reader sees, in order. */
function wordsOf(html) {
  let text = '';
  const visit = (node) => {
    if (node.nodeName === '#text') text += node.value;
    if (UNSEEN.has(node.tagName)) return;
    const style = node.attrs?.find(({ name }) => name === 'style')?.value ?? '';
    if (/display\s*:\s*none/.test(style)) return;
    if (BREAKS.has(node.tagName)) text += ' ';
    for (const child of node.childNodes ?? []) visit(child);
    if (BREAKS.has(node.tagName)) text += ' ';
  };
  visit(parse(html));
  return text.replace(/[\u00ad\u200b\u2060\ufeff]/g, '').split(/[\s\u00a0]+/).filter(Boolean);
}

/** The first of `words` that does not follow the others in `text`, or null. */
function firstLost(words, text) {
  let from = 0;
  for (const word of words) {
    const at = text.indexOf(word, from);
    if (at < 0) return word;
    from = at + word.length;
  }
  return null;
}

const page = (body, head = '') => `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:v="urn:schemas-microsoft-com:vml"><head><meta http-equiv="Content-Type" content="text/html; charset=utf-8">${head}</head><body>${body}</body></html>`;

const LAYOUTS = {
  'tables within tables, with font and bgcolor': page(`<table width="100%" bgcolor="#eeeeee" cellpadding="0"><tr><td align="center"><table width="600" bgcolor="#ffffff">
    <tr><td><font face="Arial" size="2" color="#333333">Dear reader,<br>the autumn <b>sale</b> begins.</font></td></tr>
    <tr><td><table><tr><td width="50%"><font>Left column</font></td><td><font>Right column</font></td></tr></table></td></tr></table></td></tr></table>`),
  'ghost tables for Outlook around fluid blocks': page(`<div style="max-width:600px"><!--[if mso]><table width="600"><tr><td width="300"><![endif]-->
    <div class="c" style="display:inline-block;width:300px">First half</div><!--[if mso]></td><td width="300"><![endif]--><div class="c">Second half</div>
    <!--[if mso]></td></tr></table><![endif]--></div>`, '<style>@media (max-width:599px){.c{width:100%!important}}</style>'),
  'a bulletproof button with VML and a plain one': page(`<div><!--[if mso]><v:roundrect href="https://e.example/" style="height:40px;width:200px"><center>Outlook button</center></v:roundrect><![endif]-->
    <!--[if !mso]><!--><a href="https://e.example/" style="display:inline-block">Read the story</a><!--<![endif]--></div><p>After it</p>`),
  'right to left, and scripts of the world': page('<table dir="rtl"><tr><td>مرحبا بالعالم</td></tr></table><p>日本語の手紙 · Привет · Ελληνικά · 👩‍🌾 tulips</p>'),
  'a word processor\'s page': page(`<p class=MsoNormal><span style='font-size:11.0pt;font-family:"Calibri",sans-serif'>Minutes of the <i>meeting</i><o:p></o:p></span></p>
    <!--[if gte mso 9]><xml><o:OfficeDocumentSettings><o:AllowPNG/></o:OfficeDocumentSettings></xml><![endif]--><ul type=disc><li class=MsoNormal>First point</li><li>Second &amp; last</li></ul>`),
  'a form letter with misnested tags': '<center><b><p>Hello <i>dear</b> friend</i><p>Open table:<table><tr><td>Cell one<td>Cell two<tr><td>Row two</table>end',
  'a figure table with a caption': page('<table><caption>Prices of May</caption><thead><tr><th>Item</th><th>Price</th></tr></thead><tbody><tr><td>Bulbs</td><td>4.50</td></tr><tr><td>Pots</td><td>12.00</td></tr></tbody></table>'),
};

describe(`layouts (LAYOUT_SEED=${SEED})`, () => {
  const check = (source, name) => {
    const words = wordsOf(source);
    assert.ok(words.length > 0, name);
    const { html, text } = prepareHtml({ content: source });
    assert.deepEqual(wordsOf(html), words, name);
    assert.equal(firstLost(words, text), null, `${name}: lost from the text part: ${text}\n${source}`);
    assert.deepEqual(findHazards(html), [], name);
  };

  for (const [name, source] of Object.entries(LAYOUTS)) {
    test(`${name}: no word is lost`, () => check(source, name));
  }

  test(`${ROUNDS} layouts at random: no word is lost`, () => {
    let state = SEED;
    const below = (n) => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
      return (state >>> 8) % n;
    };
    let count = 0;
    const word = () => `w${count++}${['', 'é', '字', "'s", '-x', '&amp;', '&lt;b'][below(7)]}`;
    const words = () => Array.from({ length: 1 + below(4) }, word).join([' ', '\n', '&nbsp;', ' <b>', ' <!-- note -->'][below(5)]);
    const BLOCKS = [
      (inner) => `<table style="${['', 'width:100%', 'MSO-table-lspace:0pt'][below(3)]}"><tr><td>${inner()}</td><td>${inner()}</td></tr></table>`,
      (inner) => `<div class="a${below(3)}">${inner()}</div>`,
      (inner) => `<!--[if mso]><table><tr><td><![endif]-->${inner()}<!--[if mso]></td></tr></table><![endif]-->`,
      (inner) => `<!--[if !mso]><!-->${inner()}<!--<![endif]-->`,
      (inner) => `<ul><li>${inner()}</li><li>${words()}</li></ul>`,
      (inner) => `<blockquote><p>${words()}</p>${inner()}</blockquote>`,
      () => `<p onclick="x()">${words()}<script>lost()</script> ${words()}</p>`,
      () => `<a href="https://e.example/${below(9)}">${words()}</a>`,
      () => `<h2>${words()}</h2><p style="color:red">${words()}<br/>${words()}</p>`,
      () => `<style>.a${below(3)} { color: red } .a1 > b { top: 0 }</style><span>${words()}</span>`,
    ];
    const block = (depth) => {
      if (depth === 0) return words();
      return BLOCKS[below(BLOCKS.length)](() => block(depth - 1));
    };
    for (let round = 0; round < ROUNDS; round++) {
      check(page(Array.from({ length: 1 + below(5) }, () => block(1 + below(4))).join('\n')), `round ${round}`);
    }
  });
});
