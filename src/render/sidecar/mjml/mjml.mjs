// Converts MJML to HTML with the mjml package. Includes, configuration files and third-party components are off, so
// nothing is read from disk. Source that mjml would silently drop or misread is an error with its line number: unknown
// elements, mj-include, and template tags between elements, where MJML drops text.

import { createHash } from 'node:crypto';

import { components, mjml2html, parseMjml } from '#libraries/mjml';

import { importFailed, quote } from '../errors.mjs';
import { templatesIn } from '../html/template.mjs';
import { LIMITS } from '../limits.mjs';
import { keptPreset } from './kept_parts.mjs';

/** Without a file path mjml does not look into the file system at all. */
const OPTIONS = { ignoreIncludes: true, filePath: '', actualPath: '', keepComments: false, minify: false, beautify: false,
  useMjmlConfigOptions: false, validationLevel: 'soft', preprocessors: [] };

const COMMENT = /<!--[^]*?(?:-->|$)/g;
/** The name is taken as a whole: otherwise a long name without an end would be tried in all its lengths. */
const MJML_TAG = /<(\/?)(mjml|mj-[\w-]+(?![\w-]))((?:[^<>"']|"[^"]*"|'[^']*')*)>/gi;

/** Elements that mjml accepts although they are not components. */
const NOT_COMPONENTS = new Set(['mjml', 'mj-all', 'mj-class', 'mj-selector', 'mj-html-attribute']);
const HAS_TEXT = 'mj-html-attribute';

/**
 * @param {string} source
 * @param {import('./kept_parts.mjs').Kept|null} kept for a source of our own: what is known of its <mj-kept> elements. Such a source is not
 *   validated by mjml.
 * @returns {Promise<{html: string, warnings: {code: string, message: string}[]}>}
 */
export async function renderMjml(source, kept = null) {
  const mask = new TemplateMask(source.toWellFormed().replace(/^\ufeff/, ''));
  checkTags(mask.text);
  const preset = kept === null ? null : keptPreset(kept, mask);
  const tree = parse(mask.text);
  const lostTextLine = new TreeCheck(mask, preset?.components ?? []).run(tree);
  const { html, errors } = await render(tree, mask, preset);
  if (html.length > LIMITS.contentChars) throw importFailed('The MJML grows too large when it is rendered.');
  return { html: mask.restore(html), warnings: warningsOf(errors, lostTextLine, mask) };
}

/**
 * Replaces template expressions by words without meaning to mjml, and restores them afterwards for the HTML pipeline. Line
 * breaks of an expression stay after its word, so that line numbers match the source.
 */
class TemplateMask {
  #expressions = [];

  constructor(source) {
    this.nonce = createHash('sha256').update(source).digest('hex').slice(0, 20);
    this.words = new RegExp(`m${this.nonce}x(\\d+)m`, 'g');
    this.text = this.#masked(source);
  }

  /** Takes one pass, in linear time: the lines are counted on the way. */
  #masked(source) {
    let masked = '';
    let copied = 0;
    let line = 1;
    for (const { start, end } of templatesIn(source)) {
      const before = source.slice(copied, start);
      const raw = source.slice(start, end);
      const breaks = breaksOf(raw);
      line += breaksOf(before).length;
      masked += before + this.#wordOf(raw, line) + breaks;
      line += breaks.length;
      copied = end;
    }
    return masked + source.slice(copied);
  }

  restore(text) {
    return text.replace(this.words, (_, i) => this.#expressions[i].raw);
  }

  /** The text without words: [text, expression, text, …]. */
  split(text) {
    return text.split(this.words).map((part, i) => (i % 2 === 0 ? part : this.#expressions[part].raw));
  }

  /** The text that `split`, also that of another mask, has divided. */
  join(parts) {
    return parts.map((part, i) => (i % 2 === 0 ? part : this.#wordOf(part))).join('');
  }

  #wordOf(raw, line = null) {
    this.#expressions.push({ raw, line });
    return `m${this.nonce}x${this.#expressions.length - 1}m`;
  }

  /** The first expression in a text: { raw, line }, or null. */
  firstIn(text) {
    const [found] = text.matchAll(this.words);
    return found ? this.#expressions[found[1]] : null;
  }
}

/**
 * Errors that the mjml parser does not report: a skipped include, and an unclosed element, which loses its content. The
 * limits are checked before parsing, because that parser takes quadratic time.
 */
function checkTags(text) {
  const plain = text.replace(COMMENT, (comment) => comment.replace(/[^\n]/g, ' '));
  if ((plain.match(/<[a-z]/gi) ?? []).length > LIMITS.elements) throw importFailed(`The MJML has more than ${LIMITS.elements} elements.`);
  const open = [];
  const at = (index) => `Line ${lineAt(plain, index)}`;
  for (const { 1: closes, 2: written, 3: rest, index } of plain.matchAll(MJML_TAG)) {
    const name = written.toLowerCase();
    if (name === 'mj-include') {
      throw importFailed(`${at(index)}: mj-include is not available; an import is one file, so put the included MJML there.`);
    }
    if (closes === '') {
      if (!rest.endsWith('/')) open.push({ name, index });
      if (open.length > LIMITS.mjmlDepth) throw importFailed(`${at(index)}: the MJML is nested deeper than ${LIMITS.mjmlDepth} elements.`);
      continue;
    }
    const opened = open.pop();
    if (opened?.name !== name) {
      throw importFailed(`${at(index)}: </${quote(name)}> has no matching start tag${opened ? `; <${quote(opened.name)}> of line ${lineAt(plain, opened.index)} is open there` : ''}.`);
    }
  }
  if (open.length > 0) throw importFailed(`${at(open.at(-1).index)}: <${quote(open.at(-1).name)}> is never closed.`);
}

function parse(text) {
  if (!/<mjml[\s>]/i.test(text)) {
    throw importFailed('The MJML has no <mjml> element; it must begin with <mjml> and contain <mj-body>.');
  }
  try {
    return parseMjml(text, { ...OPTIONS, components });
  } catch {
    throw importFailed('The MJML could not be read; check that it is nested properly.');
  }
}

/** Checks the element tree of the mjml parser. */
class TreeCheck {
  #count = 0;
  #lostTextLine = null;

  constructor(mask, more) {
    this.mask = mask;
    this.components = { ...components, ...Object.fromEntries(more.map((component) => [component.getTagName(), component])) };
  }

  /** The line of the first element whose text mjml drops, or null. */
  run(tree) {
    this.#element(tree);
    if (tree.tagName !== 'mjml' || !tree.children?.some(({ tagName }) => tagName === 'mj-body')) {
      throw importFailed('The MJML has no <mj-body> in its <mjml>.');
    }
    return this.#lostTextLine;
  }

  #element({ tagName, line, content = '', attributes = {}, children = [] }) {
    if (++this.#count > LIMITS.mjmlElements) throw importFailed(`The MJML has more than ${LIMITS.mjmlElements} elements.`);
    const component = this.components[tagName];
    if (!component && !NOT_COMPONENTS.has(tagName)) {
      throw importFailed(`Line ${line}: <${quote(this.mask.restore(tagName))}> is not an MJML element; put HTML into mj-text or mj-raw.`);
    }
    this.#refuseTemplate(Object.keys(attributes).join(' '), 'is inside a tag but outside an attribute value');
    if (!component?.endingTag && tagName !== HAS_TEXT && content !== '') {
      this.#refuseTemplate(content, 'is between MJML elements, where MJML drops text; put it into mj-text or mj-raw');
      this.#lostTextLine ??= line;
    }
    for (const child of children) this.#element(child);
  }

  #refuseTemplate(text, why) {
    const expression = this.mask.firstIn(text);
    if (expression) throw importFailed(`Line ${expression.line}: ${quote(expression.raw)} ${why}.`);
  }
}

/**
 * Runs mjml with a random generator that is seeded from the source: mjml uses random names (of carousels and menus), and
 * equal sources must give equal bytes.
 */
async function render(tree, { text, nonce }, preset) {
  const { random } = Math;
  let state = Number.parseInt(nonce.slice(0, 8), 16);
  Math.random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0; // the generator of Numerical Recipes, sufficient for names
    return state / 2 ** 32;
  };
  try {
    // By default mjml links to style sheets of web fonts, which an import removes. The object is new because mjml modifies it.
    const options = preset === null ? OPTIONS : { ...OPTIONS, presets: [preset], validationLevel: 'skip' };
    return await mjml2html(tree, { ...options, fonts: {} });
  } catch (error) {
    if (error instanceof RangeError) throw importFailed('The MJML is nested too deeply to be rendered.');
    throw await whyNotRendered(text);
  } finally {
    Math.random = random;
  }
}

/** mjml throws an unclear error for an element in a wrong place. Its validator gives the line. */
async function whyNotRendered(text) {
  const { errors = [] } = await mjml2html(text, { ...OPTIONS, fonts: {}, validationLevel: 'strict' }).catch((error) => error);
  if (errors.length === 0) return importFailed('The MJML could not be rendered; mjml gives no reason.');
  return importFailed(`${errorText(errors[0])}.`);
}

function errorText({ line, tagName, message }) {
  return `Line ${line}: ${quote(`${tagName}: ${message}`)}`;
}

function warningsOf(errors, lostTextLine, mask) {
  const warnings = [];
  if (errors?.length > 0) {
    const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
    warnings.push({ code: 'MJML_INVALID', message: `${mask.restore(errorText(errors[0]))}${more}.` });
  }
  if (lostTextLine !== null) {
    warnings.push({
      code: 'MJML_TEXT_LOST',
      message: `MJML drops the text directly inside the element in line ${lostTextLine}; put it into mj-text or mj-raw.`,
    });
  }
  return warnings;
}

function lineAt(text, index) {
  return breaksOf(text.slice(0, index)).length + 1;
}

/** The line breaks of a text. */
function breaksOf(text) {
  return text.replace(/[^\n]+/g, '');
}
