// CSS inliner: turns style sheets into style attributes. Each protected sheet is sanitized and split. juice applies the
// plain rules; the rest goes back to the position of its <style>. juice gets only the plain rules, so its own handling of
// variables, nesting and template blocks is not used.

import { juice } from '#libraries/html';

import { cleanStyleSheet, splitStyleSheet, styleSheetText } from './css.mjs';
import { LIMITS } from '../limits.mjs';

// The template block patterns of juice would match ordinary text. Template expressions are already tokens here.
for (const name of Object.keys(juice.codeBlocks)) delete juice.codeBlocks[name];

const OPTIONS = {
  preserveImportant: true,
  resolveCSSVariables: false,
  inlinePseudoElements: false,
  insertPreservedExtraCss: false,
  // The width, height and colour attributes of the source are for Outlook and stay unchanged.
  applyWidthAttributes: false,
  applyHeightAttributes: false,
  applyAttributesTableElements: false,
  decodeStyleAttributes: true,
};

/**
 * @param {string} html sanitized HTML, with the sheets as tokens
 * @param {string[]} styleTokens the sheets, in document order; afterwards their fragments hold the finished <style>
 * @returns {string} the HTML with styles inlined
 */
export function inlineStyles(html, styleTokens, elementCount, context) {
  const { fragments, report } = context;
  const plain = [];
  let steps = 0;
  for (const token of styleTokens) {
    const item = fragments.item(token);
    const { css, media, inSection } = item.value;
    const root = cleanStyleSheet(css, context);
    if (root && media === null && !inSection && !fragments.hasTemplate(css)) {
      const split = root.clone();
      const { inline, steps: count } = splitStyleSheet(split);
      plain.push({ item, whole: root, rest: split, inline });
      steps += count;
    } else {
      item.value = { html: root ? styleElement(root, media, fragments) : '' };
    }
  }
  const affordable = steps * elementCount <= LIMITS.inliningWork;
  if (!affordable) report.warn('CSS_NOT_INLINED', 'The style sheets have too many rules for a document of this size and were left in place.');
  for (const { item, whole, rest } of plain) item.value = { html: styleElement(affordable ? rest : whole, null, fragments) };
  const css = plain.map(({ inline }) => inline).join('\n');
  return affordable && css.trim() !== '' ? juice.inlineContent(html, css, OPTIONS) : html;
}

function styleElement(root, media, fragments) {
  const css = styleSheetText(root, fragments);
  if (css === '') return '';
  return media === null ? `<style>${css}</style>` : `<style media="${media}">${css}</style>`;
}
