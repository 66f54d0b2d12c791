// Style sheets into style attributes. Each sheet that was set aside is cleaned and divided; juice applies the plain
// rules; what cannot be inlined goes back where its <style> stood. juice gets no sheet to interpret beyond those rules:
// its own handling of variables, nesting and template blocks stays out of play.

import juice from 'juice/client';

import { cleanStyleSheet, splitStyleSheet, styleSheetText } from './css.mjs';
import { LIMITS } from '../limits.mjs';

// Its template block patterns would match ordinary text; template expressions are tokens here.
for (const name of Object.keys(juice.codeBlocks)) delete juice.codeBlocks[name];

const OPTIONS = {
  preserveImportant: true,
  resolveCSSVariables: false,
  inlinePseudoElements: false,
  insertPreservedExtraCss: false,
  // The author's width, height and colour attributes are for Outlook and stay as they are.
  applyWidthAttributes: false,
  applyHeightAttributes: false,
  applyAttributesTableElements: false,
  decodeStyleAttributes: true,
};

/**
 * @param {string} html sanitised, with the sheets as tokens
 * @param {string[]} styleTokens the sheets, in document order; afterwards their fragments items hold the finished <style>
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
