// Checks of the plain text: it is there, and it says what the HTML says. Words and numbers are compared, in any order.

import { fold } from './mail_tree.mjs';
import { WORD_LETTER } from './words.mjs';

export const IDS = ['textMissing', 'textDiffers'];

const ADDRESS = /<?\b(?:https?|mailto|tel):[^\s<>]*>?|\bwww\.\S+/gi;
const LEAST_WORDS = 20;
const LEAST_SHARE = 0.5;
const NAMED_NUMBERS = 3;

const WORD = new RegExp(`[${WORD_LETTER}]|\\p{L}{3,}`, 'gu');

const wordsOf = (text) => new Set(text.toLowerCase().match(WORD) ?? []);
/** Numbers of two digits and more: dates, prices, discounts. */
const numbersOf = (text) => new Set((text.match(/\d+(?:[.,:]\d+)*/g) ?? []).map((number) => number.replace(/[.,:](?=\d{3}\b)/g, '')).filter((number) => /\d.*\d/.test(number)));

const without = (left, right) => [...left].filter((one) => !right.has(one));

function checkWords(html, text, report) {
  const [inHtml, inText] = [wordsOf(html), wordsOf(text)];
  const compare = (from, to, what, where) => {
    if (from.size < LEAST_WORDS) return;
    const missing = without(from, to).length;
    const share = 1 - missing / from.size;
    if (share < LEAST_SHARE) report.add('textDiffers', { key: what, message: `${Math.round(share * 100)} percent of the words of ${what} are in ${where}.` });
  };
  compare(inHtml, inText, 'the HTML', 'the plain text');
  compare(inText, inHtml, 'the plain text', 'the HTML');
}

/** One part says 20 where the other says 25. */
function checkNumbers(html, text, report) {
  const [inHtml, inText] = [numbersOf(html), numbersOf(text)];
  const [onlyHtml, onlyText] = [without(inHtml, inText), without(inText, inHtml)];
  if (onlyHtml.length === 0 || onlyText.length === 0) return;
  const list = (numbers) => numbers.slice(0, NAMED_NUMBERS).join(', ');
  report.add('textDiffers', { key: 'numbers', message: `Only the HTML has ${list(onlyHtml)}, and only the plain text ${list(onlyText)}.` });
}

export function check({ shown, text }, report) {
  const plain = fold((text ?? '').replace(ADDRESS, ' '));
  if (plain === '') {
    report.add('textMissing', { key: 'text', message: 'The mail has no plain text.' });
    report.skip('textDiffers', 'The mail has no plain text.');
    return;
  }
  const alternatives = shown.images.map(({ alt }) => alt ?? '').join('\n');
  const html = `${shown.expand(shown.markedText)}\n${alternatives}\n${shown.preheader}`.replace(ADDRESS, ' ');
  checkWords(html, plain, report);
  checkNumbers(html, plain, report);
}
