// Templates carried through the preparation of HTML: preparing a design and then filling it in must show the same as filling
// it in (by liquidjs) and then preparing what came out, in the HTML and in the text part. So no tag has moved, and the text
// part says what the HTML says.
//
//     THIRD_PARTY_INSTALL=build/third_party node template_carry.mjs build/template_driver

import { prepareHtml } from '../../src/render/sidecar/html/prepare.mjs';
import { Driver } from '../lib/driver.mjs';
import { packagesOf } from '../lib/packages.mjs';

const load = packagesOf('third_party');
const { Liquid } = load('liquidjs');

/** Designs whose tags stand where an HTML parser would move, join or drop them. */
const DESIGNS = {
  'rows of a table': '<table>{% for i in items %}<tr><td>{{ i.name }}</td><td>{{ i.price }}</td></tr>{% endfor %}</table>',
  'rows, and a row in their place': '<table><tbody>{% for i in items %}<tr><td>{{ i.name }}</td></tr>{% else %}<tr><td>Nothing</td></tr>{% endfor %}</tbody></table>',
  'cells of a row': '<table><tr><td>first</td>{% for i in items %}<td>{{ i.name }}</td>{% endfor %}</tr></table>',
  'a head that may be missing': '<table>{% if vip %}<thead><tr><th>h</th></tr></thead>{% endif %}<tbody><tr><td>x</td></tr></tbody></table>',
  'a row in a condition in a loop': '<table>{% for i in items %}{% if i.price > 1 %}<tr><td>{{ i.name }}</td></tr>{% endif %}{% endfor %}</table>',
  'nested tables': '<table><tr><td>{% for i in items %}<table><tr><td>{{ forloop.index }}. {{ i.name }}</td></tr></table>{% endfor %}</td></tr></table>',
  'items of a list': '<ul>{% for i in items %}<li>{{ i.name }}</li>{% endfor %}</ul>',
  'paragraphs': '<p>Hello</p>{% if vip %}<p>Dear <b>{{ name }}</b></p>{% elsif items.size > 1 %}<p>Several</p>{% else %}<p>You</p>{% endif %}<p>Bye</p>',
  'words in a sentence': '<p>You have {{ items.size }} thing{% if items.size != 1 %}s{% endif %}{% unless vip %}, sorry{% endunless %}.</p>',
  'cases': '<div>{% case items.size %}{% when 0 %}<p>none</p>{% when 1, 2 %}<p>few</p>{% else %}<p>many</p>{% endcase %}</div>',
  'an address chosen by a condition': '<p><a href="{% if vip %}https://vip.example/{{ name }}{% else %}https://shop.example/{% endif %}">Go</a></p>',
  'a picture text chosen by a condition': '<p>a<img src="https://e.example/a.png" alt="{% if vip %}Gold{% else %}Blue{% endif %} card">b</p>',
  'a name assigned in the head': '<html><head>{% assign greeting = "Salut" %}<title>t</title></head><body><p>{{ greeting }} {{ name }}</p></body></html>',
  'a name assigned in hidden text': '<div style="display:none">{% if vip %}{% assign who = "Sir" %}{% else %}{% assign who = "you" %}{% endif %}Hi {{ who }}</div><p>Hi {{ who }}</p>',
  'a name assigned between rows': '<table>{% assign n = items.size %}<tr><td>{{ n }}</td></tr></table>',
  'a comment around markup': '<p>a</p>{% comment %}<p>{{ nope | nope }}</p>{% endcomment %}<p>b</p>',
  'raw braces': '<p>{% raw %}{{ shown }}{% endraw %}</p>',
  'white space taken away': '<p>a {%- if vip -%} b {%- endif -%} c</p>',
  'break and continue': '<div>{% for i in items %}{% if i.price == 2 %}{% continue %}{% endif %}<p>{{ i.name }}</p>{% if forloop.index == 2 %}{% break %}{% endif %}{% endfor %}</div>',
  'a conditional comment': '<!--[if mso]><table><tr><td><![endif]--><p>{% if vip %}v{% else %}n{% endif %}</p><!--[if mso]></td></tr></table><![endif]-->',
  'a style sheet in a condition': '<html><head>{% if vip %}<style>p:hover{color:red}</style>{% endif %}</head><body><p>x</p></body></html>',
};

const NAMES = ['ada', 'Bob & Co', '<b>c</b>'];
const DATA = [0, 1, 3].flatMap((count) => [true, false].map((vip) => ({
  vip, name: 'eve', items: NAMES.slice(0, count).map((name, i) => ({ name, price: i + 1 })),
})));

/** White space and what a parser adds or leaves out around nothing do not count. */
const squeeze = (text) => text.replace('<tbody></tbody>', '').replace(/&#34;|&quot;/g, '"').replace(/&#39;/g, "'").replace(/\s+/g, ' ').trim();

async function main() {
  const driver = new Driver(process.argv[2]);
  const liquid = new Liquid({ outputEscape: 'escape' });
  let passed = 0;
  let failed = 0;
  const hold = (what, got, expected) => {
    if (got === expected) {
      passed++;
      return;
    }
    failed++;
    console.log(`FAILED ${what}\n  carried  ${JSON.stringify(got)}\n  expected ${JSON.stringify(expected)}`);
  };
  for (const [name, design] of Object.entries(DESIGNS)) {
    const carried = prepareHtml({ content: `<div>top</div>${design}` });
    for (const values of DATA) {
      const filled = prepareHtml({ content: await liquid.parseAndRender(`<div>top</div>${design}`, values) });
      for (const [kind, part] of [['html', 'html'], ['text', 'text']]) {
        const { output, error } = await driver.ask({ kind, source: carried[part], values });
        const what = `${name} (${part}, ${values.items.length} items, ${values.vip ? 'vip' : 'no vip'})`;
        hold(what, squeeze(output ?? `error: ${error}`), squeeze(filled[part].replaceAll('&nbsp;', ' ')));
      }
    }
  }
  driver.close();
  console.log(`${passed} passed, ${failed} failed (designs carried through the preparation)`);
  process.exit(failed === 0 && passed > 0 ? 0 : 1);
}

await main();
