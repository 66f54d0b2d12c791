// Finds template expressions and placeholders, `{{ … }}` and `{% … %}`, in the source before an HTML parser reads it. The
// parser would read their quotes and comparison signs as markup. The sidecar does not evaluate expressions.

import { decodeHTMLStrict } from '#libraries/html';

import { isComment, isText, walk } from './document.mjs';
import { importFailed } from '../errors.mjs';
import { LIMITS } from '../limits.mjs';
import { KIND } from './protected_fragments.mjs';

const DELIMITER = /\{\{|\{%|\}\}|%\}/g;
const CLOSES = { '{{': '}}', '{%': '%}' };
const QUOTED = /"[^"]*"|'[^']*'/g;
const MARKUP = /<[a-z/!?]/i;

/** Replaces every template expression of `source` by a token of `fragments`. It takes one pass, in linear time. */
export function maskTemplates(source, fragments, report) {
  let masked = '';
  let copied = 0;
  let count = 0;
  for (const { start, end, kind, value } of templatesIn(source, report)) {
    if (++count > LIMITS.expressions) {
      throw importFailed(`The content has more than ${LIMITS.expressions} template expressions.`);
    }
    masked += source.slice(copied, start) + fragments.put(kind, value);
    copied = end;
  }
  return masked + source.slice(copied);
}

/** The template expressions of a source in order: {start, end, kind, value}. It takes one pass, in linear time. */
export function* templatesIn(source, report = null) {
  let open = null;
  for (const { 0: delimiter, index } of source.matchAll(DELIMITER)) {
    if (delimiter in CLOSES) {
      open = { delimiter, index };
      continue;
    }
    if (!open || CLOSES[open.delimiter] !== delimiter) continue;
    const raw = source.slice(open.index, index + 2);
    if (isExpression(raw, report)) {
      const kind = open.delimiter === '{{' ? KIND.output : KIND.tag;
      yield { start: open.index, end: index + 2, kind, value: readExpression(raw) };
    }
    open = null;
  }
}

/** False for braces with markup inside, such as the <span> of an editor around half of a name. The parser reads such text. */
function isExpression(raw, report) {
  if (raw.length > LIMITS.expressionChars) return false;
  if (!MARKUP.test(raw.replace(QUOTED, ''))) return true;
  report?.warn('TEMPLATE_MARKUP', 'A template expression contains markup inside its braces and was left as plain text.');
  return false;
}

/** The text of an expression: character references are decoded, and no-break spaces of editors become spaces. */
function readExpression(raw) {
  return decodeHTMLStrict(raw).replaceAll('\u00a0', ' ');
}

/** The tag name of a `{% … %}`, or "". */
export function tagName(expression) {
  return /^\{%-?\s*(#|[a-z]+)/i.exec(expression)?.[1] ?? '';
}

const BLOCKS = new Set(['if', 'unless', 'for', 'case', 'capture', 'comment', 'raw']);

/**
 * The tokens that the plain text needs from a part of the document that it leaves out: assignments with the conditions
 * around them, and tags that begin or end a block that continues outside the part. Other tags have no effect on the text.
 * @returns {string} tokens, with the text of captures between them
 */
export function tagsToKeep(node, fragments) {
  const blocks = [newBlock('')];
  for (const piece of piecesOf(node, fragments)) {
    const block = blocks.at(-1);
    const name = piece.isTag ? tagName(piece.value) : null;
    if (name === null) {
      if (blocks.some(({ captures }) => captures)) block.text += piece.text;
    } else if (BLOCKS.has(name)) {
      blocks.push(newBlock(piece.text, name === 'capture'));
    } else if (name.startsWith('end') && blocks.length > 1) {
      const outer = blocks.at(-2);
      blocks.pop();
      if (block.assigns) {
        outer.text += block.text + piece.text;
        outer.assigns = true;
      }
    } else {
      block.text += piece.text;
      block.assigns ||= name === 'assign';
    }
  }
  return blocks.map(({ text }) => text).join('');
}

function newBlock(text, captures = false) {
  return { text, captures, assigns: captures };
}

/** The text and expressions below a node, in document order. */
function piecesOf(node, fragments) {
  const pieces = [];
  walk(node, (child) => {
    if (isText(child)) pieces.push(...piecesOfText(child.value, fragments));
    else if (isComment(child) && fragments.isToken(child.data) && fragments.hasTemplate(child.data)) pieces.push(...piecesOfText(child.data, fragments));
  });
  return pieces;
}

/** @returns {{text: string, isTag: boolean, value?: string}[]} */
function piecesOfText(text, fragments) {
  const pieces = [];
  let from = 0;
  for (const { 0: token, index } of text.matchAll(fragments.templateTokens)) {
    if (index > from) pieces.push({ text: text.slice(from, index), isTag: false });
    const { kind, value } = fragments.item(token);
    pieces.push({ text: token, isTag: kind === KIND.tag, value });
    from = index + token.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), isTag: false });
  return pieces;
}

/**
 * Joins each line that has only tags to the next line with content, so that it leaves no empty line when it is filled in.
 * A loop around paragraphs then repeats the paragraphs and the space between them.
 */
export function joinTagLines(text, fragments) {
  const lines = [];
  let tags = '';
  for (const line of text.split('\n')) {
    if (isTagLine(line, fragments)) tags += line.trim();
    else if (tags === '' || line.trim() !== '') {
      lines.push(tags + line);
      tags = '';
    }
  }
  return lines.join('\n') + (tags ? `\n\n${tags}` : '');
}

/** True for a line that has only tags and the text of captures. */
function isTagLine(line, fragments) {
  if (!fragments.hasTemplate(line)) return false;
  let shows = '';
  let captures = 0;
  for (const { text, isTag, value } of piecesOfText(line, fragments)) {
    const name = isTag ? tagName(value) : null;
    if (name === 'capture') captures++;
    if (name === null && captures === 0) shows += text;
    if (name === 'endcapture') captures--;
  }
  return shows.trim() === '';
}
