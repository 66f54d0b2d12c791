// Flattens nested style rules (CSS Nesting). Tools such as react-email's Tailwind write them, and no mail client supports
// them: `.a { @media … { color: red } &:hover { … } }` becomes `@media … { .a { color: red } } .a:hover { … }`.

import { LIMITS } from '../limits.mjs';

const GROUPING = new Set(['media', 'supports', 'container', 'layer']);
/** A selector with an ampersand after a quote, bracket or backslash. In a string or attribute `&` is not the parent selector. */
const AMBIGUOUS_AMPERSAND = /["'[\\][^]*&/;

/** Flattens the rules of a style sheet in place. Rules that cannot be flattened stay nested, and the caller refuses them. */
export function flattenNesting(container) {
  container.each((node) => {
    if (node.type === 'rule' && node.some(isNested)) node.replaceWith(flattened(node));
    else if (node.type === 'atrule' && node.nodes && GROUPING.has(node.name.toLowerCase())) flattenNesting(node);
  });
}

function isNested(node) {
  return node.type === 'rule' || (node.type === 'atrule' && node.nodes !== undefined);
}

/** The flat rules for a nested rule, in order. Children that cannot be flattened stay inside the rule. */
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

/** Each selector of the child combined with each one of the parent (CSS Nesting §3.1). Null above a limit or for an ambiguous `&`. */
function combined(parents, children) {
  if (parents.length * children.length > LIMITS.nestedSelectors || children.some((child) => AMBIGUOUS_AMPERSAND.test(child))) return null;
  const selectors = children.flatMap((child) => parents.map((parent) => (child.includes('&') ? child.replaceAll('&', parent) : `${parent} ${child}`)));
  return selectors.every((selector) => selector.length <= LIMITS.selectorChars) ? selectors : null;
}
