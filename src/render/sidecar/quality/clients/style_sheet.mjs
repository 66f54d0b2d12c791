// Style sheets and style attributes as a client reads them: what it does not understand is removed, and the declarations of an inversion
// get other colours. Style attributes that occur again are read once.

import { parseCssLeniently as parseLeniently } from '#libraries/html';

/** A rule has this many selectors in most mails; a longer list is not looked at one by one. */
const MAX_SELECTORS = 200;

/** What a pass over declarations does. */
export class StylePass {
  #attributes = new Map();

  /** @param {{rules: import('./rules.mjs').Rules, counts: import('./counts.mjs').Counts, invert: null|((property: string, value: string) => string)}} options */
  constructor({ rules, counts, invert }) {
    this.rules = rules;
    this.counts = counts;
    this.invert = invert;
    this.inverted = 0;
  }

  /** A style attribute; null when nothing is left. */
  attribute(tagName, value) {
    const key = `${tagName} ${value}`;
    const known = this.#attributes.get(key) ?? this.#readAttribute(tagName, value);
    this.#attributes.set(key, known);
    for (const [slug, places] of known.removed) this.counts.add(slug, places);
    this.inverted += known.inverted;
    return known.text;
  }

  #readAttribute(tagName, value) {
    const removed = new Map();
    let inverted = 0;
    let isChanged = false;
    const root = parseLeniently(value);
    for (const node of [...root.nodes]) {
      if (node.type !== 'decl') continue;
      const [found] = this.rules.aboutDeclaration(node.prop, node.value).filter(({ on, except }) => (on ? on.includes(tagName) : !except?.includes(tagName)));
      if (found) removed.set(found.slug, (removed.get(found.slug) ?? 0) + 1);
      if (found && found.value === null) {
        node.remove();
        isChanged = true;
        continue;
      }
      isChanged = this.#holdStill(node) || isChanged;
      const shown = this.#inverted(node.prop, found?.value ?? node.value);
      inverted += shown.inverted;
      if (shown.value !== node.value) {
        node.value = shown.value;
        isChanged = true;
      }
    }
    return { text: isChanged ? root.toString().trim() || null : value, removed, inverted };
  }

  #inverted(property, value) {
    const changed = this.invert === null ? value : this.invert(property, value);
    return { value: changed, inverted: changed === value ? 0 : 1 };
  }

  /** Animations must not outrank the rule that ends them. */
  #holdStill(node) {
    const outranks = node.important && /^(?:-webkit-)?(?:animation|transition)/i.test(node.prop);
    if (outranks) node.important = false;
    return outranks;
  }

  /** A style sheet. */
  sheet(css) {
    const root = parseLeniently(css);
    this.#container(root);
    return root.toString().replace(/<(?=\/?style)/gi, '\\3c ');
  }

  #container(container) {
    for (const node of [...container.nodes ?? []]) {
      if (node.type === 'atrule') this.#atRule(node);
      else if (node.type === 'rule') this.#rule(node);
      else if (node.type === 'decl') this.#declaration(node, container);
    }
  }

  #atRule(node) {
    const slug = this.rules.againstAtRule(node.name.toLowerCase(), node.params);
    if (slug) {
      this.counts.add(slug);
      node.remove();
    } else {
      this.#container(node);
    }
  }

  #rule(rule) {
    if (rule.parent.type === 'rule' && this.rules.nested) {
      this.counts.add(this.rules.nested);
      rule.remove();
      return;
    }
    const isStep = rule.parent.type === 'atrule' && /keyframes$/i.test(rule.parent.name);
    if (!isStep && !this.#keepSelectors(rule)) return;
    this.#container(rule);
  }

  /** Removes the selectors that the client does not understand; false when none is left. */
  #keepSelectors(rule) {
    const all = rule.selectors;
    if (all.length > MAX_SELECTORS) return true;
    const kept = all.filter((selector) => {
      const slug = this.rules.againstSelector(selector);
      if (slug) this.counts.add(slug);
      return !slug;
    });
    if (kept.length === 0) rule.remove();
    else if (kept.length < all.length) rule.selectors = kept;
    return kept.length > 0;
  }

  #declaration(node, container) {
    const [found] = this.rules.aboutDeclaration(node.prop, node.value);
    if (found) this.counts.add(found.slug);
    const isLimited = Boolean(found?.on || found?.except) && container.type === 'rule';
    if (found && found.value === null && !isLimited) {
      node.remove();
      return;
    }
    this.#holdStill(node);
    const shown = this.#inverted(node.prop, found?.value ?? node.value);
    this.inverted += shown.inverted;
    node.value = shown.value;
    if (isLimited) moveAside(node, container, found);
  }
}

const PSEUDO_ELEMENT = /(?=::[\w-]+$|:(?:before|after|first-line|first-letter)$)/i;

/** Moves a declaration into a rule for the elements on which the client understands it. */
function moveAside(node, container, { on, except }) {
  const list = on ? `:not(:where(${on.join(', ')}))` : `:where(${except.join(', ')})`;
  const selectors = container.selectors.map((selector) => {
    const [subject, pseudo = ''] = selector.split(PSEUDO_ELEMENT);
    return `${subject.trim()}${list}${pseudo}`;
  });
  const rule = container.clone({ nodes: [], selectors });
  rule.append(node.clone());
  container.after(rule);
  node.remove();
}
