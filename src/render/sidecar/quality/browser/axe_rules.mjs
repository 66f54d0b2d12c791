// The rules of axe-core that mails are checked by: all but those of rules_left_out.json, which names the reasons. The check of a rule is
// declared in schemas/checks/browser.json; its id is derived from that of the rule.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const axe = require('axe-core');

const read = (address) => readFileSync(new URL(address, import.meta.url), 'utf8');

/** The script that runs inside of the page. */
export const AXE_SCRIPT = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
export const AXE_VERSION = axe.version;

/** Rule → why it is left out. */
export const LEFT_OUT = new Map(Object.entries(JSON.parse(read('./rules_left_out.json'))).flatMap(([reason, rules]) => rules.map((rule) => [rule, reason])));

/** The rules that are kept, in alphabetic order. */
export const RULES = axe.getRules().map(({ ruleId }) => ruleId).filter((rule) => !LEFT_OUT.has(rule)).sort();

/** color-contrast → axeColorContrast */
export const checkOfRule = (rule) => `axe-${rule}`.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
