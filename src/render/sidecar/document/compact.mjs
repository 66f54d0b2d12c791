// Shorter HTML of drawn documents, which looks the same: Gmail clips a message at about 102 KB, and mjml writes much that no client
// needs. Imports keep what their authors wrote. tests/gallery/designs compares pictures of both forms.

/** mjml styles every table and cell for Outlook alone. Inlined, the rule would be repeated in each of them. */
const TABLES = /table,\s*td\s*\{\s*border-collapse:\s*collapse;\s*mso-table-lspace:\s*0pt;\s*mso-table-rspace:\s*0pt;\s*\}/;
const FOR_OUTLOOK = '<!--[if mso]><style type="text/css">table, td { border-collapse: collapse; mso-table-lspace: 0pt; mso-table-rspace: 0pt; }</style><![endif]-->';

/** Margins of paragraphs are those of the document (style.mjs). */
const PARAGRAPHS = /\bp\s*\{\s*display:\s*block;\s*margin:\s*13px 0;\s*\}/;

const BETWEEN_TAGS = /(?:>|(?<=\{% endcomment %\}))[ \t]*\n\s*(?=<|\{% comment %\}block )/g;
const BETWEEN_CELLS = />\n(?=<\/?(?:tbody|tr|td)\b|<\/table>)/g;
const OUTLOOK_CLASSES = / class="(?:[\w-]+-outlook(?: [\w-]+-outlook)*)?"(?=[^<>]*><tr>)/g;

// ---- A column that is alone in its section ----

/** Control characters: the pipeline of imports removes those of a text, and one of a text in between leaves the column as it is. */
const LONE = { begin: '\u0005', end: '\u0006' };
const LONE_MARKS = /[\u0005\u0006]/g;

/** Marks the contents of a column of the whole width, which needs no element beside its table. */
export const loneColumn = (contents) => `<mj-raw>${LONE.begin}</mj-raw>${contents}<mj-raw>${LONE.end}</mj-raw>`;

/** mjml breaks the lines of start tags. */
const spaced = (text) => text.replaceAll(' ', '\\s+').replaceAll('~', '\\s*');
const LONE_COLUMN = new RegExp(spaced([
  'text-align:center;"~>~',
  '<!--\\[if mso \\| IE\\]><table role="presentation" border="0" cellpadding="0" cellspacing="0"><tr><td style="[^"]*"~><!\\[endif\\]-->~',
  '<div class="mj-column-per-100" style="[^"]*"~>~(<table [^<>]*>~<tbody>)~',
  `${LONE.begin}([^${LONE.begin}${LONE.end}]*)${LONE.end}`,
  '~(</tbody>~</table>)~</div>~<!--\\[if mso \\| IE\\]></td></tr></table><!\\[endif\\]-->',
].join('')), 'g');

const withoutLoneColumns = (html) => html.replace(LONE_COLUMN, 'text-align:left;">$1$2$3').replace(LONE_MARKS, '');

// ---- Attributes and styles ----

/**
 * What mjml writes in its start tags, and the shorter form. A table has no border unless it is asked for. A lookbehind that begins with a
 * repetition would be tried at every character, so such a pattern keeps the beginning as a group.
 */
const SHORTER = [
  [/background:(#\w+);background-color:\1;/g, 'background-color:$1;'],
  [/border="0" (?=cellpadding="0" cellspacing="0" (?:role="presentation"|style="border-top:))/g, ''],
  [/(<table\s[^<>]*) style="vertical-align:top;"/g, '$1'],
  [/(?<=<td\s[^<>]*style="font-size:0px;padding:)0px 0(?:px)? 0px(?=;)/g, '0'],
  [/(?<=<td\s[^<>]*style="font-size:0px;padding:)0px 0(?:px)? (?=\d)/g, '0 0 '],
  [/margin:0px auto;/g, 'margin:0 auto;'],
];

/** The direction of the whole email. */
const LEFT_TO_RIGHT = /<html lang="[^"]*" dir="ltr"/;
const DIRECTION = /(?<=<td\s+style=")direction:ltr;(?=font-size:0px;padding:)|(?<=font-size:0px;text-align:left;)direction:ltr;(?=display:inline-block;)/g;

/** Cells inherit it from the element around all blocks. */
const BREAKS = 'word-break:break-word;';
const OUTER = /(?<=<div\s[^<>]*aria-roledescription="email"[^<>]*style=")(?=word-spacing:normal;)/;
const BREAKS_OF_CELLS = new RegExp(`(<td\\s[^<>]*style="font-size:0px;padding:[^"]*)${BREAKS}(?=")`, 'g');

function withoutRepetitions(html) {
  const shorter = SHORTER.reduce((text, [pattern, by]) => text.replace(pattern, by), html);
  const undirected = LEFT_TO_RIGHT.test(shorter) ? shorter.replace(DIRECTION, '') : shorter;
  return OUTER.test(undirected) ? undirected.replace(OUTER, BREAKS).replace(BREAKS_OF_CELLS, '$1') : undirected;
}

/** @param {string} html as mjml writes it */
export function compact(html) {
  const ruled = TABLES.test(html) ? html.replace(TABLES, '').replace(PARAGRAPHS, '').replace('</head>', `${FOR_OUTLOOK}</head>`) : html;
  const classless = ruled.replace(OUTLOOK_CLASSES, '').replaceAll(' mj-outlook-group-fix', '').replaceAll('<td class="" ', '<td ');
  const short = withoutRepetitions(withoutLoneColumns(classless));
  return /<pre[\s>]/i.test(short) ? short : short.replace(BETWEEN_TAGS, (found) => (found.startsWith('>') ? '>\n' : '\n')).replace(BETWEEN_CELLS, '>');
}
