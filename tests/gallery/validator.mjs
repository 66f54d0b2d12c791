// html-validate with its recommended rules, as one function.

import { HtmlValidate, StaticConfigLoader } from 'html-validate';

/** What is wrong with `html`, a line each; `rules` change the recommended set. */
export async function validateHtml(html, rules) {
  const validator = new HtmlValidate(new StaticConfigLoader({ root: true, extends: ['html-validate:recommended'], rules }));
  const { results } = await validator.validateString(html);
  return results.flatMap(({ messages }) => messages.map(({ line, ruleId, message }) => `line ${line}: ${ruleId}: ${message}`));
}
