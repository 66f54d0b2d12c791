// Checks of compatibility: features of HTML, CSS and images that clients lack by the data of caniemail.com, with the date of the test. The severity follows
// how common the clients are, and how much a reader loses: a mail without its rounded corners is still the same mail.

import { clientName } from '../client_support.mjs';
import { featuresOf } from './features.mjs';

export const IDS = ['cssSupport', 'htmlSupport', 'imageSupport'];

/** The clients in which most mail is read, the most common first. */
const COMMON = ['apple-mail.ios', 'apple-mail.macos', 'gmail.desktop-webmail', 'gmail.ios', 'gmail.android', 'outlook.outlook-com', 'outlook.windows', 'outlook.ios', 'outlook.android', 'outlook.macos',
  'yahoo.desktop-webmail', 'yahoo.ios', 'yahoo.android', 'samsung-email.android'];
/** The lack in one of them is a warning. */
const MOST_COMMON = new Set(COMMON.slice(0, 7));
/** Features of every mail, whose lack no reader sees: what assistive technology and browsers need, selectors of style sheets, attributes of tables. */
const UNSEEN = new RegExp(`^(?:css-(?:${[
  'selector-.*', 'important', 'comments', 'cursor', 'color-scheme', 'word-break', 'word-spacing', 'height', 'display', 'unit-px', 'unit-percent',
].join('|')})|html-(?:${['aria-.*', 'role', 'lang', 'dir', 'style', 'body', 'doctype', 'comments', 'target', 'width', 'height', 'align', 'valign', 'cell.*', 'meta-color-scheme'].join('|')}))$`);
/** Without these features nothing that a mail says is lost. */
const DECORATION = new RegExp(`^(?:css-(?:${[
  'accent-color', 'animation', 'at-.*', 'backdrop-filter', 'background-(?:blend-mode|clip|origin|position|repeat|size)', 'border-(?:image|radius.*|spacing|collapse)', 'box-shadow', 'box-sizing', 'direction', 'empty-cells',
  'font-(?:kerning|size-adjust|stretch)', 'hyphen.*', 'letter-spacing', 'object-.*', 'orphans', 'outline.*', 'overflow.*', 'pseudo-.*', 'resize', 'rgba?',
  'sytem-ui', 'tab-size', 'text-(?:decoration-.*|emphasis.*|indent|justify|overflow|shadow|transform|underline-.*|wrap)', 'transition', 'unit-.*', 'user-select', 'widows', 'word-wrap', 'max-.*', 'min-.*',
  'list-style.*', 'float', 'clear', 'table-layout', 'opacity', 'vertical-align', 'white-space.*', 'caption-side', 'variables',
].join('|')})|html-(?:${['loading-attribute', 'semantics', 'wbr', 'abbr', 'acronym', 'address', 'dfn', 'small', 'link'].join('|')}))$`);
/** A lack in rare clients counts when this share of the tested clients has it. */
const LEAST_SHARE = 0.25;
const NAMED_CLIENTS = 6;

/** The clients that lack a feature, the most common first; none when they are few and rare. */
function lacking({ verdicts }) {
  const place = (client) => (COMMON.includes(client) ? COMMON.indexOf(client) : COMMON.length);
  const tested = [...verdicts].filter(([, verdict]) => verdict !== 'u');
  const clients = tested.filter(([, verdict]) => verdict === 'n').map(([client]) => client).sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
  return clients.length >= LEAST_SHARE * tested.length || COMMON.includes(clients[0]) ? clients : [];
}

/** "Gmail (iOS), Outlook (Windows) lack" */
function listOf(clients) {
  const names = clients.slice(0, NAMED_CLIENTS).map(clientName).join(', ');
  const more = clients.length - NAMED_CLIENTS;
  return `${names}${more > 0 ? ` and ${more} more` : ''} ${clients.length > 1 ? 'lack' : 'lacks'}`;
}

export function check({ tree }, report) {
  const counts = { css: 0, html: 0, image: 0 };
  for (const { feature, element, source } of featuresOf(tree)) {
    const family = feature.slug.split('-')[0];
    counts[family]++;
    const clients = lacking(feature);
    if (clients.length === 0 || UNSEEN.test(feature.slug)) continue;
    const isWarning = !DECORATION.test(feature.slug) && clients.some((client) => MOST_COMMON.has(client));
    report.add(`${family}Support`, {
      key: feature.slug, element, tree, source, severity: isWarning ? undefined : 'info',
      message: `${listOf(clients)} ${feature.title} (tested ${feature.testedOn}).`,
    });
  }
  if (counts.image === 0) report.skip('imageSupport', 'The mail has no images of a known format.');
}

