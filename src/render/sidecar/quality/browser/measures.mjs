// Measures of a shown mail that axe-core does not make: targets of fingers, sideways scrolling, cut texts, the height. The function runs
// inside of the page. It is self-contained, and every measure is bounded. Lengths are CSS pixels.

/* eslint-disable no-undef -- window, document and the DOM are those of the page */
/**
 * @returns {(view: {width: number, isPhone: boolean}) => {check: string, list: {element: Element, text: string}[], isApplicable: boolean}[]}
 *   `list` is in the order of the document; `text` is a sentence without its full stop
 */
export function shownMeasures() {
  const TARGETS = 'a[href], area[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], [role=link]';
  const TARGETS_MAX = 2000;
  const [LEAST, COMFORTABLE] = [24, 44];
  const HEIGHT_MAX = 16000;
  const TEXTS_MAX = 20000;
  const CAUSES_MAX = 500;
  const px = (value) => `${Math.round(value * 10) / 10}`;
  const isInline = (style) => style.display === 'inline' || style.display === 'contents';
  const hasWords = (text) => /[\p{L}\p{N}]/u.test(text);

  /** The box that a finger can hit: that of the element and of what it contains. */
  function boxOf(element) {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    const parts = [element, ...[...element.getElementsByTagName('*')].slice(0, 100)];
    for (const part of parts) {
      for (const { width, height, left: l, top: t, right: r, bottom: b } of [...part.getClientRects()].slice(0, 50)) {
        if (width > 0 && height > 0) [left, top, right, bottom] = [Math.min(left, l), Math.min(top, t), Math.max(right, r), Math.max(bottom, b)];
      }
    }
    return { left, top, right, bottom, width: right - left, height: bottom - top };
  }

  const blocks = new Map();
  /** Whether a block has words of its own beside its targets, on the level of its lines. */
  function hasOwnWords(block) {
    if (!blocks.has(block)) {
      const walk = (parent) => [...parent.childNodes].some((node) => {
        if (node.nodeType === Node.TEXT_NODE) return hasWords(node.data);
        return node.nodeType === Node.ELEMENT_NODE && !node.matches(TARGETS) && isInline(getComputedStyle(node)) && walk(node);
      });
      blocks.set(block, walk(block));
    }
    return blocks.get(block);
  }

  /** A target in a line of text has the height of the line (the exception "inline" of WCAG 2.2 SC 2.5.8). */
  function isInText(element) {
    if (!isInline(getComputedStyle(element))) return false;
    let block = element.parentElement;
    while (block !== null && isInline(getComputedStyle(block))) block = block.parentElement;
    return block !== null && hasOwnWords(block);
  }

  function findTargets() {
    blocks.clear();
    const found = [];
    for (const element of document.querySelectorAll(TARGETS)) {
      if (found.length >= TARGETS_MAX) break;
      if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      const box = boxOf(element);
      if (!(box.width > 0 && box.height > 0)) continue;
      found.push({ element, box, address: element.getAttribute('href'), x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 });
    }
    return found;
  }

  const isUnder = ({ box }, size) => box.width < size - 0.5 || box.height < size - 0.5;

  /** The distance from a point to a box. */
  const distance = ({ x, y }, { left, top, right, bottom }) => Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));

  /** The target into whose space the circle of a small target reaches (the exception "spacing"). */
  function neighbourOf(target, targets) {
    return targets.find((other) => {
      if (other === target || other.element.contains(target.element) || target.element.contains(other.element)) return false;
      if (target.address !== null && other.address === target.address) return false;
      if (distance(target, other.box) < LEAST / 2 - 0.5) return true;
      return isUnder(other, LEAST) && Math.hypot(target.x - other.x, target.y - other.y) < LEAST - 0.5;
    });
  }

  const reasonOf = (targets) => (targets.length < TARGETS_MAX ? null : `Only the first ${TARGETS_MAX} targets were measured.`);

  function targetSize(targets) {
    const isServed = (target) => target.address !== null && targets.some((other) => other !== target && other.address === target.address && !isUnder(other, LEAST));
    const list = [];
    for (const target of targets) {
      if (!isUnder(target, LEAST) || isServed(target) || isInText(target.element)) continue;
      const neighbour = neighbourOf(target, targets);
      if (neighbour === undefined) continue;
      const apart = Math.hypot(target.x - neighbour.x, target.y - neighbour.y);
      list.push({ element: target.element, text: `The target is ${px(target.box.width)} × ${px(target.box.height)} px instead of ${LEAST} × ${LEAST}, and the centre of the next one is ${px(apart)} px away` });
    }
    return { check: 'targetSize', list, isApplicable: targets.length > 0, reason: reasonOf(targets) };
  }

  function targetComfort(targets, small) {
    const isSmall = new Set(small.map(({ element }) => element));
    const list = targets.filter((target) => isUnder(target, COMFORTABLE) && !isSmall.has(target.element) && !isInText(target.element))
      .map(({ element, box }) => ({ element, text: `The target is ${px(box.width)} × ${px(box.height)} px; ${COMFORTABLE} × ${COMFORTABLE} suits a finger` }));
    return { check: 'targetComfort', list, isApplicable: targets.length > 0, reason: reasonOf(targets) };
  }

  const clipsSideways = (style) => style.overflowX !== 'visible';

  /** The width that its style or its attribute demands, in pixels; 0 without one. */
  function demandedWidth(element) {
    const styles = element.computedStyleMap();
    return Math.max(...['width', 'min-width'].map((name) => {
      const value = styles.get(name);
      return value instanceof CSSUnitValue && value.unit === 'px' ? value.value : 0;
    }));
  }

  function sideways(width) {
    const wide = Math.max(document.documentElement.scrollWidth, document.body?.scrollWidth ?? 0);
    const list = [];
    if (wide <= width + 1) return { check: 'sidewaysScroll', list, isApplicable: true };
    const text = (element, own) => ({ element, text: `The mail is ${px(wide)} px wide on a screen of ${width} px, because this element reaches to ${px(own)} px` });
    const open = [document.body];
    while (open.length > 0 && list.length < CAUSES_MAX) {
      const element = open.pop();
      const { right, left } = element.getBoundingClientRect();
      const style = getComputedStyle(element);
      if (style.display === 'none') continue;
      if (element !== document.body && right > width + 1 && demandedWidth(element) > width) {
        list.push(text(element, right));
        continue;
      }
      if (element !== document.body && clipsSideways(style)) {
        if (right > width + 1) list.push(text(element, right));
        continue;
      }
      const children = [...element.children];
      const reach = left + element.scrollWidth;
      const isCause = children.every((child) => child.getBoundingClientRect().right <= width + 1) && Math.max(right, isInline(style) ? 0 : reach) > width + 1;
      const holdsCause = children.some((child) => left + child.scrollWidth > width + 1);
      if (isCause && !holdsCause && style.visibility !== 'hidden') list.push(text(element, Math.max(right, reach)));
      else open.push(...children.reverse());
    }
    if (list.length === 0) list.push(text(document.body, wide));
    return { check: 'sidewaysScroll', list, isApplicable: true };
  }

  const clips = (value) => value === 'hidden' || value === 'clip';

  /** Whether a text is meant to be read: preheaders are hidden by their size or colour. */
  function isShown(element, style) {
    const colour = /rgba\(.*, 0\)$/.test(style.color);
    return style.visibility === 'visible' && Number.parseFloat(style.fontSize) > 2 && !colour && element.checkVisibility({ opacityProperty: true });
  }

  /** The first text that reaches out of the element, which clips it; inner elements that clip are measured by themselves. */
  function cutText(element, style, budget) {
    const box = element.getBoundingClientRect();
    const [right, bottom] = [box.left + element.clientLeft + element.clientWidth, box.top + element.clientTop + element.clientHeight];
    const [left, top] = [box.left + element.clientLeft, box.top + element.clientTop];
    const range = document.createRange();
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) => {
      if (node.nodeType === Node.TEXT_NODE) return hasWords(node.data) ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP;
      const inner = getComputedStyle(node);
      return inner.display === 'none' || clips(inner.overflowX) || clips(inner.overflowY) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
    });
    while (walker.nextNode() && budget.left-- > 0) {
      if (!isShown(walker.currentNode.parentElement, getComputedStyle(walker.currentNode.parentElement))) continue;
      range.selectNodeContents(walker.currentNode);
      for (const rect of [...range.getClientRects()].slice(0, 500)) {
        const over = { x: clips(style.overflowX) ? Math.max(rect.right - right, left - rect.left) : 0, y: clips(style.overflowY) ? Math.max(rect.bottom - bottom, top - rect.top) : 0 };
        if (over.x > 4) return `${px(over.x)} px of a text are cut off at the side`;
        if (over.y > 0.4 * rect.height) return `${px(over.y)} px of a text are cut off below or above`;
      }
    }
    return null;
  }

  function textCut() {
    const list = [];
    const budget = { left: TEXTS_MAX };
    for (const element of document.body?.getElementsByTagName('*') ?? []) {
      const overflows = element.scrollWidth > element.clientWidth + 2 || element.scrollHeight > element.clientHeight + 2;
      if (!overflows || element.clientWidth < 8 || element.clientHeight < 8) continue;
      const style = getComputedStyle(element);
      if (!clips(style.overflowX) && !clips(style.overflowY)) continue;
      const cut = cutText(element, style, budget);
      if (cut !== null) list.push({ element, text: cut });
    }
    return { check: 'textCut', list, isApplicable: true };
  }

  function pageHeight(width) {
    const height = document.documentElement.scrollHeight;
    const list = height > HEIGHT_MAX ? [{ element: document.documentElement, key: 'page',
      text: `The mail is ${height} px tall at ${width} px; its pictures end at ${HEIGHT_MAX} px` }] : [];
    return { check: 'pageHeight', list, isApplicable: true };
  }

  return ({ width, isPhone }) => {
    const targets = findTargets();
    const small = targetSize(targets);
    const all = [small, textCut(), pageHeight(width)];
    return isPhone ? [...all, targetComfort(targets, small.list), sideways(width)] : all;
  };
}
/* eslint-enable no-undef */
