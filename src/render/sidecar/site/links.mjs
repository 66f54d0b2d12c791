// Links of a page to other pages of its website, and which of them tell most about a brand: about, imprint, contact, shop. Words of
// five languages in the path and in the text of a link decide.

import { attribute, isElement, walk } from '../html/document.mjs';
import { line, textOf } from './texts.mjs';

const KINDS = [
  ['imprint', 90, /\b(impressum|imprint|legal-?notice|mentions-?l[eé]gales|aviso-?legal|note-?legali|legal|anbieterkennzeichnung)\b/],
  ['about', 100, /\b(about|about-?us|[uü]eber-?uns|über-?uns|ueber|qui-?sommes-?nous|[aà]-?propos|qui[eé]nes-?somos|sobre-?nosotros|chi-?siamo|company|unternehmen|our-?story|story|philosophie|team)\b/],
  ['contact', 80, /\b(contact|contact-?us|kontakt|contacto|contactez(-?nous)?|contatti)\b/],
  ['shop', 60, /\b(shop|store|products?|produkte?|produits?|productos?|collections?|kollektion|boutique|tienda|pricing|preise|leistungen|services?|features)\b/],
  ['article', 30, /\b(blog|news|magazin(e)?|stories|journal|articles?|aktuelles)\b/],
];
/** Pages that tell nothing about a brand, or that a visitor does not read. */
const USELESS = /\b(log-?in|sign-?(in|up|out)|anmelden|register|account|konto|cart|basket|warenkorb|panier|checkout|kasse|search|suche|privacy|datenschutz|cookies?|terms|agb|widerruf|conditions|wp-admin|wp-login|feed|rss|unsubscribe|download)\b/;
const FILE = /\.(?!html?$|php$|aspx?$|jsp$)[a-z0-9]{2,5}$/i;
const LINKS_MAX = 60;
const URL_CHARS = 2048;

/** Word characters of \b are ASCII, so letters with marks keep the words apart: they are replaced for the comparison. */
const plain = (text) => text.toLowerCase().replace(/ü/g, 'ue').normalize('NFD').replace(/\p{M}/gu, '').replace(/[\s_]+/g, '-');

export function kindOf(path, text) {
  const words = `${plain(safeDecode(path))} ${plain(text)}`;
  for (const [kind, rank, pattern] of KINDS) if (pattern.test(words)) return { kind, rank };
  return { kind: 'other', rank: 10 };
}

function safeDecode(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** The host without "www."; its subdomains belong to the same website. */
const bare = (hostname) => hostname.replace(/^www\./, '');

/** `*` stands for any characters; a path also covers everything below it. Each part is looked for once, from left to right. */
export function pathMatches(path, wanted) {
  const parts = (wanted.startsWith('/') ? wanted : `/${wanted}`).replace(/\/+$/, '').split('*');
  const isBoundary = (at) => at === path.length || path[at] === '/';
  if (!path.startsWith(parts[0])) return false;
  let at = parts[0].length;
  if (parts.length === 1) return isBoundary(at);
  for (const part of parts.slice(1, -1)) {
    const found = path.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  const last = parts.at(-1);
  for (let found = path.indexOf(last, at); last !== '' && found >= 0; found = path.indexOf(last, found + 1)) if (isBoundary(found + last.length)) return true;
  return last === '';
}

/** Whether a page may be read. `site` has host, excludeSubdomains, includePaths and excludePaths. */
export function isOfSite(url, site) {
  if (!['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') return false;
  const home = new URL(`http://${site.host}`);
  if (url.port !== home.port) return false;
  const [host, own] = [bare(url.hostname), bare(home.hostname)];
  if (host !== own && (site.excludeSubdomains || !host.endsWith(`.${own}`))) return false;
  if (site.excludePaths.some((path) => pathMatches(url.pathname, path))) return false;
  return site.includePaths.length === 0 || site.includePaths.some((path) => pathMatches(url.pathname, path));
}

export function parseUrl(href, base) {
  try {
    return typeof href === 'string' && href.length <= URL_CHARS ? new URL(href, base) : null;
  } catch {
    return null;
  }
}

/**
 * The pages that a document links to: {url, kind, rank}, the best first. The first link of a kind counts fully, the next ones less, so
 * that a few pages show the whole website.
 */
export function rankLinks(document, base, site) {
  const found = new Map();
  walk(document, (node) => {
    if (!isElement(node) || node.tagName !== 'a') return;
    const url = parseUrl(attribute(node, 'href'), base);
    if (url === null || !isOfSite(url, site)) return;
    url.hash = '';
    const text = line(textOf(node) || (attribute(node, 'aria-label') ?? ''), 80) ?? '';
    const words = `${plain(safeDecode(url.pathname))} ${plain(text)}`;
    const { kind, rank } = kindOf(url.pathname, text);
    const isUseless = USELESS.test(words) && kind !== 'imprint';
    if (isUseless || FILE.test(url.pathname) || url.pathname === '/' || found.has(url.href)) return;
    const depth = url.pathname.split('/').filter(Boolean).length;
    found.set(url.href, { url: url.href, kind, rank: rank - Math.min(depth, 5) - (url.search === '' ? 0 : 5) });
  });
  const seen = new Map();
  for (const link of [...found.values()].sort((a, b) => b.rank - a.rank)) {
    const before = seen.get(link.kind) ?? 0;
    seen.set(link.kind, before + 1);
    if (before > 0) link.rank -= 45 + before * 8;
  }
  return [...found.values()].sort((a, b) => b.rank - a.rank).slice(0, LINKS_MAX);
}
