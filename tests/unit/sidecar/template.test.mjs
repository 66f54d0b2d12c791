// Template expressions come through untouched: what the caller finds, HTML-decoded, is what the author wrote.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';

import { prepareHtml } from '../../../src/render/sidecar/html/prepare.mjs';
import { findHazards } from './hazards.mjs';

const require = createRequire(new URL('../../../src/render/sidecar/package.json', import.meta.url));
const { parse } = require('parse5');

const prepare = (content) => prepareHtml({ content });
const bodyOf = (html) => /<body[^>]*>(.*)<\/body>/s.exec(html)[1];

/** The decoded value of the first attribute of this name, as a browser reads it. */
function attributeIn(html, name) {
  let found = null;
  (function look(node) {
    found ??= node.attrs?.find((attr) => attr.name === name)?.value ?? null;
    node.childNodes?.forEach(look);
  })(parse(html));
  return found;
}

const EXPRESSIONS = [
  "{{ firstName | default: 'there' }}",
  '{{ firstName | default: "there" }}',
  "{{ a.b[0] | append: '&' | append: ' & ' }}",
  "{{ price | times: 2 | round }}",
  '{%- if count > 3 and total < 5 -%}',
  "{% if a && b || c %}",
  "{{ x | replace: 'a', '\u00fc\u4e2d\u05d0' }}",
  "{{ 'it''s' }}",
  '{{x}}',
];

describe('in text', () => {
  for (const expression of EXPRESSIONS) {
    test(`${expression} stays byte for byte`, () => {
      assert.equal(bodyOf(prepare(`<p>Hello ${expression}, welcome</p>`).html), `<p>Hello ${expression}, welcome</p>`);
    });
  }

  test('only what would be read as markup or as a reference is escaped', () => {
    assert.equal(bodyOf(prepare('<p>{{ x | default: "<b>you</b> &lt; --> &amp;amp; &copy" }}</p>').html),
      '<p>{{ x | default: "&lt;b>you&lt;/b> < --&gt; &amp;amp; &amp;copy" }}</p>');
  });

  test('references of the source are decoded, no-break spaces become spaces', () => {
    assert.equal(bodyOf(prepare('<p>{{&nbsp;firstName | default: &quot;there&#39;s&quot;&nbsp;}}</p>').html),
      '<p>{{ firstName | default: "there\'s" }}</p>');
  });

  test('a title keeps its expression', () => {
    const { html, title } = prepare("<title>For {{ firstName | default: 'you' }}</title><p>x</p>");
    assert.match(html, /<title>For \{\{ firstName \| default: 'you' \}\}<\/title>/);
    assert.equal(title, "For {{ firstName | default: 'you' }}");
  });

  test('an expression with markup in it is inert', () => {
    const { html } = prepare('<p>{{ "<img src=x onerror=alert(1)>" }}{{ \'</p><script>alert(1)</script>\' }}</p>');
    assert.deepEqual(findHazards(html), []);
    assert.match(html, /onerror=alert/);
  });
});

describe('in attributes', () => {
  for (const expression of EXPRESSIONS) {
    for (const quote of ['"', '\'']) {
      test(`${expression} in ${quote} decodes to itself`, () => {
        const { html } = prepare(`<p title=${quote}Hello ${expression}!${quote}>x</p>`);
        assert.equal(attributeIn(html, 'title'), `Hello ${expression}!`);
      });
    }
  }

  test('an address that is an expression stays, also with a query around it', () => {
    const { html, links } = prepare('<a href="{{ unsubscribeUrl }}">u</a><a href="https://e.example/{{ id }}?a=1&amp;b={{ b }}">v</a>');
    assert.equal(bodyOf(html), '<a href="{{ unsubscribeUrl }}">u</a><a href="https://e.example/{{ id }}?a=1&amp;b={{ b }}">v</a>');
    assert.deepEqual(links.map(({ href }) => href), ['{{ unsubscribeUrl }}', 'https://e.example/{{ id }}?a=1&b={{ b }}']);
  });

  for (const href of ['{{ a }}script:alert(1)', 'java{{ nothing }}script:alert(1)', '{{ scheme }}://x', '{{ "javascript:alert(1)" }}',
    '{% if a %}javascript{% endif %}:alert(1)']) {
    test(`an address that could become a script is refused: ${href}`, () => {
      assert.equal(bodyOf(prepare(`<a href='${href}'>x</a>`).html), '<a>x</a>');
    });
  }

  test('style attributes and colours take expressions, but none that could end the declaration', () => {
    const { html, report } = prepare('<td><p style="color: {{ ink }}; width: {{ w }}px" bgcolor="{{ c }}">x</p>'
      + '<p style="color: {{ \'red;position:fixed\' }}">y</p></td>');
    assert.match(html, /<p style="color: \{\{ ink \}\}; width: \{\{ w \}\}px" bgcolor="\{\{ c \}\}">x<\/p>/);
    assert.match(html, /<p>y<\/p>/);
    assert.deepEqual(report.warnings.map(({ code }) => code), ['TEMPLATE_IN_CSS']);
  });

  test('an expression between attributes is removed with a warning', () => {
    const { html, report } = prepare('<p {% if a %}class="x"{% endif %}>y</p>');
    assert.doesNotMatch(html, /\{%/);
    assert.ok(report.warnings.some(({ code }) => code === 'TEMPLATE_IN_TAG'));
  });
});

describe('blocks and places', () => {
  test('a loop around rows stays around rows, with and without a written tbody', () => {
    const rows = '{% for i in items %}<tr><td>{{ i.name }}</td></tr>{% endfor %}';
    const expected = `<table><tbody>${rows}</tbody></table>`;
    assert.equal(bodyOf(prepare(`<table>${rows}</table>`).html), expected);
    assert.equal(bodyOf(prepare(expected).html), expected);
  });

  test('text and tags straight inside a table part: the text moves out, the tags stay', () => {
    const { html } = prepare('<table>stray {% if a %}<tr><td>x</td></tr>{% endif %}</table>');
    assert.equal(bodyOf(html), 'stray <table><tbody>{% if a %}<tr><td>x</td></tr>{% endif %}</tbody></table>');
  });

  test('a block around a whole table section stays there', () => {
    const table = '<table>{% if a %}<thead><tr><th>h</th></tr></thead>{% endif %}<tbody><tr><td>x</td></tr></tbody></table>';
    assert.equal(bodyOf(prepare(table).html), table);
  });

  test('tags around a document move inside it and keep their order', () => {
    const { html, tags } = prepare('{% assign a = 1 %}<!doctype html>{% assign b = 2 %}<html><head><title>{{ a }}</title></head>'
      + '{% assign c = 3 %}<body>x</body></html>{% assign d = 4 %}');
    assert.match(html, /<head><meta charset="utf-8">\{% assign a = 1 %\}\{% assign b = 2 %\}<title>\{\{ a \}\}<\/title><\/head>/);
    assert.match(html, /<body>\{% assign c = 3 %\}x\{% assign d = 4 %\}<\/body>/);
    assert.deepEqual(tags, ['assign a = 1', 'assign b = 2', 'assign c = 3', 'assign d = 4']);
  });

  test('a block around a style sheet of a fragment stays around it', () => {
    const { html } = prepare('{% if a %}<style>a:hover{top:0}</style>{% endif %}<p>x</p>');
    assert.match(html, /<meta charset="utf-8">\{% if a %\}<style>a:hover\{top:0\}<\/style>\{% endif %\}<\/head>/);
  });

  test('a fragment may begin with an expression', () => {
    assert.equal(bodyOf(prepare('{{ greeting }}, <b>you</b>').html), '{{ greeting }}, <b>you</b>');
    assert.equal(bodyOf(prepare('{% if vip %}<p>x</p>{% endif %}').html), '{% if vip %}<p>x</p>{% endif %}');
  });

  test('a style sheet with blocks in it is kept whole, in order, and not inlined', () => {
    const { html } = prepare('<style>{% if dark %} p { color: {{ ink }}; } {% endif %} b { color: red }</style><p>x</p>');
    assert.match(html, /<style>\{% if dark %\} p \{ color: \{\{ ink \}\}; \} \{% endif %\} b \{ color: red \}<\/style>/);
    assert.match(html, /<p>x<\/p>/);
  });

  test('slots are distinct, in order of the source, only those still there', () => {
    const { slots, tags } = prepare("<p>{{ b }}{{a}}{{- b -}}{{ a | upcase }}</p><script>{{ gone }}</script>{% if z %}{% endif %}<i title='{{ late }}'>x</i>");
    assert.deepEqual(slots, ['b', 'a', 'a | upcase', 'late']);
    assert.deepEqual(tags, ['if z', 'endif']);
  });

  test('braces that are no expression are text and are warned about', () => {
    const { html, slots, report } = prepare('<p>{{ <b>first</b>Name }} and {{ open</p>');
    assert.equal(bodyOf(html), '<p>{{ <b>first</b>Name }} and {{ open</p>');
    assert.deepEqual(slots, []);
    assert.deepEqual(report.warnings.map(({ code }) => code).sort(), ['TEMPLATE_BROKEN', 'TEMPLATE_MARKUP']);
  });

  test('tokens cannot be forged', () => {
    // The token of an earlier run over another text means nothing here.
    const { html } = prepare(`<p>q${'0'.repeat(20)}o0q {{ x }}</p>`);
    assert.equal(bodyOf(html), `<p>q${'0'.repeat(20)}o0q {{ x }}</p>`);
  });
});

describe('in the text part', () => {
  const textOf = (content) => prepare(content).text;

  test('a loop around paragraphs repeats paragraphs and the space between them', () => {
    assert.equal(textOf('<p>a</p>{% for i in x %}<p>{{ i }}</p>{% else %}<p>none</p>{% endfor %}<p>b</p>'),
      'a\n\n{% for i in x %}{{ i }}\n\n{% else %}none\n\n{% endfor %}b');
  });

  test('rows and list items keep their tags', () => {
    assert.equal(textOf('<table>{% for i in x %}<tr><td>{{ i }}</td></tr>{% endfor %}</table>'), '{% for i in x %}{{ i }}\n\n{% endfor %}');
    assert.equal(textOf('<ul>{% for i in x %}<li>{{ i }}</li>{% endfor %}</ul>'), '{% for i in x %} - {{ i }}\n\n{% endfor %}');
  });

  test('tags in a sentence stay in it', () => {
    assert.equal(textOf('<p>one{% if b %}s{% endif %}.</p>'), 'one{% if b %}s{% endif %}.');
  });

  test('what is assigned in a part that is left out stays, with its conditions; the rest of the part goes', () => {
    assert.equal(textOf('<div style="display:none">{% if a %}{% assign n = 1 %}{% else %}secret{% endif %}{% if b %}gone{% endif %}x</div><p>{{ n }}</p>'),
      '{% if a %}{% assign n = 1 %}{% else %}{% endif %}{{ n }}');
    assert.equal(textOf('<html><head>{% assign n = 1 %}<title>{{ t }}</title></head><body><p>{{ n }}</p></body></html>'), '{% assign n = 1 %}{{ n }}');
    assert.equal(textOf('<div style="display:none">{% capture c %}Hi {{ n }}{% endcapture %}</div><p>{{ c }}</p>'),
      '{% capture c %}Hi {{ n }}{% endcapture %}{{ c }}');
  });

  test('a block that is begun in a hidden part and goes on outside stays whole', () => {
    assert.equal(textOf('<div style="display:none">a{% if b %}</div><p>x</p>{% endif %}'), '{% if b %}x\n\n{% endif %}');
  });
});

describe('addresses that depend on a condition', () => {
  test('stay when each branch is an address', () => {
    const href = "{% if a %}{{ url }}{% elsif b %}https://b.example/{{ x }}{% else %}mailto:c@example.com{% endif %}";
    const { html, links, slots, tags } = prepare(`<a href="${href}">x</a>`);
    assert.equal(bodyOf(html), `<a href="${href}">x</a>`);
    assert.equal(links[0].href, href);
    assert.deepEqual(slots, ['url', 'x']);
    assert.deepEqual(tags, ['if a', 'elsif b', 'else', 'endif']);
  });

  for (const href of ['{% if a %}https://a.example/{% else %}javascript:alert(1){% endif %}', '{% if a %}java{% endif %}script:alert(1)',
    'java{% if a %}{% endif %}script:alert(1)', '{% if a %}javascript{% endif %}{% if b %}:alert(1){% endif %}', '{% if a %}data:text/html,x{% endif %}',
    '{% if a %}{{ "javascript:x" }}{% endif %}', '{% if a %}{% endif %}']) {
    test(`go when one is not, or when they could make a script together: ${href}`, () => {
      assert.equal(bodyOf(prepare(`<a href='${href}'>x</a>`).html), '<a>x</a>');
    });
  }
});
