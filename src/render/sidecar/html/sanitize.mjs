// The second filter, sanitize-html: another parser with another implementation of the same allow-lists, so that a
// mistake in one is not a hole in the whole. It also turns the tokens that stand in text into comments, which later
// parsers leave where they are, even between table rows.

import sanitizeHtml from 'sanitize-html';

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
  // css.mjs has cleaned style attributes, and knows the hacks that a strict parser would refuse.
  parseStyleAttributes: false,
};

/** Filters serialized HTML; tokens in text come out as `<!--token-->`, tokens in attributes and in <title> as they were. */
export function sanitize(html, fragments) {
  return sanitizeHtml(html, {
    ...OPTIONS,
    textFilter: (text, tagName) => (tagName === 'title' ? text : text.replace(fragments.tokens, '<!--$&-->')),
  });
}
