// What runs inside of a shown mail: axe-core and our own measures in one view after another, and what they found in all of them. A fault
// of an element is one finding, whatever the number of views. The function is self-contained.

/* eslint-disable no-undef -- axe, document and the DOM are those of the page */
/**
 * @param {{measure: Function, invertColour: Function, rules: {rule: string, check: string}[], findingsMax: number, sourceChars: number,
 *   textsMax: number, textCharsMax: number}} tools
 */
export function checksInPage({ measure, invertColour, rules, findingsMax, sourceChars, textsMax, textCharsMax }) {
  /** Check → {found: Map of element → finding, passes, undecided: elements that axe-core could not judge, reason}. */
  const results = new Map();
  const checks = new Map(rules.map(({ rule, check }) => [rule, check]));
  const order = new Map([...document.querySelectorAll('*')].map((element, at) => [element, at]));
  const resultOf = (check) => {
    if (!results.has(check)) results.set(check, { found: new Map(), passes: 0, undecided: new Set(), reason: null });
    return results.get(check);
  };

  /** Of a large element only the tag and the beginning of its text. */
  function sourceOf(element) {
    const tag = element.cloneNode(false).outerHTML;
    const open = tag.endsWith(`</${element.localName}>`) ? tag.slice(0, -element.localName.length - 3) : tag;
    if (open.length >= sourceChars || open === tag) return open.slice(0, sourceChars);
    const isSmall = element.getElementsByTagName('*').length < 20;
    return (isSmall ? element.outerHTML : open + element.textContent.slice(0, sourceChars)).slice(0, sourceChars);
  }

  /** Findings without a selector. Only those that may be told get one: the first of each view, since the views are merged. */
  let unnamed = [];

  function note(check, view, list) {
    const { found } = resultOf(check);
    list.sort((one, other) => order.get(one.element) - order.get(other.element));
    list.forEach(({ element, text, impact = null, key = null }, at) => {
      if (!found.has(element)) found.set(element, { views: 0, text, impact, key, selector: null, source: null });
      const finding = found.get(element);
      finding.views |= view.bit;
      if (at < findingsMax && finding.source === null) {
        finding.source = sourceOf(element);
        unnamed.push([element, finding]);
      }
    });
  }

  /** Needs the tree of axe-core. */
  function nameFindings() {
    for (const [element, finding] of unnamed) finding.selector = axe.utils.getSelector(element);
    unnamed = [];
  }

  /** Contrast is by far the dearest rule, so a view has it for its first texts only. */
  const contrast = { texts: 0, chars: 0, left: 0 };

  function boundContrast() {
    const rule = axe._audit.rules.find(({ id }) => id === 'color-contrast');
    const { matches } = rule;
    const ownChars = (element) => [...element.childNodes].reduce((sum, node) => sum + (node.nodeType === Node.TEXT_NODE ? node.data.trim().length : 0), 0);
    rule.matches = function isJudged(element, ...more) {
      if (!element.checkVisibility()) return false;
      const chars = ownChars(element);
      if (contrast.texts >= textsMax || contrast.chars + chars > textCharsMax) {
        contrast.left += chars > 0 ? 1 : 0;
        return false;
      }
      if (!matches.call(this, element, ...more)) return false;
      contrast.texts++;
      contrast.chars += chars;
      return true;
    };
  }

  const elementOf = ({ node }) => node.element ?? node._element;
  const sentence = (text) => text.trim().replace(/\.$/, '');

  function contrastText({ fgColor, bgColor, contrastRatio, expectedContrastRatio }) {
    return `The contrast of ${fgColor} on ${bgColor} is ${contrastRatio}:1 instead of ${expectedContrastRatio}`;
  }

  function textOf({ any, all, none }) {
    const data = any.find(({ id }) => id === 'color-contrast')?.data;
    if (data?.fgColor && data.bgColor) return contrastText(data);
    return [...new Set([...none, ...all, ...any].map(({ message }) => sentence(message)))].join('; ');
  }

  const colourOf = (hex) => ({ r: Number.parseInt(hex.slice(1, 3), 16), g: Number.parseInt(hex.slice(3, 5), 16), b: Number.parseInt(hex.slice(5, 7), 16) });
  const hexOf = ({ r, g, b }) => `#${[r, g, b].map((value) => value.toString(16).padStart(2, '0')).join('')}`;

  /** The contrast ratio of WCAG 2, 1 to 21. */
  function contrastOf(one, other) {
    const linear = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    const luminance = ({ r, g, b }) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  }

  /** Texts that can be read as they are designed, and not where a mail client forces a dark appearance. */
  function noteInverted(view, passes) {
    const result = resultOf('contrastInverted');
    const known = new Map();
    const verdict = (ink, ground, expected) => {
      const forms = [['all colours', 'full', 'full'], ['light backgrounds and dark texts', 'text', 'background']]
        .map(([what, ofInk, ofGround]) => ({ what, newInk: invertColour(ink, ofInk), newGround: invertColour(ground, ofGround) }));
      const poor = forms.find(({ newInk, newGround }) => contrastOf(newInk, newGround) < expected);
      if (poor === undefined) return null;
      const ratio = Math.floor(100 * contrastOf(poor.newInk, poor.newGround)) / 100;
      return `The contrast becomes ${ratio}:1 instead of ${expected}:1 where a mail client inverts ${poor.what}: ${hexOf(poor.newInk)} on ${hexOf(poor.newGround)}`;
    };
    const list = [];
    for (const pass of passes) {
      const data = pass.any.find(({ id }) => id === 'color-contrast')?.data;
      if (!data?.fgColor || !data.bgColor) continue;
      result.passes++;
      const key = `${data.fgColor} ${data.bgColor} ${data.expectedContrastRatio}`;
      if (!known.has(key)) known.set(key, verdict(colourOf(data.fgColor), colourOf(data.bgColor), Number.parseFloat(data.expectedContrastRatio)));
      if (known.get(key) !== null) list.push({ element: elementOf(pass), text: known.get(key) });
    }
    note('contrastInverted', view, list);
  }

  function noteRule(view, { id, violations, passes, incomplete }) {
    const result = resultOf(checks.get(id));
    result.passes += passes.length;
    for (const node of incomplete) result.undecided.add(elementOf(node));
    if (id === 'color-contrast' && contrast.left > 0) result.reason = `Only ${contrast.texts} of ${contrast.texts + contrast.left} texts were judged.`;
    note(checks.get(id), view, violations.map((node) => ({ element: elementOf(node), text: textOf(node), impact: node.impact })));
    if (id === 'color-contrast' && view.scheme === 'light') noteInverted(view, passes);
  }

  function noteMeasures(view) {
    for (const { check, list, isApplicable, reason = null } of measure(view)) {
      const result = resultOf(check);
      if (isApplicable) result.passes++;
      result.reason ??= reason;
      note(check, view, list);
    }
  }

  /** Animations and transitions are at their end, and endless ones have not begun: so the same mail looks the same each time. */
  function endAnimations() {
    for (const animation of document.getAnimations()) {
      try {
        animation.finish();
      } catch {
        animation.cancel();
      }
    }
  }

  /** axe-core deletes its tree of the page when it is done, so the selectors are made before. */
  function runAxe(view) {
    const reporter = (raw, options, done) => {
      raw.forEach((rule) => noteRule(view, rule));
      noteMeasures(view);
      nameFindings();
      done([]);
    };
    Object.assign(contrast, { texts: 0, chars: 0, left: 0 });
    return axe.run(document, { runOnly: { type: 'rule', values: [...checks.keys()] }, preload: false, iframes: false, reporter });
  }

  function runMeasures(view) {
    noteMeasures(view);
    if (unnamed.length === 0) return;
    axe.setup(document);
    nameFindings();
    axe.teardown();
  }

  async function checkView(view) {
    endAnimations();
    if (view.hasAxe) await runAxe(view);
    else runMeasures(view);
  }

  /**
   * What an element is in the next version as well: its name, its beginning and its picture. Its place may change, and so do the addresses
   * of links, which are made for each contact.
   */
  function identityOf(element) {
    const text = (element.textContent.slice(0, 1000).trim() || element.getAttribute('alt') || '').replace(/\s+/g, ' ').slice(0, 120);
    return [element.localName, text, (element.getAttribute('src') ?? '').slice(-120)].filter((part) => part !== '').join(' ');
  }

  /** Gives each finding its key; equal elements are counted. */
  function keyed(findings) {
    const seen = new Map();
    return findings.map(([element, finding]) => {
      const identity = finding.key ?? identityOf(element);
      const count = (seen.get(identity) ?? 0) + 1;
      seen.set(identity, count);
      return { ...finding, key: count === 1 ? identity : `${identity} #${count}` };
    });
  }

  function report() {
    return [...results].map(([check, { found, passes, undecided, reason }]) => {
      const findings = keyed([...found].sort(([one], [other]) => order.get(one) - order.get(other)).slice(0, findingsMax));
      return { check, findings, more: found.size - findings.length, passes, reason, undecided: [...undecided].filter((element) => !found.has(element)).length };
    });
  }

  boundContrast();
  return { checkView, report };
}
/* eslint-enable no-undef */
