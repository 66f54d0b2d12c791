// A fragments keeps pieces of a document out of the way of parsers that would damage them: template expressions,
// conditional comments, style sheets. Each is replaced by a token, a plain lower-case word that every parser and
// serializer passes through, and put back at the end.
//
// A token carries 80 bits of the document's own SHA-256, so a document cannot contain its own tokens: forging one
// would need a text that holds its own hash. It also makes every run over the same input identical.

import { createHash } from 'node:crypto';

/** What a token stands for. */
export const KIND = Object.freeze({
  output: 'o', // {{ … }}
  tag: 't', // {% … %}
  address: 'a', // an address whose beginning depends on {% … %}; holds tokens of these two kinds
  conditional: 'c', // <!--[if …]> … <![endif]--> and its relatives
  style: 's', // <style> … </style>
});

const ESCAPE_IN_TEXT = [
  [/&(?=[a-z0-9#])/gi, '&amp;'], // would begin a character reference
  [/<(?=[a-z/!?])/gi, '&lt;'], // would begin markup
  [/(--!?)>/g, '$1&gt;'], // would end a comment around it
];

export class ProtectedFragments {
  #items = [];

  constructor(source) {
    const nonce = createHash('sha256').update(source).digest('hex').slice(0, 20);
    this.prefix = `q${nonce}`;
    /** Matches every token; only for replace, matchAll and split, which ignore lastIndex. */
    this.tokens = new RegExp(`q${nonce}[otacs]\\d+q`, 'g');
    this.templateTokens = new RegExp(`q${nonce}[ota]\\d+q`, 'g');
    this.commentedTokens = new RegExp(`<!--(q${nonce}[otacs]\\d+q)-->`, 'g');
    this.single = new RegExp(`^q${nonce}[otacs]\\d+q$`);
  }

  /** Stores a value and gives the token that stands for it. */
  put(kind, value) {
    this.#items.push({ kind, value, used: false });
    return `${this.prefix}${kind}${this.#items.length - 1}q`;
  }

  isToken(text) {
    return this.single.test(text);
  }

  /** The stored item behind a token: { kind, value, used }. */
  item(token) {
    return this.#items[Number(token.slice(this.prefix.length + 1, -1))];
  }

  startsWithTemplate(text) {
    return [KIND.output, KIND.tag, KIND.address].some((kind) => text.startsWith(`${this.prefix}${kind}`));
  }

  /** What stands between the `{% … %}` of a text, or the text itself when there is none. */
  withoutTags(text) {
    if (!text.includes(`${this.prefix}${KIND.tag}`)) return [text];
    return text.split(new RegExp(`${this.prefix}${KIND.tag}\\d+q`)).filter((part) => part !== '');
  }

  hasTemplate(text) {
    return text.includes(this.prefix) && text.search(this.templateTokens) >= 0;
  }

  /** The expressions a text holds, without marking them as used. */
  expressionsIn(text) {
    if (!text.includes(this.prefix)) return [];
    return [...text.matchAll(this.templateTokens)].map(([token]) => this.item(token).value);
  }

  /** Puts template expressions back verbatim: for values that are escaped afterwards, and for plain text. */
  expand(text) {
    return this.#replace(text, (value) => value);
  }

  /**
   * Puts template expressions back into escaped HTML text. Only what would end the text there is escaped, so that an
   * ordinary expression keeps its quotes and its comparison signs.
   */
  expandInHtmlText(text) {
    return this.#replace(text, escapeExpressionInText);
  }

  /** The expressions that were put back, in the order of the source: { outputs, tags }, each without repeats. */
  usedExpressions() {
    const outputs = new Set();
    const tags = new Set();
    for (const { kind, value, used } of this.#items) {
      if (!used) continue;
      if (kind === KIND.output) outputs.add(innerExpression(value));
      if (kind === KIND.tag) tags.add(innerExpression(value));
    }
    return { outputs: [...outputs], tags: [...tags] };
  }

  #replace(text, encode) {
    if (!text.includes(this.prefix)) return text;
    return text.replace(this.templateTokens, (token) => {
      const item = this.item(token);
      item.used = true;
      return encode(item.kind === KIND.address ? this.expand(item.value) : item.value);
    });
  }
}

/** An expression as it may stand in HTML text: HTML-decoding it gives the expression verbatim. */
function escapeExpressionInText(expression) {
  return ESCAPE_IN_TEXT.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), expression);
}

function innerExpression(expression) {
  return expression.slice(2, -2).replace(/^-/, '').replace(/-$/, '').trim();
}
