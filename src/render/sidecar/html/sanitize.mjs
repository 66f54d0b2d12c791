// Sanitizer, the second pass after the tree filter: sanitize-html has its own parser and its own implementation of the
// same allow-lists, so a bug in one pass does not make the output unsafe. It also turns tokens in text into comments,
// because later parsers do not move comments, even between table rows.

import { sanitizeHtml } from '#libraries/html';

import { ATTRIBUTE_PREFIXES, ATTRIBUTES, DROPPED_WITH_CONTENT, ELEMENTS } from './policy.mjs';

const OPTIONS = {
  allowedTags: [...ELEMENTS],
  allowedAttributes: {
    '*': [...ATTRIBUTES, ...ATTRIBUTE_PREFIXES.map((prefix) => `${prefix}*`)],
    html: ['xmlns', 'xmlns:v', 'xmlns:o', 'xmlns:w'],
    meta: ['name', 'content', 'http-equiv'],
  },
  nonBooleanAttributes: [],
  selfClosing: ['br', 'hr', 'img', 'meta', 'col', 'wbr', 'area', 'basefont'],
  nonTextTags: [...DROPPED_WITH_CONTENT],
  allowedSchemes: ['http', 'https', 'mailto', 'tel', 'sms', 'webcal'],
  allowedSchemesByTag: { img: ['http', 'https', 'cid'] },
  allowedSchemesAppliedToAttributes: ['href', 'src', 'background'],
  // css.mjs has sanitized style attributes. It accepts client hacks that a strict parser would refuse.
  parseStyleAttributes: false,
};

/** Sanitizes serialized HTML. Tokens in text become `<!--token-->`. Tokens in attributes and in <title> stay unchanged. */
export function sanitize(html, fragments) {
  return sanitizeHtml(html, {
    ...OPTIONS,
    textFilter: (text, tagName) => (tagName === 'title' ? text : text.replace(fragments.tokens, '<!--$&-->')),
  });
}
