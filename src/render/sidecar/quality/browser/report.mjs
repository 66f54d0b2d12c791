// The report of the engine "browser": what was found in all views, as the checks of schemas/checks/browser.json and their findings.

const MESSAGE_CHARS = 300;

/** The checks of our own measures; the others are rules of axe-core. */
export const OWN_CHECKS = ['contrastInverted', 'pageHeight', 'sidewaysScroll', 'targetComfort', 'targetSize', 'textCut'];

/** The severity of an impact of axe-core. Nothing that it finds makes a mail unreadable as a whole, so there is no blocker. */
export const SEVERITIES = { critical: 'error', serious: 'error', moderate: 'warning', minor: 'info' };

/**
 * @param {{found: object[], checks: string[], views: object[], version: string, elements: number, isLarge: boolean}} run `checks` are those
 *   of axe-core; `isLarge`: it has looked at the first view only
 */
export function reportOf({ found, checks, views, version, elements, isLarge }) {
  const byCheck = new Map(found.map((result) => [result.check, result]));
  const partly = isLarge ? `The mail has ${elements} elements, so only the view ${nameOf(views[0])} was checked.` : null;
  const outcomes = [...checks, ...OWN_CHECKS].sort().map((id) => outcomeOf(id, byCheck.get(id), views, OWN_CHECKS.includes(id) ? null : partly));
  return { engine: { name: 'axe-core', version }, checks: outcomes };
}

function outcomeOf(id, result, views, partly) {
  const { findings = [], more = 0, passes = 0, undecided = 0, reason = null } = result ?? {};
  // Views that were not looked at never count as passed.
  const passed = partly !== null ? 'unavailable' : 'passed';
  const status = findings.length > 0 ? 'issues' : passes > 0 ? passed : 'not_applicable';
  const elements = undecided === 1 ? '1 element' : `${undecided} elements`;
  const reasons = [partly, reason, undecided > 0 ? `${elements} could not be judged.` : null].filter((text) => text !== null);
  return { id, status, ...(reasons.length > 0 && { reason: reasons.join(' ') }), findings: findings.map((finding) => findingOf(finding, views)), more };
}

function findingOf({ text, views: bits, impact, selector, source, key }, views) {
  const message = `${cut(text, MESSAGE_CHARS - 60)} (${viewsText(bits, views)}).`;
  return { message, ...(impact !== null && { severity: SEVERITIES[impact] }), selector, source: source.toWellFormed(), key: key.toWellFormed() };
}

function cut(text, chars) {
  const line = text.toWellFormed().replace(/\s+/g, ' ');
  return line.length <= chars ? line : `${line.slice(0, chars - 1).toWellFormed()}…`;
}

const nameOf = ({ scheme, width }) => `${scheme} at ${width} px`;

/** The views of a finding, as short as possible: "in all views", "dark", "at 375 px", "light at 600 px and dark at 375 px". */
function viewsText(bits, views) {
  const seen = views.filter(({ bit }) => (bits & bit) !== 0);
  const isWhole = (part) => part.length === seen.length && part.length > 1;
  if (seen.length === views.length) return 'in all views';
  for (const scheme of ['light', 'dark']) if (seen.every((view) => view.scheme === scheme) && isWhole(views.filter((view) => view.scheme === scheme))) return `in ${scheme} mode`;
  for (const width of [600, 375]) if (seen.every((view) => view.width === width) && isWhole(views.filter((view) => view.width === width))) return `at ${width} px`;
  return seen.map(nameOf).join(', ');
}
