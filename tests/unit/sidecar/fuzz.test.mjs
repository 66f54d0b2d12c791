// Random documents made of nasty pieces, the same ones on every run: none may leave a hazard, crash, or change when
// prepared again in the same process. SIDE_FUZZ_ROUNDS makes it longer; SIDE_FUZZ_SEED moves it elsewhere.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { prepareHtml } from '../../../src/render/sidecar/html/prepare.mjs';
import { findHazards } from './hazards.mjs';

const ROUNDS = Number(process.env.SIDE_FUZZ_ROUNDS ?? 600);
const SEED = Number(process.env.SIDE_FUZZ_SEED ?? 1);

const PIECES = [
  '<script>', '</script>', '<style>', '</style>', '<title>', '</title>', '<textarea>', '</textarea>', '<xmp>', '</xmp>', '<noscript>',
  '</noscript>', '<svg>', '</svg>', '<math>', '</math>', '<mtext>', '<mglyph>', '<annotation-xml encoding="text/html">', '<foreignObject>',
  '<desc>', '<table>', '</table>', '<tr>', '<td>', '</td>', '<caption>', '<colgroup>', '<select>', '</select>', '<option>', '<template>',
  '</template>', '<form>', '</form>', '<a ', '<a>', '</a>', '<p>', '</p>', '<b>', '</b>', '<div ', '<img ', '<body ', '<html ', '<plaintext>',
  '<iframe>', '</iframe>', '<noembed>', '</noembed>', '<frameset>', '<v:rect ', '</v:rect>', '<o:p>', '<xml>', '<center>', '<li>', '<ul>',
  '<!--', '-->', '--!>', '<!-->', '<!--->', '<!--[if mso]>', '<![endif]-->', '<!--[if !mso]><!-->', '<!--<![endif]-->', '<![if !mso]>',
  '<![endif]>', '<![CDATA[', ']]>', '<?xml ', '<!DOCTYPE html>', '<!DOCTYPE ', '{{', '}}', '{%', '%}', "{{ a | default: '", "' }}",
  '{{ "', '" }}', '{% if x %}', '{% endif %}', ' onload=alert(1) ', ' onerror="alert(1)"', ' onclick=\'alert(1)\'', ' href="javascript:alert(1)"',
  ' href=java&#9;script:alert(1) ', ' src=x ', ' src="data:text/html,x"', ' src="https://e.example/a.png"', ' href="https://e.example/"',
  ' style="', ' style=\'', 'width:expression(1)', 'background:url(javascript:1)', 'color:red', ';', 'behavior:url(x)', '@import "x";',
  '@media x{', 'a{', '}', '/*', '*/', '\\', '\\65xpression(1)', 'url(', ')', '(', '"', '\'', '>', '<', '</', '/>', '=', '&lt;', '&gt;',
  '&quot;', '&#0;', '&colon;', '&', '\0', '\u0001', '\n', '\t', ' ', '\u00a0', '\ud800', '\u2028', 'x', 'title="', 'q0o0q', '`', '-', '--', '!',
];

/** Small, quick and the same everywhere (Marsaglia's xorshift, 32 bits). */
function randomFrom(seed) {
  let state = seed >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

test(`${ROUNDS} random documents`, () => {
  let hostile = 0;
  let prepared = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const random = randomFrom(SEED * 1_000_003 + round * 7919);
    const length = 3 + random(40);
    const content = `x${Array.from({ length }, () => PIECES[random(PIECES.length)]).join('')}`;
    const where = `seed ${SEED}, round ${round}: ${JSON.stringify(content)}`;
    if (round % 10 === 0 && findHazards(content).length > 0) hostile++;
    let result;
    try {
      result = prepareHtml({ content });
    } catch (error) {
      assert.equal(error.code, 'EMAIL_IMPORT_FAILED', `${where}\n${error.stack}`);
      continue;
    }
    prepared++;
    assert.deepEqual(findHazards(result.html), [], `${where}\n${result.html}`);
    assert.doesNotMatch(result.html, /q[0-9a-f]{20}[otcs]\d/, `a token is left over: ${where}`);
    assert.doesNotMatch(result.text, /q[0-9a-f]{20}[otcs]\d/, `a token is left over: ${where}`);
    assert.deepEqual(prepareHtml({ content }), result, where);
    assert.deepEqual(findHazards(prepareHtml({ content: `${result.html}x` }).html), [], where);
  }
  assert.ok(prepared > ROUNDS / 2, `only ${prepared} documents could be prepared`);
  assert.ok(hostile > ROUNDS / 40, `only ${hostile} of every tenth document were hostile at all`);
});
