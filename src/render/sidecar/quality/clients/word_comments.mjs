// Conditional comments as Word reads them: the content of <!--[if mso]> … <![endif]--> becomes part of the mail, and that of
// <!--[if !mso]><!--> … <!--<![endif]--> is removed. The content is often half a structure, so this works on the text. Linear time.

const CONDITION = /^\[if\s+([^\]]{1,200})\]/i;
const END = '<![endif]';
/** What follows the condition in a comment whose content is not inside of it: <!--[if !mso]><!--> */
const SHOWN_MARKS = new Set(['', '<!', '<!--']);
const VERSION = 16;

/** Whether a condition holds in Word: mso is a version; every other feature but vml is missing. A condition that cannot be read does not hold. */
export function holdsInWord(condition) {
  const tokens = condition.toLowerCase().match(/[()!&|]|[a-z]+|\d+(?:\.\d+)?/g) ?? [];
  let at = 0;
  const compare = { gt: (a, b) => a > b, gte: (a, b) => a >= b, lt: (a, b) => a < b, lte: (a, b) => a <= b };
  const feature = () => {
    const relation = Object.hasOwn(compare, tokens[at]) ? compare[tokens[at++]] : (a, b) => a === b;
    const name = tokens[at++];
    const version = /^\d/.test(tokens[at] ?? '') ? Number.parseFloat(tokens[at++]) : null;
    if (name === 'true' || name === 'vml') return true;
    return name === 'mso' && (version === null || relation(VERSION, version));
  };
  const factor = (depth) => {
    if (depth > 20 || at >= tokens.length) return false;
    if (tokens[at] === '!') { at++; return !factor(depth + 1); }
    if (tokens[at] !== '(') return feature();
    at++;
    const value = sum(depth + 1);
    at++; // the closing parenthesis
    return value;
  };
  const product = (depth) => {
    let value = factor(depth);
    while (tokens[at] === '&') { at++; value = factor(depth) && value; }
    return value;
  };
  const sum = (depth) => {
    let value = product(depth);
    while (tokens[at] === '|') { at++; value = product(depth) || value; }
    return value;
  };
  return sum(0);
}

/** Finds texts from left to right; a text that is not found once is never looked for again, so the work stays linear. */
class Scanner {
  #missing = new Set();

  constructor(html) {
    this.html = html;
  }

  find(text, from) {
    if (this.#missing.has(text)) return -1;
    const at = this.html.indexOf(text, from);
    if (at < 0) this.#missing.add(text);
    return at;
  }
}

/** The mark that ends shown content, or null: <!--<![endif]--> or <![endif]>. */
function endOfShown(scanner, from) {
  const at = scanner.find(END, from);
  if (at < 0) return null;
  const begin = scanner.html.startsWith('<!--', at - 4) ? at - 4 : at;
  const close = scanner.find('>', at + END.length - 1);
  return { begin, end: close < 0 ? scanner.html.length : close + 1 };
}

/** A conditional comment at a place: { begin, end } of its content and `after`; null when there is none or it has no end. */
function conditionalAt(scanner, at) {
  const { html } = scanner;
  const isComment = html.startsWith('<!--', at);
  const start = at + (isComment ? 4 : 2);
  const condition = CONDITION.exec(html.slice(start, start + 220));
  if (!condition) return null;
  const inside = start + condition[0].length;
  if (!isComment) {
    const ended = html.startsWith('>', inside) ? endOfShown(scanner, inside) : null;
    return ended && { condition: condition[1], begin: inside + 1, end: ended.begin, after: ended.end };
  }
  const close = scanner.find('-->', start);
  if (close < 0) return null;
  const text = html.slice(inside, close);
  if (text.startsWith('>') && text.endsWith(END)) return { condition: condition[1], begin: inside + 1, end: close - END.length, after: close + 3 };
  const ended = text.startsWith('>') && SHOWN_MARKS.has(text.slice(1).trim()) ? endOfShown(scanner, close) : null;
  return ended && { condition: condition[1], begin: close + 3, end: ended.begin, after: ended.end };
}

/** Removes the settings for Office: <xml> … </xml>. */
function withoutSettings(content) {
  const scanner = new Scanner(content);
  const parts = [];
  let places = 0;
  let from = 0;
  for (let at = scanner.find('<xml', 0); at >= 0; at = scanner.find('<xml', from)) {
    const end = scanner.find('</xml>', at);
    if (end < 0) break;
    parts.push(content.slice(from, at));
    from = end + '</xml>'.length;
    places++;
  }
  return { html: parts.join('') + content.slice(from), places };
}

/** Opens and removes conditional comments: { html, comments, settings }, the last two counts. A comment without an end stays as it is. */
export function readAsWord(html) {
  const scanner = new Scanner(html);
  const parts = [];
  let [comments, settings, from] = [0, 0, 0];
  for (let at = scanner.find('<!', 0); at >= 0; at = scanner.find('<!', Math.max(at + 2, from))) {
    const found = conditionalAt(scanner, at);
    if (found === null) {
      const close = html.startsWith('<!--', at) ? scanner.find('-->', at + 4) : -1;
      if (close >= 0) at = close; // what is inside of an ordinary comment is no comment
      continue;
    }
    parts.push(html.slice(from, at));
    if (holdsInWord(found.condition)) {
      const content = withoutSettings(html.slice(found.begin, found.end));
      parts.push(content.html);
      settings += content.places;
    }
    from = found.after;
    comments++;
  }
  return { html: parts.join('') + html.slice(from), comments, settings };
}
