// Checks of links: their names, the same name for several targets, neighbours with one target, and addresses that cannot work for a reader.

import { attribute } from '../../html/document.mjs';
import { fold } from './mail_tree.mjs';
import { named } from './report.mjs';
import { VAGUE } from './words.mjs';

export const IDS = ['linkName', 'linkNameVague', 'linkNameAmbiguous', 'linkRepeated', 'linkEmpty', 'linkAddress', 'linkLocal'];

const EXPRESSION = /\{\{[^{}]*\}\}|\{%[^{}]*%\}/g;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const WEB = /^https?:/i;
const LOCAL_NAME = /(?:^|\.)(?:localhost|local|internal|lan|intranet|corp|home|localdomain|home\.arpa)$/;

/** A text of a link as it is compared: in lower case, without arrows and punctuation around it. */
const plainName = (name) => fold(name.toLowerCase().replaceAll("'", '’').replace(/^[^\p{L}\p{N}{]+|[^\p{L}\p{N}}]+$/gu, ''));

const isPrivateV4 = ([a, b]) => a === 0 || a === 10 || a === 127 || (a === 100 && b >= 64 && b < 128) || (a === 169 && b === 254)
  || (a === 172 && b >= 16 && b < 32) || (a === 192 && b === 168);

/** True for a host that only the sender's network reaches. `host` is that of a URL, so numbers have their usual form. */
function isLocal(host) {
  if (host.startsWith('[')) return /^\[(?:::1?\]|f[cd]|fe[89ab]|::ffff:)/.test(host);
  const numbers = /^(\d+)\.(\d+)\.\d+\.\d+$/.exec(host);
  if (numbers) return isPrivateV4(numbers.slice(1).map(Number));
  return LOCAL_NAME.test(host) || !host.includes('.');
}

/** The URL of a web address in which merge tags may be; null when it is none. */
export function readUrl(href) {
  const address = href.replace(EXPRESSION, 'x');
  return WEB.test(address) && URL.canParse(address) ? new URL(address) : null;
}

/** The fault of an address: [check, what is wrong], or null. */
function faultOf(href, { anchors }) {
  if (href === null) return ['linkEmpty', 'has no address'];
  if (/^(?:\{\{|\{%)/.test(href)) return null;
  if (/^(?:#?$|javascript:)/i.test(href)) return ['linkEmpty', 'leads nowhere'];
  if (href.startsWith('#')) return anchors.has(href.slice(1)) ? null : ['linkEmpty', `leads to ${named(href)}, which is not in the mail`];
  if (!SCHEME.test(href)) return ['linkAddress', `has the address ${named(href)}, which does not begin with https:`];
  if (!WEB.test(href)) return /^(?:mailto|tel|sms):\s*$/i.test(href) ? ['linkEmpty', 'leads nowhere'] : null;
  const url = readUrl(href);
  if (url === null) return ['linkAddress', `has the address ${named(href)}, which cannot be read`];
  return isLocal(url.hostname) ? ['linkLocal', `leads to ${named(url.hostname)}, which readers cannot reach`] : null;
}

function checkName({ element, href, name, isHidden }, tree, report) {
  const text = fold(tree.expand(name));
  if (href === null || isHidden) return;
  if (text === '') report.add('linkName', { element, tree, key: href, message: `The link to ${named(href)} has no text.` });
  else if (VAGUE.has(plainName(text))) report.add('linkNameVague', { element, tree, key: `${text} ${href}`, message: `The link ${named(text)} does not say where it leads.` });
}

function checkAddress(link, tree, report) {
  const { element, href, name } = link;
  const text = fold(tree.expand(name));
  if (href === null && (text === '' || attribute(element, 'name') !== null || attribute(element, 'id') !== null)) return;
  const [check, fault] = faultOf(href, tree) ?? [];
  if (check) report.add(check, { element, tree, key: `${text} ${href ?? ''}`, message: `The link ${named(text || href || '')} ${fault}.` });
}

/** Links with one text and several targets. Texts that say nothing are findings already. */
function checkAmbiguous(links, tree, report) {
  const targets = new Map();
  for (const { element, href, text } of links) {
    const name = plainName(tree.expand(text));
    if (href === null || name === '' || VAGUE.has(name)) continue;
    const found = targets.get(name) ?? { element, hrefs: new Set() };
    found.hrefs.add(href);
    targets.set(name, found);
  }
  for (const [name, { element, hrefs }] of targets) {
    if (hrefs.size > 1) report.add('linkNameAmbiguous', { element, tree, key: name, message: `Links with the text ${named(name)} lead to ${hrefs.size} addresses.` });
  }
}

/** True when nothing but white space is between two links. */
function areNeighbours(before, after, tree) {
  for (let i = before.textAfter; i < after.textBefore; i++) if (tree.texts[i].value.trim() !== '') return false;
  return true;
}

function checkRepeated(links, tree, report) {
  for (let i = 1; i < links.length; i++) {
    const { element, href } = links[i];
    const isSame = href !== null && href !== '' && href !== '#' && href === links[i - 1].href;
    if (isSame && areNeighbours(links[i - 1], links[i], tree)) {
      report.add('linkRepeated', { element, tree, key: href, message: `Two links beside each other lead to ${named(href)}.` });
    }
  }
}

export function check({ tree }, report) {
  if (tree.links.length === 0) for (const id of IDS) report.skip(id, 'The mail has no links.');
  const links = tree.links.filter(({ isHidden }) => !isHidden);
  for (const link of tree.links) {
    checkName(link, tree, report);
    checkAddress(link, tree, report);
  }
  checkAmbiguous(links, tree, report);
  checkRepeated(links, tree, report);
}
