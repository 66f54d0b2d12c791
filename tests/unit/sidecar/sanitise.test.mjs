// Hostile HTML goes in; nothing that runs, submits or embeds comes out, and what was harmless stays.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { prepareHtml } from '../../../src/render/sidecar/html/prepare.mjs';
import { findHazards } from './hazards.mjs';

const prepare = (content) => prepareHtml({ content: `<p>KEEP</p>${content}<p>LAST</p>` });

/** Each is hostile as it stands: the judge must say so of the input, or the case proves nothing. */
const HOSTILE = {
  'a script': '<script>alert(1)</script>',
  'a script of odd case and spacing': '<ScRiPt\n>alert(1)</sCrIpT foo>',
  'a script behind a stray bracket': '<<script>alert(1)//<</script>',
  'an unclosed script in an attribute-like place': '<p title="x"><script src=//evil.example/x.js></script>',
  'an event handler': '<img src="https://e.example/x.png" onerror="alert(1)">',
  'a handler after a slash': '<img/src="https://e.example/x.png"/onerror=alert(1)>',
  'a handler behind a broken quote': '<img src="https://e.example/x.png"" onerror=alert(1) x="">',
  'a handler on the body': '<body onload=alert(1)>',
  'svg onload': '<svg onload=alert(1)></svg>',
  'svg with a script link': '<svg><a xlink:href="javascript:alert(1)"><text>x</text></a></svg>',
  'svg animation of a link': '<svg><a><animate attributeName=href values=javascript:alert(1) /><text>x</text></a></svg>',
  'math with a link': '<math href="javascript:alert(1)">x</math>',
  'a javascript link': '<a href="javascript:alert(1)">x</a>',
  'a javascript link split over lines': '<a href=" java\nscript:alert(1)">x</a>',
  'a javascript link with a tab reference': '<a href="java&#9;script:alert(1)">x</a>',
  'a javascript link with a named colon': '<a href="javascript&colon;alert(1)">x</a>',
  'a javascript link behind control characters': '<a href="\u0001\u0002 javascript:alert(1)">x</a>',
  'a vbscript link': '<a href="vbscript:msgbox(1)">x</a>',
  'a data link': '<a href="data:text/html,<script>alert(1)</script>">x</a>',
  'a data image': '<img alt="x" src="data:image/svg+xml,<svg onload=alert(1)>">',
  'a script as background': '<table background="javascript:alert(1)"><tr><td>x</td></tr></table>',
  'an iframe': '<iframe src="https://e.example/"></iframe>',
  'an iframe with a document': '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  'an object and an embed': '<object data="https://e.example/x.swf"><embed src="https://e.example/x.swf"></object>',
  'a form': '<form action="https://e.example/"><input name=password><button>Go</button></form>',
  'a form action on a button': '<button formaction="javascript:alert(1)">x</button>',
  'a refresh': '<meta http-equiv="refresh" content="0;url=https://e.example/">',
  'a base': '<base href="https://e.example/">',
  'a style sheet link': '<link rel=stylesheet href="https://e.example/x.css">',
  'CSS expression()': '<p style="width:expression(alert(1))">x</p>',
  'CSS expression() with escapes': '<p style="width:\\65xpression(alert(1))">x</p>',
  'CSS expression() with a comment': '<p style="width:exp/**/ression(alert(1))">x</p>',
  'CSS url(javascript:)': '<p style="background:url(javascript:alert(1))">x</p>',
  'CSS url(javascript:) with escapes': '<p style="background:url(\'\\6a avascript:alert(1)\')">x</p>',
  'CSS behavior': '<p style="behavior: url(https://e.example/x.htc)">x</p>',
  'CSS -moz-binding': '<p style="-moz-binding: url(https://e.example/x.xml#x)">x</p>',
  'CSS @import': '<style>@import "https://e.example/x.css"; p { color: red }</style>',
  'a data image in CSS': '<p style="background: url(data:image/svg+xml;base64,AAAA)">x</p>',
  'a style sheet that ends itself': '<style>p { color: red }</style><img src=x onerror=alert(1)></style>',
  'a style sheet with an escaped end': '<style>p::before { content: "</style><img src=x onerror=alert(1)>" }</style>',
  'noscript and an attribute': '<noscript><p title="</noscript><img src=x onerror=alert(1)>"></noscript>',
  'mutation through math and mglyph': '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
  'mutation through svg and p': '<svg></p><style><a id="</style><img src=1 onerror=alert(1)>">',
  'mutation through form nesting': '<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>',
  'mutation through select': '<select><template><style><!--</style><a rel="--></style></template></select><img id=x src=x onerror=alert(1)>">',
  'mutation through xmp': '<xmp><p title="</xmp><img src=x onerror=alert(1)>">x</xmp>',
  'mutation through a title': '<title><a title="</title><img src=x onerror=alert(1)>"></title>',
  'mutation through textarea': '<textarea><a title="</textarea><img src=x onerror=alert(1)>"></textarea>',
  'mutation through noembed': '<noembed><a title="</noembed><img src=x onerror=alert(1)>"></noembed>',
  'a comment closed early': '<!--> <img src=x onerror=alert(1)> -->',
  'a comment closed with a bang': '<!-- --!> <img src=x onerror=alert(1)> -->',
  'a nested broken comment': '<!-- <!-- --> <img src=x onerror=alert(1)> --> -->',
  'a processing instruction': '<?xml version="1.0"?><?php echo "<img src=x onerror=alert(1)>" ?><img src=x onerror=alert(1)>',
  'a CDATA section': '<svg><![CDATA[><img src=x onerror=alert(1)>]]></svg><img src=x onerror=alert(1)>',
  'foster parenting': '<table><img src=x onerror=alert(1)><tr><svg onload=alert(1)></tr></table>',
  'a template': '<template><script>alert(1)</script></template>',
  'a handler named with a slash': '<p/onmouseover=alert(1)>x',
  'an unquoted URL with references': '<a href=&#106;&#97;&#118;&#97;script:alert(1)>x</a>',
  'a video and its source': '<video poster="javascript:alert(1)"><source onerror=alert(1)></video>',
  'null characters in a tag': '<scr\0ipt>alert(1)</scr\0ipt><img src=x on\0error=alert(1) onload=alert(2)>',
};

describe('hostile HTML', () => {
  for (const [name, content] of Object.entries(HOSTILE)) {
    test(name, () => {
      assert.notDeepEqual(findHazards(content), [], 'the case is not hostile: the judge does not see it');
      const { html, report } = prepare(content);
      assert.deepEqual(findHazards(html), []);
      assert.match(html, /KEEP/);
      assert.ok(report.removed.length > 0, 'something was removed, so the report must say so');
    });
  }

  test('what the text says about code stays text', () => {
    const { html } = prepare('<p>Use &lt;script&gt; and <b>javascript:</b> wisely, 1 &lt; 2 &amp;amp;</p>');
    assert.match(html, /<p>Use &lt;script&gt; and <b>javascript:<\/b> wisely, 1 &lt; 2 &amp;amp;<\/p>/);
  });

  test('unknown elements lose their tags and keep their content', () => {
    const { html, report } = prepare('<x-card><b>inside</b></x-card>');
    assert.match(html, /<b>inside<\/b>/);
    assert.doesNotMatch(html, /x-card/);
    assert.deepEqual(report.removed, [{ what: 'x-card', count: 1 }]);
  });

  test('the report counts what was removed', () => {
    const { report } = prepare('<script>1</script><script>2</script><p onclick=a onfocus=b>x<a href="javascript:1">y</a></p>');
    assert.deepEqual(report.removed, [
      { what: 'event handler', count: 2 }, { what: 'script', count: 2 }, { what: 'script URL', count: 1 },
    ]);
  });

  test('names from the input cannot fill the report', () => {
    const many = Array.from({ length: 500 }, (_, i) => `<x-${i}>a</x-${i}>`).join('');
    const { report } = prepare(many);
    assert.ok(report.removed.length <= 61);
    assert.equal(report.removed.reduce((sum, { count }) => sum + count, 0), 500);
  });
});

describe('the email vocabulary', () => {
  test('legacy table attributes survive', () => {
    const table = '<table width="600" cellpadding="4" cellspacing="0" border="0" align="center" bgcolor="#ffffff" '
      + 'background="https://e.example/b.png" role="presentation"><tbody><tr><td align="left" valign="top" width="50%" '
      + 'height="20" bgcolor="red" nowrap="" colspan="2">x</td></tr></tbody></table>';
    assert.ok(prepare(table).html.includes(table));
  });

  test('fonts, centers, headings, lists, image maps survive', () => {
    const content = '<center><font color="#333333" face="Arial" size="2">f</font></center><h2 align="center">h</h2>'
      + '<ul type="square"><li value="3">l</li></ul><img src="https://e.example/m.png" alt="m" usemap="#m" border="0" width="10">'
      + '<map name="m"><area shape="rect" coords="0,0,1,1" href="https://e.example/" alt="a"></map>';
    assert.ok(prepare(content).html.includes(content));
  });

  test('mail, telephone, message and anchor links survive', () => {
    const content = '<a href="mailto:a@e.example?subject=Hi">m</a><a href="tel:+15550100">t</a><a href="sms:+15550100">s</a>'
      + '<a name="top"></a><a href="#top">u</a><img src="cid:logo" alt="c">';
    assert.ok(prepare(content).html.includes(content));
  });

  test('head: viewport, colour scheme, Apple and format metas stay; the charset is UTF-8 and first', () => {
    const { html } = prepareHtml({ content: '<!doctype html><html lang="fr" dir="rtl"><head><meta http-equiv="Content-Type" '
      + 'content="text/html; charset=latin1"><meta name="viewport" content="width=device-width"><meta name="color-scheme" '
      + 'content="light dark"><meta name="x-apple-disable-message-reformatting"><meta name="generator" content="x">'
      + '<title>T</title></head><body>x</body></html>' });
    assert.equal(html, '<!DOCTYPE html><html lang="fr" dir="rtl"><head><meta charset="utf-8"><meta name="viewport" '
      + 'content="width=device-width"><meta name="color-scheme" content="light dark"><meta '
      + 'name="x-apple-disable-message-reformatting" content=""><title>T</title></head><body>x</body></html>');
  });

  test('the language is English when none is given, and a known transitional doctype is kept', () => {
    const doctype = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">';
    assert.ok(prepareHtml({ content: `${doctype}<p>x</p>` }).html.startsWith(`${doctype}<html lang="en"><head>`));
    assert.ok(prepareHtml({ content: '<!DOCTYPE html SYSTEM "x"><p>x' }).html.startsWith('<!DOCTYPE html><html lang="en">'));
  });

  test('relative addresses are completed with the base address', () => {
    const content = '<a href="../shop?a=1&amp;b=2">s</a><img src="//cdn.example/x.png" alt=""><img src="i/{{ pic }}.png" alt="">';
    const { html, report } = prepareHtml({ content, baseUrl: 'https://news.example/2025/oct/' });
    assert.match(html, /href="https:\/\/news\.example\/2025\/shop\?a=1&amp;b=2"/);
    assert.match(html, /src="https:\/\/cdn\.example\/x\.png"/);
    assert.match(html, /src="https:\/\/news\.example\/2025\/oct\/i\/\{\{ pic \}\}\.png"/);
    assert.deepEqual(report.warnings, []);
  });

  test('without a base address a relative one stays and is warned about; the document may bring its own', () => {
    assert.deepEqual(prepareHtml({ content: '<a href="shop">s</a>' }).report.warnings.map(({ code }) => code), ['RELATIVE_URL']);
    const { html } = prepareHtml({ content: '<head><base href="https://b.example/x/"></head><a href="shop">s</a>' });
    assert.match(html, /href="https:\/\/b\.example\/x\/shop"/);
    assert.doesNotMatch(html, /<base/);
  });
});
