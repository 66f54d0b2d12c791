// The style sheet of drawn documents: what cannot be inline, namely phones and dark mode.

const PHONE_HEADING_MAX = 38;

const tone = (name, colours) => [
  `.t-${name}, .t-${name} > table { background-color: ${colours.ground} !important; }`,
  `.t-${name} .ink div, .t-${name} .ink td, .t-${name} .ink th { color: ${colours.ink} !important; }`,
  `.t-${name} .muted div, .t-${name} .muted td, .t-${name} .ink .quiet { color: ${colours.muted} !important; }`,
  `.t-${name} .link { color: ${colours.link} !important; }`,
  `.t-${name} .ink .mark { color: ${colours.link} !important; }`,
  `.t-${name} .ink .name { color: ${colours.ink} !important; }`,
  `.t-${name} .ink .badge { background-color: ${colours.button} !important; color: ${colours.onButton} !important; }`,
  `.t-${name} .button td, .t-${name} .button a { background: ${colours.button} !important; color: ${colours.onButton} !important; }`,
  `.t-${name} .outline td, .t-${name} .outline a { background: ${colours.ground} !important; color: ${colours.link} !important; border-color: ${colours.button} !important; }`,
  `.t-${name} .card > table > tbody > tr > td > table, .t-${name} .ink .panel { background-color: ${colours.card} !important; }`,
  `.t-${name} .rule p, .t-${name} .edge { border-color: ${colours.line} !important; }`,
  `.t-${name} .stroke p, .t-${name} .bar { border-color: ${colours.button} !important; }`,
  `.t-${name} .rim > table > tbody > tr > td > table { border-color: ${colours.button} !important; }`,
  `.t-${name}.flip, .t-${name}.flip > table { background-color: ${colours.band} !important; }`,
  `.t-${name}.flip .ink div, .t-${name}.flip .ink .mark { color: ${colours.onBand} !important; }`,
];

/** @param {string[]} tones the tones of the document's blocks */
export function styleSheet(look, tones) {
  const { dark, type } = look;
  return [
    'h1, h2, h3 { margin: 0; font-size: inherit; line-height: inherit; font-weight: inherit; }',
    'p { margin: 0; }',
    'p + p { margin-top: 14px; }',
    'h1 { letter-spacing: -0.5px; }',
    '@media (max-width: 479px) {',
    `  .big div { font-size: ${Math.min(Math.round(type.h1 * 0.8), PHONE_HEADING_MAX)}px !important; }`,
    `  .mid div { font-size: ${Math.min(Math.round(type.h1 * 0.68), PHONE_HEADING_MAX - 6)}px !important; }`,
    '  h1, h2, h3 { -webkit-hyphens: auto; hyphens: auto; hyphenate-limit-chars: 14 6 6; }',
    '  .gutter > table > tbody > tr > td { padding-left: 20px !important; padding-right: 20px !important; }',
    '  .near > table > tbody > tr > td { padding-left: 10px !important; padding-right: 10px !important; }',
    '}',
    '@media (prefers-color-scheme: dark) {',
    `  body, .page, .page > div { background-color: ${dark.page} !important; }`,
    ...tones.flatMap((name) => tone(name, dark.tones[name])).map((line) => `  ${line}`),
    '}',
  ].join('\n');
}
