// Reads one page of a website without a browser: its words, structured data, links and pictures.

import { attribute, isElement, walk } from '../html/document.mjs';
import { openPage } from '../page/open_page.mjs';
import { addressesIn, declaredAddress } from './address.mjs';
import { kindOf, parseUrl, rankLinks } from './links.mjs';
import { logosOf, picturesOf } from './pictures.mjs';
import { socialOf, contactsOf } from './contacts.mjs';
import { ofType, organisationOf, structuredData } from './structured.mjs';
import { blockTexts, line, textOf } from './texts.mjs';

/** A page with less text than this, and with scripts, is read again after its scripts have run. */
const EMPTY_CHARS = 200;
const PARAGRAPHS_MAX = 120;
const SHEETS_MAX = 20;
const SCRIPTS_MAX = 20;

/** @param {{url: string, bytes: string, contentType: string|null, site: object}} request `bytes` in base64, of the page */
export function readPage({ url, bytes, contentType, site }) {
  const { document, base, meta } = openPage(Buffer.from(bytes, 'base64'), { url, contentType });
  const blocks = blockTexts(document);
  const scripts = resources(document, base, isScript, SCRIPTS_MAX);
  const hasScripts = scripts.length > 0 || hasInlineScript(document);
  return {
    sheets: resources(document, base, isSheet, SHEETS_MAX),
    scripts,
    isEmpty: hasScripts && blocks.join(' ').length < EMPTY_CHARS,
    textChars: blocks.join(' ').length,
    links: rankLinks(document, base, site),
    facts: factsOf(document, base, url, meta),
  };
}

const isSheet = (node) => (node.tagName === 'link' && /(^|\s)stylesheet(\s|$)/i.test(attribute(node, 'rel') ?? '') ? 'href' : null);
const isScript = (node) => (node.tagName === 'script' && attribute(node, 'src') !== null && !/json/.test(attribute(node, 'type') ?? '') ? 'src' : null);

function resources(document, base, nameOf, most) {
  const found = new Set();
  walk(document, (node) => {
    const name = isElement(node) ? nameOf(node) : null;
    const url = name === null ? null : parseUrl(attribute(node, name), base);
    if (url !== null && ['http:', 'https:'].includes(url.protocol) && found.size < most) found.add(url.href);
  });
  return [...found];
}

function hasInlineScript(document) {
  let has = false;
  walk(document, (node) => {
    if (isElement(node) && node.tagName === 'script' && !/json/.test(attribute(node, 'type') ?? '')) has = true;
  });
  return has;
}

function firstText(document, tagName) {
  let found = null;
  walk(document, (node) => {
    if (found === null && isElement(node) && node.tagName === tagName) found = line(tagName === 'title' ? node.childNodes[0]?.value : textOf(node), 300);
  });
  return found;
}

const rootOf = (document) => document.childNodes.find((node) => node.tagName === 'html');

/** Sentences of the main part: paragraphs without navigation. */
function paragraphsOf(document) {
  const found = [];
  walk(document, (node) => {
    if (!isElement(node)) return true;
    if (['nav', 'footer', 'script', 'style', 'form', 'noscript'].includes(node.tagName)) return false;
    if (!['p', 'blockquote', 'li'].includes(node.tagName) || found.length >= PARAGRAPHS_MAX) return true;
    const text = line(textOf(node), 1500);
    if (text !== null && /[.!?…]$/.test(text)) found.push(text);
    return false;
  });
  return found;
}

/** The facts for the summary of the website. */
function factsOf(document, base, url, meta) {
  const objects = structuredData(document);
  const organisation = organisationOf(objects);
  const website = ofType(objects, 'WebSite');
  const own = (name, most = 300) => line(meta.get(name), most);
  const text = (value, most) => line(typeof value === 'string' ? value : null, most);
  return {
    url,
    kind: kindOf(new URL(url).pathname, '').kind,
    lang: attribute(rootOf(document) ?? { attrs: [] }, 'lang') ?? (own('og:locale', 35)?.replace('_', '-') ?? null),
    title: firstText(document, 'title'),
    heading: firstText(document, 'h1'),
    siteName: own('og:site_name', 120) ?? own('application-name', 120) ?? text(website?.name, 120),
    description: own('description', 2000) ?? own('og:description', 2000),
    themeColour: own('theme-color', 40),
    organisation: organisation === null ? null : {
      name: text(organisation.name, 120),
      description: text(organisation.description, 2000),
      slogan: text(organisation.slogan, 200),
      email: text(organisation.email, 320)?.replace(/^mailto:/i, '') ?? null,
      phone: text(organisation.telephone, 60),
      logo: logoOf(organisation, base),
      address: declaredAddress([organisation.address].flat()[0] ?? null),
      social: [organisation.sameAs].flat().filter((one) => typeof one === 'string').slice(0, 30),
    },
    addresses: addressesIn(document),
    contacts: contactsOf(document, objects),
    social: socialOf(document, base),
    logos: logosOf(document, base),
    leadPicture: pictureOf(own('og:image', 2048), own('og:image:alt'), base),
    pictures: picturesOf(document, base),
    paragraphs: paragraphsOf(document),
  };
}

function logoOf(organisation, base) {
  const logo = [organisation.logo ?? organisation.image].flat()[0];
  const address = typeof logo === 'string' ? logo : logo?.url ?? logo?.contentUrl;
  return parseUrl(address, base)?.href ?? null;
}

function pictureOf(address, alt, base) {
  const url = address === null ? null : parseUrl(address, base);
  return url !== null && ['http:', 'https:'].includes(url.protocol) ? { url: url.href, alt, caption: null, heading: null, isOrnament: false } : null;
}
