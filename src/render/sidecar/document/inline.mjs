// Inline Markdown of documents: **bold**, *italic*, [label](address), line breaks. Merge tags stay as they are, every other character
// is text: markup in it is shown, not interpreted.

const TEMPLATE = /\{\{[^]*?\}\}|\{%[^]*?%\}/g;
const WORD = /\u0001(\d+)\u0001/g;
const LINK = /\[([^[\]]+)\]\(([^()\s]+(?:\([^()\s]*\))?[^()\s]*)\)/g;
const ESCAPED = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export const escapeHtml = (text) => text.replace(/[&<>"]/g, (character) => ESCAPED[character]);

/** Hides merge tags from `change`, and puts them back into its result. */
function aroundTags(text, change) {
  const tags = [];
  const masked = text.replace(TEMPLATE, (tag) => `\u0001${tags.push(tag) - 1}\u0001`);
  return change(masked).replace(WORD, (_, index) => tags[index]);
}

/** Plain text with merge tags, for an element. */
export const plain = (text) => aroundTags(text, escapeHtml);

/** Plain text with merge tags, for an attribute in double quotes. Quotes inside of merge tags become single ones. */
export const attribute = (text) => aroundTags(text, escapeHtml).replace(TEMPLATE, (tag) => tag.replaceAll('"', "'"));

const emphasis = (html) => html
  .replace(/\*\*(?=\S)([^]*?\S)\*\*/g, '<strong>$1</strong>')
  .replace(/(^|[^\w*])\*(?=[^\s*])([^*]*?[^\s*])\*(?![\w*])/g, '$1<em>$2</em>');

/**
 * Inline Markdown as HTML.
 * @param {string} linkStyle the style of links
 */
export function inline(text, linkStyle) {
  return aroundTags(text.replace(/\r\n?/g, '\n').trim(), (masked) => {
    const links = [];
    const withoutLinks = escapeHtml(masked).replace(LINK, (whole, label, address) => {
      const isSafe = /^(?:https?:\/\/|mailto:|tel:|#|\u0001)/i.test(address);
      return isSafe ? `\u0002${links.push(`<a class="link" href="${address}" style="${linkStyle}">${emphasis(label)}</a>`) - 1}\u0002` : whole;
    });
    return emphasis(withoutLinks).replace(/\n/g, '<br />').replace(/\u0002(\d+)\u0002/g, (_, index) => links[index]);
  });
}

/** The paragraphs of a text: parts with empty lines between. */
export const paragraphs = (text) => text.replace(/\r\n?/g, '\n').split(/\n[ \t]*\n/).map((part) => part.trim()).filter((part) => part !== '');
