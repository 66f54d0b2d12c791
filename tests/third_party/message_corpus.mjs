// Messages that composers get wrong: scripts of the world, long and short lines, dots, blanks, words that look like
// markup of mail. Bodies are written with the line breaks named in each case.

const EMOJI_FAMILY = '\u{1F468}\u200d\u{1F469}\u200d\u{1F467}\u200d\u{1F466}';

const BODIES = {
  plain: 'Hello Bob,\n\nhow are you?\n',
  'no final line break': 'one line',
  'several final line breaks': 'text\n\n\n',
  empty: '',
  'only a line break': '\n',
  'blanks at line ends': 'trailing space \ntrailing tab\t\n \n\t\n end ',
  'dots at line starts': '.\n..\n.hidden\nmiddle.\n...\n',
  'From lines': 'From here on\nFrom: not a header\n>From quoted\nFromage\n',
  'a line that looks like a boundary': '--=_\n--\n--boundary--\n',
  'carriage returns': 'a\r\nb\rc\nd\r\r\ne\n\r\n',
  'long line': `${'word '.repeat(400)}end\n`,
  'long word': `${'x'.repeat(3000)}\n`,
  'long word of wide characters': `${'\u6f22'.repeat(700)}\n`,
  'equals signs': 'a=b==c=\n=20\n=E4\n=\n',
  'latin accents': 'Cr\u00e8me br\u00fbl\u00e9e \u00e0 la carte, na\u00efve fa\u00e7ade. Plain words go on here.\n',
  cyrillic: '\u041f\u0440\u0438\u0432\u0435\u0442, \u043a\u0430\u043a \u0434\u0435\u043b\u0430?\n'.repeat(20),
  arabic: '\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645\n'.repeat(20),
  'hebrew with marks': '\u202b\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd\u202c abc \u200f(12)\n',
  japanese: '\u3053\u3093\u306b\u3061\u306f\u3001\u4e16\u754c\u3002\n'.repeat(30),
  emoji: `Hi ${EMOJI_FAMILY} \u{1F1E6}\u{1F1F9} \u{1F44D}\u{1F3FD} \u2764\ufe0f\n`.repeat(10),
  'combining characters': 'e\u0301 a\u0308 \u1100\u1161\u11a8\n',
  'characters outside the first plane': '\u{10348}\u{1d11e}\u{20bb7}\n'.repeat(9),
  'separators and joiners': 'a\u00a0b\u2003c\u200bd\ufeffe\u00adf\u2028g\u2029h\n',
  controls: 'bell \u0007 escape \u001b[1m delete \u007f unit \u001f\n',
  tabs: '\tindented\tby\ttabs\n',
  'last column': Array.from({ length: 12 }, (_, i) => `${'x'.repeat(70 + i)}`).join('\n'),
  'accent at the last column': Array.from({ length: 14 }, (_, i) => `${'x'.repeat(64 + i)}\u00e9 end`).join('\n'),
  'dot after a soft break': Array.from({ length: 8 }, (_, i) => `${'x'.repeat(71 + i)}.y.z`).join('\n'),
};

const SUBJECTS = [
  'Hello', '', 'Re: [list] (a) <b> "c" \\d; e, f@g', 'Twenty % off = only $5?', 'x'.repeat(200), 'word '.repeat(60).trim(),
  'Two  blanks', ' leading', 'trailing ', 'Gr\u00fc\u00dfe aus Wien', '=?utf-8?Q?not_encoded?=', 'a =?b?= c', '_under_score_',
  '\u65e5\u672c\u8a9e\u306e\u4ef6\u540d'.repeat(12), `${EMOJI_FAMILY} sale`, '\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd',
  'caf\u00e9 '.repeat(30).trim(), '\u{1F600}'.repeat(60), 'a'.repeat(70) + '\u00e9', `${'long-'.repeat(14)}x short tail`,
];

const NAMES = [
  '', 'Bob', 'Bob Builder', 'Builder, Bob', 'Bob "The Builder" O\'Hara', 'back\\slash', 'J\u00f6rg M\u00fcller', 'bob@example.org',
  '\u5c71\u7530\u592a\u90ce', '(comment) name', 'A. B. C.', 'semi;colon: name', EMOJI_FAMILY, '<angle>', 'x'.repeat(100),
  '\u0413\u0440\u0438\u0433\u043e\u0440\u0438\u0439 '.repeat(8).trim(), '=?utf-8?Q?x?=', 'Dots. And, commas',
];

const HEADERS = [
  ['List-Unsubscribe', `<https://example.com/u/${'a'.repeat(120)}>, <mailto:u+${'b'.repeat(60)}@example.com?subject=unsubscribe>`],
  ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
  ['Feedback-ID', 'campaign:brand:class:sender'],
];

export function message(name, parts) {
  return {
    name,
    request: {
      from: { name: 'Example News', address: 'news@example.com' },
      replyTo: 'help@example.com',
      to: { name: 'Bob', address: 'bob@example.org' },
      subject: 'Hello',
      dateUs: 1795253400000000,
      messageId: '<t1.abc@example.com>',
      headers: HEADERS,
      ...parts,
    },
  };
}

function html(body) {
  const escaped = body.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<!doctype html>\n<html lang="en"><body><p>${escaped}</p></body></html>`;
}

export function fixedCorpus() {
  const corpus = [];
  for (const [name, body] of Object.entries(BODIES)) {
    corpus.push(message(`body: ${name}`, { text: body, html: html(body) }));
    corpus.push(message(`body raw in both parts: ${name}`, { text: body, html: body }));
    corpus.push(message(`text only: ${name}`, { text: body }));
    corpus.push(message(`html only: ${name}`, { html: html(body) }));
  }
  for (const subject of SUBJECTS) corpus.push(message(`subject: ${subject.slice(0, 30)}`, { subject, text: 'x', html: 'x' }));
  for (const name of NAMES) {
    corpus.push(message(`name: ${name.slice(0, 30)}`, {
      from: { name, address: 'news@example.com' }, to: { name, address: `${'l'.repeat(64)}@example.org` }, text: 'x', html: 'x',
    }));
  }
  return corpus;
}

const PIECES = [
  'a', 'b', 'Z', '0', ' ', ' ', ' ', '\n', '\r\n', '\r', '\t', '.', '=', '--', '\n.', ' \n', '?', '_', '"', '\\', '<', '>', '&', '@',
  'word ', 'From ', '\nFrom ', '\u00e9', '\u00df', '\u0416', '\u05d0', '\u0645', '\u6f22', '\u{1F600}', '\u0301', '\u200d', '\ufeff',
  '\u00a0', '\u2028', 'x'.repeat(75), 'x'.repeat(76), 'x'.repeat(77), '=?utf-8?Q?', '?=', '=3D', '--=_',
];
const LINE_PIECES = PIECES.filter((piece) => !/[\r\n\t]/.test(piece));
// A byte order mark at the start of a text or an encoded word is dropped by decoders; inside a body it must survive.
const HEADER_PIECES = LINE_PIECES.filter((piece) => piece !== '\ufeff');

function randomBody(random) {
  return random.text(PIECES, random.below(300)).replace(/^\ufeff+/, '');
}

export function randomCorpus(random, count) {
  return Array.from({ length: count }, (_, i) => message(`random ${i}`, {
    text: randomBody(random),
    html: randomBody(random),
    subject: [...random.text(HEADER_PIECES, random.below(40))].slice(0, 400).join(''),
    to: { name: random.text(HEADER_PIECES, random.below(12)), address: 'bob@example.org' },
    messageId: `<t${i}@example.com>`,
  }));
}
