// Checks of what marketing mail must have by law and by the rules of mailbox providers: a link to unsubscribe and the postal address of the sender. Other
// mail needs neither.

import { fold } from './mail_tree.mjs';
import { UNSUBSCRIBE } from './words.mjs';

export const IDS = ['unsubscribeLink', 'postalAddress'];

const UNSUBSCRIBE_TAG = /\{\{-?\s*unsubscribeUrl\b/;
const UNSUBSCRIBE_ADDRESS = /unsubscri|opt-?out|abmeld|desabonn|désabonn|\/u\/[\w.~-]{16}/i;
/** Postal codes, without years. */
const POSTAL_CODE = /(?<![\w.,-])(?:(?!(?:19|20)\d\d\b)\d{4,6}(?:-\d{4})?|\d{3} \d{2}|\d{2}-\d{3}|[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}|\d{4} ?[A-Z]{2}|[A-Z]\d[A-Z] \d[A-Z]\d)(?![\w%€$£-])/g;
const STREET_NUMBER = /(?<![\w.,-])\d{1,4}[a-z]?(?![\w%€$£])/i;
const FOOT_CHARS = 2000;
const AROUND_CHARS = 80;
/** Share of the lines of an address that the mail must show. */
const LEAST_LINES = 0.5;

const letters = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ').trim();

/** A link of the mail as it is received, whose text or address unsubscribes. */
function hasShownLink(shown) {
  return shown.links.some(({ href, name, isHidden }) => {
    if (href === null || isHidden) return false;
    const text = fold(shown.expand(name)).toLowerCase().replaceAll("'", '’');
    return UNSUBSCRIBE.some((part) => text.includes(part)) || UNSUBSCRIBE_ADDRESS.test(href);
  });
}

/** The design's own link may have any text: it counts when the text is in the mail. */
function hasDesignLink(tree, shown) {
  const own = tree.links.filter(({ href, isHidden }) => href !== null && !isHidden && UNSUBSCRIBE_TAG.test(href));
  if (own.length === 0) return false;
  const shownNames = new Set(shown.links.filter(({ href, isHidden }) => href !== null && !isHidden).map(({ name }) => fold(shown.expand(name))));
  return own.some(({ name }) => /\{[{%]/.test(name) || shownNames.has(fold(tree.expand(name))));
}

function showsAddress(text, address) {
  const lines = address.split(/[\n,;]/).map(letters).filter((line) => line !== '');
  const all = ` ${letters(text)} `;
  return lines.length > 0 && lines.filter((line) => all.includes(` ${line} `)).length / lines.length >= LEAST_LINES;
}

/** True when the foot of the mail has a postal code with a number of a street near it. */
function looksLikeAddress(text) {
  const foot = text.slice(-FOOT_CHARS);
  return [...foot.matchAll(POSTAL_CODE)].some(({ 0: code, index }) => {
    const around = `${foot.slice(Math.max(0, index - AROUND_CHARS), index)} ${foot.slice(index + code.length, index + code.length + AROUND_CHARS)}`;
    return STREET_NUMBER.test(around);
  });
}

export function check({ tree, shown, purpose, address }, report) {
  if (purpose !== 'marketing') {
    for (const id of IDS) report.skip(id, 'Only marketing mail needs it.');
    return;
  }
  if (!hasShownLink(shown) && !hasDesignLink(tree, shown)) {
    report.add('unsubscribeLink', { key: 'unsubscribe', message: 'The mail has no link to unsubscribe.' });
  }
  const text = shown.expand(shown.markedText);
  const isShown = (address && showsAddress(text, address)) || looksLikeAddress(text);
  if (!isShown) {
    const message = address ? 'The mail does not show the postal address of the brand.' : 'The brand has no postal address, and the mail shows none.';
    report.add('postalAddress', { key: 'address', message });
  }
}
