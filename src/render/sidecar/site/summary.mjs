// The brand that the pages of a website show. Declared facts come before read ones, the start page and the imprint before other pages.

import { zoneOfAddress } from './address.mjs';
import { profileOf } from './contacts.mjs';
import { themeOf } from './palette.mjs';
import { line } from './texts.mjs';
import { languageOf, toneOf } from './tone.mjs';

const PICTURES_MAX = 24;
const LOGOS_MAX = 6;
const SOCIAL_MAX = 10;
const SEPARATOR = /\s+[|–—·•:-]\s+|\s*[|–—·•]\s*|:\s+/;

const first = (values) => values.find((value) => value !== null && value !== undefined && value !== '') ?? null;
const plain = (text) => (text ?? '').toLowerCase().normalize('NFD').replace(/[^a-z0-9]/g, '');

const isGeneric = (text) => /^(home|home ?page|start|startseite|welcome|willkommen|accueil|inicio|index)$/i.test(text);
const partsOf = (title) => (title ?? '').split(SEPARATOR).map((part) => part.trim()).filter((part) => part !== '' && !isGeneric(part));

/** The part of a title that resembles the domain, or the shorter end of it. */
function nameInTitle(title, domain) {
  const parts = partsOf(title);
  const label = plain(domain.replace(/^www\./, '').split('.')[0]);
  return parts.find((part) => label !== '' && plain(part) !== '' && (label.includes(plain(part)) || plain(part).includes(label)))
    ?? (parts.length > 1 ? [parts[0], parts.at(-1)].sort((a, b) => a.length - b.length)[0] : parts[0] ?? null);
}

/** What a title says besides the name; else the heading of the start page. */
function taglineOf(start, name) {
  const fromTitle = partsOf(start.title).find((part) => plain(part) !== plain(name) && part.split(' ').length >= 2);
  return fromTitle ?? (start.heading !== null && start.heading.length <= 100 && plain(start.heading) !== plain(name) ? start.heading : null);
}

const LANGUAGE = /^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,2}$/;

function localeOf(pages) {
  const declared = pages.map(({ lang }) => lang?.trim().replace('_', '-') ?? '').find((lang) => LANGUAGE.test(lang));
  return declared ?? languageOf(pages.flatMap(({ paragraphs }) => paragraphs).join('\n'));
}

function addressOf(pages, organisation) {
  const ofKind = (kind) => pages.filter((page) => page.kind === kind).map(({ addresses }) => addresses.element ?? addresses.lines);
  return first([organisation?.address, ...pages.map(({ addresses }) => addresses.item), ...ofKind('imprint'), ...ofKind('contact'),
    ...pages.map(({ addresses }) => addresses.element), ...pages.map(({ addresses }) => addresses.lines)]);
}

const EMAIL = /^[\w.+-]{1,64}@[a-z\d-]+(?:\.[a-z\d-]+)+$/i;
const USUAL = /^(info|hello|hi|contact|kontakt|support|mail|office|team|service|contacto|bonjour)@/i;

/** The contact address: declared, of the domain of the website, a usual name before others. */
function emailOf(pages, organisation, domain) {
  const own = domain.replace(/^www\./, '');
  const order = [...pages].sort((a, b) => Number(['imprint', 'contact'].includes(b.kind)) - Number(['imprint', 'contact'].includes(a.kind)));
  const found = [...new Set(order.flatMap(({ contacts }) => contacts.emails))].filter((email) => EMAIL.test(email) && !/^(no-?reply|datenschutz|privacy|abuse)/i.test(email));
  const score = (email) => (email.toLowerCase().endsWith(`@${own}`) ? 2 : 0) + (USUAL.test(email) ? 1 : 0);
  if (EMAIL.test(organisation?.email ?? '')) return organisation.email;
  return found.sort((a, b) => score(b) - score(a))[0] ?? null;
}

function socialLinks(pages, organisation) {
  const declared = (organisation?.social ?? []).map(profileOf).filter((one) => one !== null);
  const found = new Map();
  for (const profile of [...declared, ...pages.flatMap(({ social }) => social)]) if (!found.has(profile.network)) found.set(profile.network, profile);
  return [...found.values()].slice(0, SOCIAL_MAX);
}

/** Pictures of all pages, those with words first, each address once. */
function picturesOf(pages) {
  const found = new Map();
  for (const page of pages) {
    for (const picture of [page.leadPicture, ...page.pictures]) {
      if (picture === null || picture.isOrnament || found.has(picture.url)) continue;
      const description = [...new Set([picture.alt, picture.caption, picture.heading, page.title].filter(Boolean))].join('. ');
      found.set(picture.url, { url: picture.url, alt: picture.alt, description: line(description, 500), pageUrl: page.url });
    }
  }
  return [...found.values()].slice(0, PICTURES_MAX);
}

function logosOf(pages, organisation) {
  const declared = organisation?.logo ? [{ url: organisation.logo, score: 9 }] : [];
  const all = [...pages[0].logos.filter(({ score }) => score >= 7), ...declared, ...pages.flatMap(({ logos }) => logos)];
  const found = new Map();
  for (const { url, svg } of all) if (!found.has(url ?? svg)) found.set(url ?? svg, url ? { url } : { svg });
  return [...found.values()].slice(0, LOGOS_MAX);
}

function toneLines(tone) {
  if (tone === null) return '';
  return ['', '## Tone', '', `- Sentence length: about ${tone.sentenceWords} words`, `- Person: ${tone.person}`, `- Formality: ${tone.formality}`,
    `- Exclamation marks: ${tone.exclamations}`, ''].join('\n');
}

/**
 * @param {{domain: string, pages: object[], styles: object[]}} request `pages` are the facts of readPage, the start page first
 * @returns the members that were found; null for the others
 */
export function summarise({ domain, pages, styles }) {
  const organisations = pages.map(({ organisation }) => organisation).filter((one) => one !== null);
  const organisation = organisations.length === 0 ? null : Object.assign({}, ...organisations.toReversed().map((one) => withoutNulls(one)));
  const start = pages[0];
  const name = first([organisation?.name, ...pages.map(({ siteName }) => siteName), line(nameInTitle(start.title, domain), 120)]);
  const locale = localeOf(pages);
  const address = addressOf(pages, organisation);
  const about = pages.find(({ kind }) => kind === 'about');
  return {
    name,
    tagline: line(organisation?.slogan ?? taglineOf(start, name), 200),
    description: line(first([start.description, organisation?.description, about?.description, about?.paragraphs[0], start.paragraphs[0]]), 2000),
    locale,
    timeZone: zoneOfAddress(address),
    address,
    contactEmail: emailOf(pages, organisation, domain),
    contactPhone: line(first([organisation?.phone, ...pages.flatMap(({ contacts }) => contacts.phones)]), 40),
    social: socialLinks(pages, organisation),
    theme: themeOf(styles, start.themeColour),
    tone: toneLines(toneOf([...new Set(pages.flatMap(({ paragraphs }) => paragraphs))], locale)),
    logos: logosOf(pages, organisation),
    pictures: picturesOf(pages),
  };
}

const withoutNulls = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0)));
