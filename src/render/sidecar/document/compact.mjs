// Shorter HTML of drawn documents, which looks the same: Gmail clips a message at about 102 KB, and mjml writes much that no client
// needs. Imports keep what their authors wrote.

/** mjml styles every table and cell for Outlook alone. Inlined, the rule would be repeated in each of them. */
const TABLES = /table,\s*td\s*\{\s*border-collapse:\s*collapse;\s*mso-table-lspace:\s*0pt;\s*mso-table-rspace:\s*0pt;\s*\}/;
const FOR_OUTLOOK = '<!--[if mso]><style type="text/css">table, td { border-collapse: collapse; mso-table-lspace: 0pt; mso-table-rspace: 0pt; }</style><![endif]-->';

/** Margins of paragraphs are those of the document (style.mjs). */
const PARAGRAPHS = /\bp\s*\{\s*display:\s*block;\s*margin:\s*13px 0;\s*\}/;

const BETWEEN_TAGS = />[ \t]*\n\s*(?=<)/g;
const OUTLOOK_CLASSES = / class="(?:[\w-]+-outlook(?: [\w-]+-outlook)*)?"(?=[^<>]*><tr>)/g;

/** @param {string} html as mjml writes it */
export function compact(html) {
  const ruled = TABLES.test(html) ? html.replace(TABLES, '').replace(PARAGRAPHS, '').replace('</head>', `${FOR_OUTLOOK}</head>`) : html;
  const classless = ruled.replace(OUTLOOK_CLASSES, '').replaceAll(' mj-outlook-group-fix', '').replaceAll('<td class="" ', '<td ');
  return /<pre[\s>]/i.test(classless) ? classless : classless.replace(BETWEEN_TAGS, '>\n');
}
