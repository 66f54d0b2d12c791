// A mail as a client shows it: the tree is parsed, what the client does not understand is removed, and its colours are inverted. The
// result is HTML for a browser, with the transforms that have changed something.

import { serialize } from '#libraries/html';

import { LIMITS } from '../../limits.mjs';
import { attribute, findChild, isComment, isElement, newElement, newText, parsePage } from '../../html/document.mjs';
import { supportDate } from '../client_support.mjs';
import { Counts } from './counts.mjs';
import { inversionOf } from './dark.mjs';
import { rulesOf } from './rules.mjs';
import { StylePass } from './style_sheet.mjs';
import { textPage } from './text_page.mjs';
import { drawShape, isShape, styleOfShape } from './vml.mjs';
import { readAsWord } from './word_comments.mjs';

/** The address of an image that the client does not show. */
const NO_IMAGE = 'http://blocked.invalid/';
/** Word's markup doubles what a document may have. */
const BOUNDS = { elements: 2 * LIMITS.elements, comments: 2 * LIMITS.comments, depth: 2 * LIMITS.depth };
const ANIMATED = /animation|transition/i;
/** Animations are shown at their end. */
const STILL = '*,*::before,*::after{animation-delay:0s!important;animation-duration:0s!important;animation-iteration-count:1!important;'
  + 'transition:none!important}';
/** Elements of Office; what they hold stays. Shapes stay too. */
const OFFICE = /^(?:xml$|[ovw]:)/;

/**
 * @param {{html: string, text: string|null, client: object, types: Object<string, string>}} mail `client` is a row of schemas/clients.json;
 *   `types` has the content types of the images by their addresses
 * @returns {{html: string, transforms: object[], dataDate: string, hidden: string[]}} `hidden`: addresses of images that are not shown
 */
export function dressMail({ html, text, client, types }) {
  const counts = new Counts();
  const dataDate = supportDate();
  if (client.textOnly) return { html: textPage(text ?? ''), transforms: counts.list(), dataDate, hidden: [] };
  const dresser = new Dresser(client, types, counts);
  const dressed = dresser.dress(html);
  return { html: dressed, transforms: counts.list(), dataDate, hidden: [...dresser.hidden] };
}

class Dresser {
  hidden = new Set();

  constructor(client, types, counts) {
    this.client = client;
    this.types = types;
    this.counts = counts;
    this.isWord = client.engine === 'word';
    this.rules = rulesOf(client.caniemail ?? null);
    this.inversion = inversionOf(client.inversion);
    const invert = this.inversion ? (property, value) => this.inversion.value(property, value) : null;
    this.styles = new StylePass({ rules: this.rules, counts, invert });
    this.styleChars = 0;
  }

  dress(source) {
    const opened = this.isWord ? readAsWord(source) : { html: source, comments: 0, settings: 0 };
    this.counts.add('word-comments', opened.comments);
    this.counts.add('office-markup', opened.settings);
    const document = parsePage(opened.html, BOUNDS);
    this.#children(document, false);
    this.#addSheets(document, opened.html);
    if (this.inversion) this.counts.add(`inversion-${this.inversion.kind}`, this.styles.inverted + 1);
    return serialize(document);
  }

  #addSheets(document, source) {
    const html = findChild(document, 'html');
    const head = html && findChild(html, 'head');
    if (!head) return;
    const add = (css, place) => {
      const style = newElement('style', [], head);
      style.childNodes.push(newText(css, style));
      head.childNodes.splice(place, 0, style);
    };
    if (this.inversion) add(this.inversion.page, 0);
    if (ANIMATED.test(source)) add(STILL, head.childNodes.length);
  }

  /** Changes the children of a node; an opened element leaves its children in its place. */
  #children(node, isInBody) {
    const kept = [];
    for (const child of node.childNodes) {
      if (isComment(child)) continue;
      const stays = isElement(child) ? this.#element(child, isInBody) : [child];
      for (const one of stays) one.parentNode = node;
      for (const one of stays) kept.push(one);
    }
    node.childNodes = kept;
  }

  /** What is left of an element: itself, its children, or nothing. */
  #element(element, isInBody) {
    const name = element.tagName;
    if (name === 'marquee') [element.tagName, element.nodeName] = ['div', 'div'];
    if (name === 'style') return this.#sheet(element, isInBody) ? [element] : [];
    if (name === 'meta' && this.#isRefusedMeta(element)) return [];
    if (this.isWord && isShape(element)) return this.#shape(element, isInBody);
    const how = this.#fate(element);
    if (how === 'remove') return [];
    if (element.content) this.#children(element.content, isInBody); // <template>
    this.#children(element, isInBody || name === 'body');
    if (how === 'unwrap') return element.childNodes;
    this.#attributes(element);
    return [element];
  }

  #fate(element) {
    if (this.isWord && OFFICE.test(element.tagName)) {
      this.counts.add('office-markup');
      return 'unwrap';
    }
    const found = this.rules.elements.get(element.tagName);
    const input = element.tagName === 'input' ? this.rules.inputs.get((attribute(element, 'type') ?? 'text').toLowerCase()) : undefined;
    if (found ?? input) this.counts.add(found?.slug ?? input);
    return found?.how ?? (input ? 'remove' : 'keep');
  }

  #shape(element, isInBody) {
    this.counts.add('vml');
    const style = styleOfShape(element, (property, value) => this.inversion?.value(property, value) ?? value);
    this.#children(element, isInBody);
    drawShape(element, style);
    return [element];
  }

  #isRefusedMeta(element) {
    const slug = this.rules.metas.get((attribute(element, 'name') ?? '').toLowerCase());
    if (slug) this.counts.add(slug);
    return slug !== undefined;
  }

  /** A style sheet; false when the client drops it. */
  #sheet(element, isInBody) {
    const refused = this.rules.elements.get('style')?.slug ?? (isInBody ? this.rules.stylesInBody : null);
    const css = element.childNodes.map(({ value }) => value ?? '').join('');
    const { styleBlockChars = Infinity, styleChars = Infinity } = this.client;
    this.styleChars += css.length;
    const isTooLong = css.length > styleBlockChars || this.styleChars > styleChars;
    if (refused ?? isTooLong) this.counts.add(refused ?? 'style-size');
    if (refused || isTooLong) return false;
    element.childNodes = [newText(this.styles.sheet(css), element)];
    return true;
  }

  #attributes(element) {
    const { tagName } = element;
    element.attrs = element.attrs.filter((attr) => {
      const slug = this.rules.againstAttribute(tagName, attr.name);
      if (slug) this.counts.add(slug);
      if (slug) return false;
      if (attr.name === 'style') attr.value = this.styles.attribute(tagName, attr.value);
      else if (this.inversion) this.#invert(attr);
      return attr.value !== null;
    });
    if (tagName === 'img') this.#image(element);
  }

  #invert(attr) {
    const value = this.inversion.attribute(attr.name, attr.value);
    if (value !== attr.value) this.styles.inverted++;
    attr.value = value;
  }

  /** An image that is not shown has an address without a file, so that its alternative text shows. */
  #image(element) {
    const source = element.attrs.find(({ name }) => name === 'src');
    if (source === undefined) return;
    if (this.client.images === false) {
      this.counts.add('images-off');
      source.value = NO_IMAGE;
      return;
    }
    const isData = /^\s*data:/i.test(source.value);
    const type = isData ? /^\s*data:([\w/+.-]+)/i.exec(source.value)?.[1].toLowerCase() : this.types[source.value];
    const slug = (isData ? this.rules.dataImages : null) ?? this.rules.imageTypes.get(type);
    if (!slug) return;
    this.counts.add(slug);
    if (!isData) this.hidden.add(source.value);
    source.value = NO_IMAGE;
  }
}
