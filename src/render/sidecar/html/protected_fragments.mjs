// Protected fragments: parts of a document that parsers would damage (template expressions, conditional comments, style
// sheets). Each fragment is replaced by a token, a plain lower-case word that every parser and serializer leaves
// unchanged. At the end the fragment is put back.
//
// A token contains 80 bits of the SHA-256 of the document. So a document cannot contain its own tokens: it would have to
// contain its own hash. The hash also makes every run on the same input identical.

import { createHash } from 'node:crypto';

/** The kind of fragment, as a letter in the token. */
export const KIND = Object.freeze({
  output: 'o', // {{ … }}
  tag: 't', // {% … %}
  address: 'a', // an address whose beginning depends on {% … %}; contains tokens of kind output and tag
  conditional: 'c', // <!--[if …]> … <![endif]--> and its variants
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
    /** Matches every token. Use it only with replace, matchAll and split, which ignore lastIndex. */
    this.tokens = new RegExp(`q${nonce}[otacs]\\d+q`, 'g');
    this.templateTokens = new RegExp(`q${nonce}[ota]\\d+q`, 'g');
    this.commentedTokens = new RegExp(`<!--(q${nonce}[otacs]\\d+q)-->`, 'g');
    this.single = new RegExp(`^q${nonce}[otacs]\\d+q$`);
  }

  /** Stores a fragment and returns its token. */
  put(kind, value) {
    this.#items.push({ kind, value, used: false });
    return `${this.prefix}${kind}${this.#items.length - 1}q`;
  }

  isToken(text) {
    return this.single.test(text);
  }

  /** The stored fragment of a token: { kind, value, used }. */
  item(token) {
    return this.#items[Number(token.slice(this.prefix.length + 1, -1))];
  }

  startsWithTemplate(text) {
    return [KIND.output, KIND.tag, KIND.address].some((kind) => text.startsWith(`${this.prefix}${kind}`));
  }

  /** The parts of a text between its `{% … %}` tokens; the whole text when it has none. */
  withoutTags(text) {
    if (!text.includes(`${this.prefix}${KIND.tag}`)) return [text];
    return text.split(new RegExp(`${this.prefix}${KIND.tag}\\d+q`)).filter((part) => part !== '');
  }

  hasTemplate(text) {
    return text.includes(this.prefix) && text.search(this.templateTokens) >= 0;
  }

  /** The template expressions in a text. They are not marked as used. */
  expressionsIn(text) {
    if (!text.includes(this.prefix)) return [];
    return [...text.matchAll(this.templateTokens)].map(([token]) => this.item(token).value);
  }

  /** Restores template expressions verbatim, for plain text and for values that are escaped afterwards. */
  expand(text) {
    return this.#replace(text, (value) => value);
  }

  /**
   * Restores template expressions in escaped HTML text. It escapes only characters that would end the text, so an ordinary
   * expression keeps its quotes and comparison signs.
   */
  expandInHtmlText(text) {
    return this.#replace(text, escapeExpressionInText);
  }

  /** The restored expressions in source order, without duplicates: { outputs, tags }. */
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

/** Escapes an expression for HTML text. HTML-decoding the result gives the expression verbatim. */
export function escapeExpressionInText(expression) {
  return ESCAPE_IN_TEXT.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), expression);
}

function innerExpression(expression) {
  return expression.slice(2, -2).replace(/^-/, '').replace(/-$/, '').trim();
}
