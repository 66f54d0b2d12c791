// Checks of how text is set: its size and its alignment.

import { named } from './report.mjs';

export const IDS = ['textSize', 'textJustified'];

const LEAST_PX = 14;
/** Texts of fewer letters are marks, such as the sign of a trade name. */
const LEAST_LETTERS = 3;

const lettersOf = (text) => text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;

/** One finding for each size, since a footer has many texts of one size. */
function checkSizes(tree, report) {
  const sizes = new Map();
  for (const { value, element, size } of tree.texts) {
    const letters = size < LEAST_PX - 0.01 ? lettersOf(value) : 0;
    if (letters === 0) continue;
    const px = Math.round(size * 10) / 10;
    const found = sizes.get(px) ?? { letters: 0, element };
    found.letters += letters;
    sizes.set(px, found);
  }
  for (const [px, { letters, element }] of [...sizes].sort(([a], [b]) => a - b)) {
    if (letters < LEAST_LETTERS) continue;
    report.add('textSize', { element, tree, key: `${px} px`, message: `${letters} letters have a size of ${px} px, which is under ${LEAST_PX} px.` });
  }
}

/** One finding for each element that justifies the text below it. */
function checkJustified(tree, report) {
  const found = new Set();
  for (const { value, align: { value: align, element } } of tree.texts) {
    if (align !== 'justify' || value.trim() === '' || found.has(element)) continue;
    found.add(element);
    report.add('textJustified', { element, tree, key: tree.expand(value).trim(), message: `The text ${named(tree.expand(value))} is justified.` });
  }
}

export function check({ tree }, report) {
  checkSizes(tree, report);
  checkJustified(tree, report);
}
