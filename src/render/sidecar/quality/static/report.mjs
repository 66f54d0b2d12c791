// The report of an engine of checks. Each check ends once: as passed, with findings, or as not applicable. A check keeps its first 50 findings and counts
// the rest. The place of a finding is written only for those that are kept, so a mail full of faults costs no more than another.

import { attribute, isElement } from '../../html/document.mjs';
import { quote } from '../../errors.mjs';

const MAX_FINDINGS = 50;
const SOURCE_CHARS = 200;
const SELECTOR_CHARS = 300;
const SEPARATOR = ' > ';
const PLAIN_ID = /^[a-z][\w-]{0,60}$/i;

/** At most `max` characters. A surrogate pair is never split. */
export function clip(text, max) {
  const part = text.slice(0, max * 2);
  const chars = [...part];
  return chars.length <= max && part.length === text.length ? text : `${chars.slice(0, max - 1).join('')}…`;
}

/** A text of the mail in a message: in quotation marks, on one line. */
export const named = (text, max = 60) => `“${clip(quote(text), max)}”`;

function stepOf(element) {
  const { tagName, parentNode } = element;
  const alike = (parentNode?.childNodes ?? []).filter((node) => node.tagName === tagName);
  return alike.length > 1 ? `${tagName}:nth-of-type(${alike.indexOf(element) + 1})` : tagName;
}

/** A CSS selector of the element: from the root, from the nearest element with an id, or from as far up as its length allows. */
export function selectorOf(element) {
  const steps = [];
  let chars = 0;
  for (let node = element; node && isElement(node); node = node.parentNode) {
    const id = attribute(node, 'id');
    const step = id !== null && PLAIN_ID.test(id) ? `#${id}` : stepOf(node);
    chars += step.length + SEPARATOR.length;
    if (chars > SELECTOR_CHARS) break;
    steps.unshift(step);
    if (step.startsWith('#')) break;
  }
  return steps.join(SEPARATOR);
}

/** The beginning of the source of an element: its tag with the attributes, and its text. */
export function sourceOf(element, tree) {
  let source = `<${element.tagName}`;
  for (const { name, value } of element.attrs) {
    if (source.length > SOURCE_CHARS) break;
    source += ` ${name}="${tree.expand(value.slice(0, SOURCE_CHARS * 20))}"`;
  }
  source += '>';
  const [first] = element.childNodes ?? [];
  if (first?.nodeName === '#text') source += tree.expand(first.value.slice(0, SOURCE_CHARS * 20)).trim();
  return clip(source.toWellFormed(), SOURCE_CHARS);
}

export class CheckReport {
  #checks = new Map();

  /** @param {string[]} ids of all checks; those without findings have passed */
  constructor(ids) {
    for (const id of ids) this.#checks.set(id, { status: 'passed', reason: null, findings: [], more: 0, keys: new Map() });
  }

  /** Nothing in this mail can have the fault, or it cannot be told. */
  skip(id, reason) {
    Object.assign(this.#checks.get(id), { status: 'not_applicable', reason });
  }

  /**
   * Adds a finding.
   * @param {string} id of the check
   * @param {{message: string, severity?: string, key: string, element?: object, tree?: object, source?: string}} finding `severity`
   *   only where it differs from that of the check; `key` is what stays when the mail is edited elsewhere; `element` is the place
   *   in `tree`
   */
  add(id, { message, severity, key, element, tree, source }) {
    const check = this.#checks.get(id);
    check.status = 'issues';
    if (check.findings.length === MAX_FINDINGS) {
      check.more++;
      return;
    }
    const count = (check.keys.get(key) ?? 0) + 1;
    check.keys.set(key, count);
    const finding = { message };
    if (severity) finding.severity = severity;
    if (element) Object.assign(finding, { selector: selectorOf(element), source: sourceOf(element, tree) });
    if (source !== undefined) finding.source = clip(source.toWellFormed(), SOURCE_CHARS);
    finding.key = clip(count > 1 ? `${key} (${count})` : key, SOURCE_CHARS);
    check.findings.push(finding);
  }

  /** The member `checks` of a report. */
  toResult() {
    return [...this.#checks].map(([id, { status, reason, findings, more }]) => ({ id, status, ...(reason === null ? {} : { reason }), findings, more }));
  }
}
