// CSS sanitizer for style sheets and style attributes. It removes declarations that can run code or load style sheets
// (expression(), behavior, -moz-binding, script and data addresses, @import). The rest stays as written, including client
// hacks. splitStyleSheet then separates the rules that can be inlined from those that must stay in a <style>.

import { parseCssLeniently as parseLeniently } from '#libraries/html';

import { LIMITS } from '../limits.mjs';
import { flattenNesting } from './nesting.mjs';
import { cleanUrl } from './url.mjs';
import { KIND } from './protected_fragments.mjs';

/** Tested on the text as written, and again without comments, escapes and spaces. */
const FORBIDDEN = /expression\(|(?:java|vb|live)script:|-moz-binding|@import/i;
const FORBIDDEN_PROPERTIES = /^(?:behaviou?r|-ms-behaviou?r|-moz-binding|src-script)$/i;
const PROPERTY = /^(?:--[\w-]+|[*_]?-?[a-z][a-z0-9-]*)$/i;
/** A style attribute that has only these characters and none of these words is harmless: it is kept byte for byte. */
const PLAIN_ATTRIBUTE = /^[\w\s#%.,:;()'"!+*/-]*$/;
const SUSPICIOUS_WORD = /url|expression|script|behav|binding|\/\*|image/i;

const AT_RULES = new Set(['media', 'supports', 'font-face', 'keyframes', '-webkit-keyframes', '-moz-keyframes',
  '-o-keyframes', 'page', 'container', 'layer', 'list', 'viewport', '-ms-viewport']);
/** For a value with collapsed white space. The parts of the pattern cannot match the same text, so it runs in linear time. */
const URL_FUNCTION = /url\( ?(?:"([^"]*)"|'([^']*)'|([^()"'\s]*)) ?\)/gi;

/** Selectors for the markup of a mail client. They match nothing in the document, but must not be removed as unused. */
const CLIENT_HOOK = /#outlook|\.external ?class|\.readmsgbody|#messageviewbody|\.moz-text-html|\.yshortcuts|\.gmail|\[owa\]|\[data-ogs[bc]|x-apple-data-detectors|\bu\s*[+~]|\[class[~|^$*]?=|\[style|\.apple-?links?\b|\.im\b|&/i;
const PSEUDO = /:(?!not\(|first-child|last-child|nth-child|nth-last-child|only-child|first-of-type|last-of-type)/i;
/** An expression cannot be escaped in CSS, so an expression that could end its declaration is removed. */
const UNSAFE_EXPRESSION = /^..[^]*[<;{}()\\][^]*..$/;
const UNIVERSAL_SUBJECT = /(?:^|[\s>+~])\*$/;

/** Sanitizes a style attribute; null when nothing is left. */
export function cleanStyleAttribute(value, context) {
  if (isHarmlessAttribute(value, context.fragments)) return value.trim() || null;
  if (/[{}]/.test(value)) {
    context.report.removed('css braces in a style attribute');
    value = value.replace(/[{}][\s\S]*$/, '');
  }
  if (nestsTooDeeply(value)) return refuse('css declaration', context);
  const declarations = [];
  for (const node of parseLeniently(value).nodes) {
    if (node.type === 'decl' && cleanDeclaration(node, context)) {
      declarations.push(`${node.prop}: ${node.value}${node.important ? ' !important' : ''}`);
    }
  }
  const cleaned = declarations.join('; ');
  return hidesForbidden(cleaned) ? refuse('css declaration', context) : cleaned || null;
}

function isHarmlessAttribute(value, fragments) {
  return PLAIN_ATTRIBUTE.test(value) && !SUSPICIOUS_WORD.test(value) && !namesObjectMember(value)
    && !hasUnsafeExpression(value, fragments);
}

/**
 * Sanitizes a style sheet.
 * @returns {import('postcss').Root|null} null when the whole sheet is unsafe or unreadable
 */
export function cleanStyleSheet(css, context) {
  // HTML comment delimiters are legal in a sheet (CSS Syntax §4.3.1), and would end a conditional comment.
  const source = hideTemplateTags(css.replace(/<!--|-->/g, ''), context.fragments);
  if (nestsTooDeeply(source)) {
    context.report.warn('CSS_UNREADABLE', 'A style sheet nests its brackets too deeply and was removed.');
    return refuse('style sheet', context);
  }
  const root = parseLeniently(source);
  flattenNesting(root);
  cleanNodes(root, context);
  if (hidesForbidden(root.toString())) return refuse('style sheet', context);
  return root;
}

/** Serializes a sanitized sheet. The text cannot end a <style> or a comment around it. */
export function styleSheetText(root, fragments) {
  const text = root.toString()
    .replace(/<(?=[a-z/!?])/gi, '\\3c ')
    .replace(/(?<=--!?)>/g, '\\3e ')
    .trim();
  return showTemplateTags(text, fragments);
}

/**
 * Splits a sanitized sheet. `inline` is the text of the plain rules, for the inliner. `root` keeps at-rules,
 * pseudo-classes, client hooks, and `*` rules, which inlining would copy to every element. `steps` is the number of simple
 * selectors in all plain rules: the matching work per element.
 */
export function splitStyleSheet(root) {
  const inline = [];
  let steps = 0;
  for (const rule of [...root.nodes]) {
    if (rule.type !== 'rule') continue;
    const plain = rule.selectors.filter(canBeInlined);
    if (plain.length === 0) continue;
    for (const selector of plain) steps += selector.split(/[\s>+~.#[:]+/).length;
    inline.push(rule.clone({ selectors: plain }).toString());
    const kept = rule.selectors.filter((selector) => !canBeInlined(selector));
    if (kept.length > 0) rule.selectors = kept;
    else rule.remove();
  }
  return { inline: inline.join('\n'), steps };
}

function canBeInlined(selector) {
  return !PSEUDO.test(selector) && !CLIENT_HOOK.test(selector) && !UNIVERSAL_SUBJECT.test(selector.trim());
}

function cleanNodes(container, context) {
  cleanRaws(container, context);
  container.each((node) => {
    if (keepNode(node, container, context)) cleanRaws(node, context);
    else node.remove();
  });
}

/**
 * Cleans `raws`, where the parser keeps unreadable text and the comments inside values and selectors for printing. Only
 * white space and punctuation may stay. A value keeps its comments when they hold template tags.
 */
function cleanRaws(node, { fragments }) {
  for (const [name, raw] of Object.entries(node.raws)) {
    const isValueWithTags = name === 'value' && fragments.hasTemplate(raw.raw);
    const isSpacing = typeof raw === 'boolean' || (typeof raw === 'string' && /^[\s:;]*(?:!\s*important)?$/i.test(raw));
    if (!isSpacing && !isValueWithTags) delete node.raws[name];
  }
}

function keepNode(node, container, context) {
  if (node.type === 'comment') return context.fragments.isToken(node.text);
  if (node.type === 'decl') return container.type !== 'root' && cleanDeclaration(node, context);
  return node.type === 'rule' ? keepRule(node, container, context) : keepAtRule(node, context);
}

function keepRule(rule, container, context) {
  if (container.type === 'rule') {
    context.report.warn('CSS_NESTING', 'Nested style rules were removed: mail clients do not understand them.');
    return refuse('css nested rule', context);
  }
  const tooComplex = rule.selectors.some((selector) => selector.length > LIMITS.selectorChars
    || selector.split('(').length - 1 > LIMITS.selectorParens);
  if (tooComplex) return refuse('css rule', context);
  cleanNodes(rule, context);
  return rule.nodes.length > 0;
}

function keepAtRule(rule, context) {
  const name = rule.name.toLowerCase();
  if (name === 'import') {
    context.report.warn('CSS_IMPORT', 'An imported style sheet was removed; put its rules into the email itself.');
    return refuse('css @import', context);
  }
  if (name === 'charset') return false;
  if (!AT_RULES.has(name) || !rule.nodes) return refuse('css at-rule', context);
  cleanNodes(rule, context);
  return rule.nodes.length > 0;
}

/** Sanitizes one declaration in place; false when it must be removed. */
function cleanDeclaration(declaration, context) {
  const { prop, value } = declaration;
  if (!PROPERTY.test(prop) || prop in Object.prototype || FORBIDDEN_PROPERTIES.test(prop) || hidesForbidden(value)) {
    return refuse('css declaration', context);
  }
  if (hasUnsafeExpression(declaration.toString(), context.fragments)) {
    context.report.warn('TEMPLATE_IN_CSS', 'A template expression with brackets or semicolons stood in CSS and was removed.');
    return refuse('css declaration', context);
  }
  if (/url\(/i.test(unescapeCss(value)) && !cleanUrls(declaration, context)) return refuse('css declaration', context);
  return true;
}

function cleanUrls(declaration, context) {
  let refused = false;
  let seen = 0;
  const folded = declaration.value.replace(/\s+/g, ' ');
  const value = folded.replace(URL_FUNCTION, (whole, double, single, bare) => {
    seen++;
    const address = unescapeCss(double ?? single ?? bare ?? '');
    const url = cleanUrl(address, 'image', context);
    refused ||= url === null || /["'()\\\s]/.test(url);
    const quote = double !== undefined ? '"' : '\'';
    return url === address ? whole : `url(${quote}${url}${quote})`;
  });
  // A url( that the pattern did not match (escaped letters, a missing parenthesis) refuses the declaration.
  const complete = seen === unescapeCss(declaration.value).split(/url\(/i).length - 1;
  if (value !== folded) declaration.value = value;
  return complete && !refused;
}

function hidesForbidden(text) {
  if (FORBIDDEN.test(text)) return true;
  return FORBIDDEN.test(stripComments(unescapeCss(text)).replace(/\s+/g, ''));
}

function stripComments(css) {
  let stripped = '';
  let from = 0;
  for (let open = css.indexOf('/*'); open >= 0; open = css.indexOf('/*', from)) {
    stripped += css.slice(from, open);
    const close = css.indexOf('*/', open + 2);
    if (close < 0) return stripped;
    from = close + 2;
  }
  return stripped + css.slice(from);
}

/** Decodes CSS escapes (CSS Syntax §4.3.7): `\65xpression(` becomes `expression(`. */
export function unescapeCss(text) {
  if (!text.includes('\\')) return text;
  return text.replace(/\\(?:([0-9a-f]{1,6})\s?|(\r\n|[\s\S]))/gi, (_, hex, char) => {
    if (char !== undefined) return /[\r\n\f]/.test(char) ? '' : char;
    const code = Number.parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
  });
}

/** True for property names such as `constructor`. juice uses property names as keys of a plain object. */
function namesObjectMember(value) {
  return [...value.matchAll(/(?<![\w-])([\w-]+)\s*:/g)].some(([, name]) => name in Object.prototype);
}

function hasUnsafeExpression(text, fragments) {
  return fragments.expressionsIn(text).some((expression) => UNSAFE_EXPRESSION.test(expression));
}

/** True when the bracket depth would make parsing quadratic or the stack too deep. */
function nestsTooDeeply(css) {
  let braces = 0;
  let parens = 0;
  for (let i = 0; i < css.length; i++) {
    const code = css.charCodeAt(i);
    if (code === 0x7b && ++braces > LIMITS.cssBraces) return true;
    if (code === 0x28 && ++parens > LIMITS.cssParens) return true;
    if (code === 0x7d && braces > 0) braces--;
    if (code === 0x29 && parens > 0) parens--;
  }
  return false;
}

// A parser would read `{% if … %}` between rules as part of a selector. As a comment it keeps its position.
function hideTemplateTags(css, fragments) {
  return css.includes(fragments.prefix)
    ? css.replace(fragments.templateTokens, (token) => (fragments.item(token).kind === KIND.tag ? `/*${token}*/` : token)) : css;
}

function showTemplateTags(css, fragments) {
  if (!css.includes(fragments.prefix)) return css;
  const bare = css.replace(/\/\*\s*([a-z0-9]+)\s*\*\//g, (comment, text) => (fragments.isToken(text) ? text : comment));
  return bare.replace(fragments.templateTokens, (token) => (hasUnsafeExpression(token, fragments) ? '' : fragments.expand(token)));
}

function refuse(what, { report }) {
  report.removed(what);
  return null;
}
