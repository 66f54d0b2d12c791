// Finds template expressions, `{{ … }}` and `{% … %}`, in the source before any HTML parser sees it: their quotes and
// comparison signs would otherwise be read as markup. What each one means is not this process's business.

import { decodeHTMLStrict } from 'entities';

import { importFailed } from './errors.mjs';
import { LIMITS } from './limits.mjs';
import { KIND } from './vault.mjs';

const DELIMITER = /\{\{|\{%|\}\}|%\}/g;
const CLOSES = { '{{': '}}', '{%': '%}' };
const QUOTED = /"[^"]*"|'[^']*'/g;
const MARKUP = /<[a-z/!?]/i;

/** Replaces every template expression of `source` by a token of `vault`. One pass, linear in the source. */
export function maskTemplates(source, vault, report) {
  let masked = '';
  let copied = 0;
  let open = null;
  let count = 0;
  for (const { 0: delimiter, index } of source.matchAll(DELIMITER)) {
    if (delimiter in CLOSES) {
      open = { delimiter, index };
      continue;
    }
    if (!open || CLOSES[open.delimiter] !== delimiter) continue;
    const raw = source.slice(open.index, index + 2);
    if (isExpression(raw, report)) {
      if (++count > LIMITS.expressions) {
        throw importFailed(`The content has more than ${LIMITS.expressions} template expressions.`);
      }
      const kind = open.delimiter === '{{' ? KIND.output : KIND.tag;
      masked += source.slice(copied, open.index) + vault.put(kind, readExpression(raw));
      copied = index + 2;
    }
    open = null;
  }
  return masked + source.slice(copied);
}

/** Markup inside the braces (an editor's <span> around half of a name) is not an expression: it is left to the parser. */
function isExpression(raw, report) {
  if (raw.length > LIMITS.expressionChars) return false;
  if (!MARKUP.test(raw.replace(QUOTED, ''))) return true;
  report.warn('TEMPLATE_MARKUP', 'A template expression contains markup inside its braces and was left as plain text.');
  return false;
}

/** The expression its author meant: character references decoded, and editors' no-break spaces read as spaces. */
function readExpression(raw) {
  return decodeHTMLStrict(raw).replaceAll('\u00a0', ' ');
}
