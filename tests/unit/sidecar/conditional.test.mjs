// Outlook's conditional comments: carried through in meaning, and never a way around the filter.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { prepareHtml } from '../../../src/render/sidecar/html/prepare.mjs';
import { findHazards } from './hazards.mjs';

const prepare = (content) => prepareHtml({ content });
const bodyOf = (html) => /<body[^>]*>(.*)<\/body>/s.exec(html)[1];

describe('conditional comments are kept', () => {
  const KEPT = {
    'a ghost table in halves': '<!--[if mso]><table role="presentation" width="600"><tr><td><![endif]--><div>x</div><!--[if mso]></td></tr></table><![endif]-->',
    'the other half for everyone else': '<!--[if !mso]><!--><div>x</div><!--<![endif]-->',
    'compound conditions': '<!--[if (gte mso 9)|(IE)]><p>x</p><![endif]--><!--[if mso | IE]><p>y</p><![endif]-->z',
    'the downlevel-revealed form': '<![if !mso]><p>x</p><![endif]>',
    'a VML button': '<!--[if mso]><v:roundrect xmlns:v="urn:schemas-microsoft-com:vml" xmlns:w="urn:schemas-microsoft-com:office:word" '
      + 'href="https://e.example/?a=1&amp;b=2" style="height:40px;v-text-anchor:middle;width:200px;" arcsize="10%" stroke="f" fillcolor="#d62828">'
      + '<w:anchorlock/><center style="color:#fff">Go &amp; see</center></v:roundrect><![endif]-->x',
    'a VML background': '<!--[if gte mso 9]><v:rect fill="true" stroke="false" style="width:600px"><v:fill type="tile" '
      + 'src="https://e.example/b.png" color="#7bceeb"/><v:textbox inset="0,0,0,0"><![endif]--><p>x</p><!--[if gte mso 9]></v:textbox></v:rect><![endif]-->',
    'line breaks and spacing': '<!--[if mso]>\n  <table>\n    <tr>\n<![endif]-->x<!--[if mso]>\n</tr></table>\n<![endif]-->',
  };
  for (const [name, content] of Object.entries(KEPT)) {
    test(name, () => assert.equal(bodyOf(prepare(content).html), content));
  }

  test('Office settings in the head, with their capitals, inside noscript too', () => {
    const settings = '<!--[if mso]><noscript><xml><o:OfficeDocumentSettings><o:AllowPNG/><o:PixelsPerInch>96</o:PixelsPerInch>'
      + '</o:OfficeDocumentSettings></xml></noscript><style>td { mso-line-height-rule: exactly; }</style><![endif]-->';
    assert.ok(prepare(`<html><head>${settings}</head><body>x</body></html>`).html.includes(`${settings}</head>`));
  });

  test('the three ways to write the same opening come out as one', () => {
    for (const opening of ['<!--[if !mso]><!-->', '<!--[if !mso]> <!-->', '<!--[if !mso]><!-- -->']) {
      assert.equal(bodyOf(prepare(`${opening}<p>x</p><!--<![endif]-->`).html), '<!--[if !mso]><!--><p>x</p><!--<![endif]-->');
    }
  });

  test('around a style sheet of a fragment they stay around it', () => {
    const { html } = prepare('<!--[if !mso]><!--><style>p{top:0}</style><!--<![endif]--><p>x</p>');
    assert.match(html, /<meta charset="utf-8"><!--\[if !mso\]><!--><style>p\{top:0\}<\/style><!--<!\[endif\]--><\/head><body><p>x<\/p>/);
  });

  test('around <html> they stay where they were', () => {
    const content = '<!DOCTYPE html><!--[if mso]><html class="mso"><![endif]--><!--[if !mso]><!--><html lang="en"><!--<![endif]--><head></head><body>x</body></html>';
    assert.equal(prepare(content).html, content.replace('<head>', '<head><meta charset="utf-8">'));
  });

  test('between table rows they stay between table rows', () => {
    const table = '<table><tbody><tr><td>a</td></tr><!--[if mso]><tr><td>b</td></tr><![endif]--><tr><td>c</td></tr></tbody></table>';
    assert.equal(bodyOf(prepare(table).html), table);
  });

  test('their links and images are reported in document order and marked', () => {
    const { links, images } = prepare('<a href="https://e.example/1">one</a><!--[if mso]><v:rect href="https://e.example/2"><center>two</center>'
      + '</v:rect><img src="https://e.example/i.png" alt="i"><![endif]--><a href="https://e.example/3">three</a>');
    assert.deepEqual(links, [
      { index: 0, href: 'https://e.example/1', text: 'one' },
      { index: 1, href: 'https://e.example/2', text: 'two', conditional: true },
      { index: 2, href: 'https://e.example/3', text: 'three' },
    ]);
    assert.deepEqual(images, [{ src: 'https://e.example/i.png', alt: 'i', conditional: true }]);
  });

  test('templates inside them survive in text, attributes and styles', () => {
    const { html, slots } = prepare('<!--[if mso]><v:rect href="{{ url | default: "https://e.example/" }}" fillcolor="{{ c }}">'
      + '<center>Hi {{ name | default: \'you\' }}</center></v:rect><style>td{color:{{ ink }}}</style><![endif]-->x');
    assert.match(html, /href="\{\{ url \| default: &quot;https:\/\/e\.example\/&quot; \}\}" fillcolor="\{\{ c \}\}"/);
    assert.match(html, /Hi \{\{ name \| default: 'you' \}\}/);
    assert.match(html, /td\{color:\{\{ ink \}\}\}/);
    assert.deepEqual(slots, ['url | default: "https://e.example/"', 'c', "name | default: 'you'", 'ink']);
  });

  test('a style sheet for others than Outlook is not inlined for Outlook', () => {
    const { html } = prepare('<head><!--[if !mso]><!--><style>p { color: red }</style><!--<![endif]--></head><p>x</p>');
    assert.match(html, /<!--\[if !mso\]><!--><style>p \{ color: red \}<\/style><!--<!\[endif\]-->/);
    assert.match(html, /<p>x<\/p>/);
  });
});

describe('smuggling through conditional comments', () => {
  const SMUGGLED = {
    'a script': '<!--[if mso]><script>alert(1)</script><![endif]-->x',
    'a script that hides its end': '<!--[if mso]><script>"</scr"+"ipt>"; alert(1)</script ><p>y</p><![endif]-->x',
    'an event handler': '<!--[if mso]><table onload=alert(1)><tr onmouseover="alert(1)"><![endif]-->x',
    'an event handler on VML': '<!--[if mso]><v:rect onclick="alert(1)" href="javascript:alert(1)"></v:rect><![endif]-->x',
    'a javascript link': '<!--[if mso]><a href="java&#10;script:alert(1)">y</a><![endif]-->x',
    'an iframe and an object': '<!--[if mso]><iframe src="https://e.example/"></iframe><object data=x></object><![endif]-->x',
    'a style sheet': '<!--[if mso]><style>@import "x.css"; td { behavior: url(#x); width: expression(1) }</style><![endif]-->x',
    'a style sheet that ends the comment': '<!--[if mso]><style>a{}--></style><img src=x onerror=alert(1)><![endif]-->x',
    'a comment in a comment': '<!--[if mso]><!-- --><img src=x onerror=alert(1)><!-- <![endif]-->x',
    'an inner end': '<!--[if mso]>a<![endif]><img src=x onerror=alert(1)><!--[if mso]>b<![endif]-->x',
    'an attribute that ends the comment': '<!--[if mso]><p title="--><img src=x onerror=alert(1)>">y</p><![endif]-->x',
    'a reference that ends the comment': '<!--[if mso]><p title="--&gt;<img src=x onerror=alert(1)>">--&gt;<img src=x onerror=alert(1)></p><![endif]-->x',
    'an opening with code in it': '<!--[if mso]><!--><img src=x onerror=alert(1)><!--<![endif]-->x',
    'a condition with code in it': '<!--[if mso]><img src=x onerror=alert(1)]><![endif]-->x',
    'a refresh and a base': '<!--[if mso]><meta http-equiv=refresh content="0;url=//e.example"><base href="//e.example"><link rel=stylesheet href=x><![endif]-->x',
    'a form': '<!--[if mso]><form action=//e.example><input><textarea><p></textarea></form><![endif]-->x',
    'a template expression with markup': '<!--[if mso]><p>{{ "--><img src=x onerror=alert(1)>" }}</p><![endif]-->x',
    'an unclosed raw element': '<!--[if mso]><xmp><img src=x onerror=alert(1)><![endif]-->x',
  };
  for (const [name, content] of Object.entries(SMUGGLED)) {
    test(name, () => {
      assert.notDeepEqual(findHazards(content), [], 'the case is not hostile: the judge does not see it');
      const { html } = prepare(content);
      assert.deepEqual(findHazards(html), []);
      assert.match(html, /x/);
    });
  }

  test('an ordinary comment goes, whatever it says', () => {
    const { html, report } = prepare('<!-- secret --><p>x</p><!--[if]--><!--[endif]--><!--<![endif]-->');
    assert.doesNotMatch(html, /<!--/);
    assert.deepEqual(report.removed, [{ what: 'comment', count: 4 }]);
  });

  test('a commented-out template expression stays out', () => {
    const { html, slots } = prepare('<p>x</p><!--{{ secret }}--><!-- {{ secret }} -->');
    assert.doesNotMatch(html, /secret/);
    assert.deepEqual(slots, []);
  });

  test('an opening without an end is warned about', () => {
    assert.deepEqual(prepare('<!--[if !mso]><!--><p>x</p>').report.warnings.map(({ code }) => code), ['CONDITIONAL_UNCLOSED']);
  });
});
