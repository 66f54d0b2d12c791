// Nested style rules (CSS Nesting) made flat. Tools write them, react-email's Tailwind among them, and no mail client
// understands them: `.a { @media … { color: red } &:hover { … } }` becomes `@media … { .a { color: red } } .a:hover { … }`.

import { LIMITS } from '../limits.mjs';

const GROUPING = new Set(['media', 'supports', 'container', 'layer']);
/** An ampersand in a string or an attribute is not the parent, and telling them apart is not worth it. */
const UNREADABLE = /["'[\\][^]*&/;

/** Flattens the rules of a style sheet in place. What cannot be flattened stays nested, for the caller to refuse. */
export function flattenNesting(container) {
  container.each((node) => {
    if (node.type === 'rule' && node.some(isNested)) node.replaceWith(flattened(node));
    else if (node.type === 'atrule' && node.nodes && GROUPING.has(node.name.toLowerCase())) flattenNesting(node);
  });
}

function isNested(node) {
  return node.type === 'rule' || (node.type === 'atrule' && node.nodes !== undefined);
}

/** The flat rules that a nested one stands for, in order; those that cannot be expressed stay inside of a rule. */
function flattened(rule) {
  const own = rule.clone();
  const moved = [];
  own.each((child) => {
    const replacement = isNested(child) ? lifted(child, rule) : null;
    if (replacement === null) return;
    moved.push(...replacement);
    child.remove();
  });
  return own.nodes.length > 0 ? [own, ...moved] : moved;
}

function lifted(child, parent) {
  if (child.type === 'atrule') {
    if (!GROUPING.has(child.name.toLowerCase())) return null;
    const inner = parent.clone({ nodes: [] });
    inner.append(child.nodes.map((node) => node.clone()));
    const outer = child.clone({ nodes: [] });
    outer.append(inner.some(isNested) ? flattened(inner) : inner);
    return [outer];
  }
  const selectors = combined(parent.selectors, child.selectors);
  if (selectors === null) return null;
  const rule = child.clone({ selectors });
  return rule.some(isNested) ? flattened(rule) : [rule];
}

/** Every selector of the child for every one of the parent (CSS Nesting §3.1), or null when there are too many. */
function combined(parents, children) {
  if (parents.length * children.length > LIMITS.nestedSelectors || children.some((child) => UNREADABLE.test(child))) return null;
  const selectors = children.flatMap((child) => parents.map((parent) => (child.includes('&') ? child.replaceAll('&', parent) : `${parent} ${child}`)));
  return selectors.every((selector) => selector.length <= LIMITS.selectorChars) ? selectors : null;
}
