// Checks of the structure that screen readers need: headings, the language of the text and its direction.

import { attribute } from '../../html/document.mjs';
import { fold } from './mail_tree.mjs';
import { named } from './report.mjs';
import { FREQUENT, RTL_LANGUAGES, RTL_LETTER, SCRIPTS } from './words.mjs';

export const IDS = ['tableRole', 'headingOrder', 'headingMissing', 'headingEmpty', 'languageTag', 'languageOfText', 'textDirection'];

/** Words from which on a mail needs a heading. */
const LONG_MAIL_WORDS = 250;
/** Frequent words of another language that must be there, and how often they outnumber those of the declared one. */
const LEAST_WORDS = 12;
const RATIO = 3;
const READ_CHARS = 20_000;
const LANGUAGE_TAG = /^[a-z]{2,3}(?:-[a-z0-9]{2,8}){0,4}$/i;

/** Elements that only tables of data have. */
const DATA_PARTS = new Set(['th', 'caption', 'thead', 'tfoot', 'colgroup']);

/** The table of an element of a table, without those around it. */
function tableOf(element) {
  let node = element.parentNode;
  while (node && node.tagName !== 'table') node = node.parentNode;
  return node;
}

/** A screen reader counts the rows and columns of a table, unless it is told that the table is layout. */
function checkTables(tree, report) {
  const tables = tree.elements.filter((element) => element.tagName === 'table' && !tree.hidden.has(element));
  const ofData = new Set(tree.elements.filter(({ tagName }) => DATA_PARTS.has(tagName)).map(tableOf));
  for (const element of tables) {
    if (attribute(element, 'role') !== null || ofData.has(element)) continue;
    report.add('tableRole', { element, tree, key: 'table', message: 'A table for layout has no role.' });
  }
  if (tables.length === 0) report.skip('tableRole', 'The mail has no tables.');
}

function checkHeadings(tree, report) {
  let last = 0;
  for (const { element, level, text } of tree.headings) {
    const heading = fold(tree.expand(text));
    if (heading === '') {
      report.add('headingEmpty', { element, tree, key: `h${level}`, message: `A heading of level ${level} has no text.` });
    } else if (last > 0 && level > last + 1) {
      report.add('headingOrder', { element, tree, key: heading, message: `The heading ${named(heading)} has level ${level} after one of level ${last}.` });
    }
    last = level;
  }
  const words = tree.visibleText.split(/\s+/, LONG_MAIL_WORDS + 1).length;
  if (tree.headings.length === 0 && words > LONG_MAIL_WORDS) {
    report.add('headingMissing', { key: 'headingMissing', message: `The mail has more than ${LONG_MAIL_WORDS} words and no heading.` });
  }
  if (tree.headings.length === 0) for (const id of ['headingOrder', 'headingEmpty']) report.skip(id, 'The mail has no headings.');
}

const languages = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });

function isLanguage(tag) {
  if (!LANGUAGE_TAG.test(tag)) return false;
  try {
    return languages.of(tag.split('-')[0]) !== undefined && Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}

function checkLanguage(tree, report) {
  const lang = attribute(tree.html, 'lang');
  if (lang === null || lang.trim() === '') {
    report.add('languageTag', { element: tree.html, tree, key: 'lang', message: 'The mail has no language.' });
  } else if (!tree.fragments.hasTemplate(lang) && !isLanguage(lang)) {
    report.add('languageTag', { element: tree.html, tree, key: 'lang', message: `The language ${named(lang)} does not exist.` });
  } else {
    checkLanguageOfText(lang.toLowerCase().split('-')[0], tree, report);
  }
}

/** Counts the frequent words of each language in a text. */
function frequencies(text) {
  const lists = Object.entries(FREQUENT).map(([language, words]) => [language, new Set(words.split(' ')), 0]);
  for (const [word] of text.toLowerCase().matchAll(/\p{L}+/gu)) for (const list of lists) if (list[1].has(word)) list[2]++;
  return new Map(lists.map(([language, , count]) => [language, count]));
}

/** The most frequent script that the declared language does not use, when most letters are of such scripts; '' otherwise. */
function foreignScript(declared, text) {
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  const foreign = SCRIPTS.filter(({ languages: own }) => !own.has(declared)).map(({ script, letter }) => ({ script, count: text.match(letter)?.length ?? 0 }));
  const count = foreign.reduce((sum, one) => sum + one.count, 0);
  if (count < LEAST_WORDS || count * 2 <= letters) return '';
  return foreign.sort((a, b) => b.count - a.count)[0].script;
}

function checkLanguageOfText(declared, tree, report) {
  const text = tree.visibleText.slice(0, READ_CHARS);
  const script = foreignScript(declared, text);
  if (script !== '') {
    report.add('languageOfText', { element: tree.html, tree, key: 'lang', message: `The mail is declared as ${languages.of(declared)}, and its text is written in ${script} letters.` });
    return;
  }
  const counts = frequencies(text);
  const [[most, count]] = [...counts].sort(([, a], [, b]) => b - a);
  if (most === declared || count < LEAST_WORDS || count < RATIO * (counts.get(declared) ?? 0)) return;
  report.add('languageOfText', { element: tree.html, tree, key: 'lang', message: `The mail is declared as ${languages.of(declared)}, and its text is ${languages.of(most)}.` });
}

/** Letters of scripts written from right to left in a text that has no such direction. */
function checkDirection(tree, report) {
  let letters = 0;
  let wrong = null;
  for (const piece of tree.texts) {
    const count = piece.value.match(RTL_LETTER)?.length ?? 0;
    letters += count;
    if (!piece.isRtl && count * 2 > (piece.value.match(/\p{L}/gu)?.length ?? 0)) wrong ??= piece.element;
  }
  if (letters === 0 && !RTL_LANGUAGES.has((attribute(tree.html, 'lang') ?? '').toLowerCase().split('-')[0])) {
    report.skip('textDirection', 'The mail has no text that is written from right to left.');
  } else if (wrong !== null) {
    report.add('textDirection', { element: wrong, tree, key: 'dir', message: 'Text that is written from right to left has no direction.' });
  }
}

export function check({ tree }, report) {
  checkTables(tree, report);
  checkHeadings(tree, report);
  checkLanguage(tree, report);
  checkDirection(tree, report);
}
