// What a page declares in JSON-LD (schema.org): products and events. Only these types and members are read.

import { webAddress } from './open_page.mjs';

const SOURCE_CHARS = 200_000;
const NODES = 2_000;
const ENTRIES = 24;
const EVENT_TYPE = /(?:^|\/)(?:\w+)?Event$/;
const PRODUCT_TYPE = /(?:^|\/)Product(?:Group|Model)?$/;
const SIGNS = { EUR: '€', USD: '$', GBP: '£', JPY: '¥' };

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const first = (value) => (Array.isArray(value) ? value[0] : value);

function textOf(value) {
  const one = first(value);
  if (typeof one === 'string') return one.replace(/<[^>]{0,500}>/g, ' ').replace(/\s+/g, ' ').trim() || null;
  return typeof one === 'number' ? String(one) : null;
}

function addressOf(value, base) {
  const one = first(value);
  const text = isObject(one) ? textOf(one.url ?? one.contentUrl ?? one['@id']) : textOf(one);
  return text === null ? null : webAddress(text, base);
}

/** "€24.90" of the amount and the currency that an offer declares. */
function priceOf(offers) {
  const offer = first(offers);
  if (!isObject(offer)) return null;
  const specified = isObject(first(offer.priceSpecification)) ? first(offer.priceSpecification) : {};
  const amount = textOf(offer.price ?? offer.lowPrice ?? specified.price);
  const currency = textOf(offer.priceCurrency ?? specified.priceCurrency);
  if (amount === null) return null;
  if (currency === null) return amount;
  return SIGNS[currency] ? `${SIGNS[currency]}${amount}` : `${amount} ${currency}`;
}

function productOf(node, base) {
  const product = {
    name: textOf(node.name), text: textOf(node.description), price: priceOf(node.offers ?? node.hasVariant?.[0]?.offers),
    image: addressOf(node.image, base), href: addressOf(node.url ?? first(node.offers)?.url, base),
  };
  return product.name === null ? null : withoutNulls(product);
}

function postalAddress(value) {
  if (!isObject(value)) return textOf(value);
  const parts = [value.streetAddress, [value.postalCode, value.addressLocality].map(textOf).filter(Boolean).join(' ')];
  return parts.map(textOf).filter(Boolean).join(', ') || null;
}

function eventOf(node, base) {
  const place = first(node.location);
  const event = {
    name: textOf(node.name), starts: textOf(node.startDate), ends: textOf(node.endDate), href: addressOf(node.url, base),
    place: isObject(place) ? textOf(place.name) : textOf(place), address: isObject(place) ? postalAddress(first(place.address)) : null,
  };
  return event.name === null || event.starts === null ? null : withoutNulls(event);
}

const withoutNulls = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));

/** Every object of a JSON-LD text, its graphs and lists included. */
function* nodesOf(value) {
  const waiting = [value];
  for (let i = 0; i < waiting.length && i < NODES; i++) {
    const node = waiting[i];
    if (Array.isArray(node)) waiting.push(...node.slice(0, NODES));
    else if (isObject(node)) {
      yield node;
      waiting.push(...[node['@graph'], node.mainEntity, node.itemListElement, node.item].filter((inner) => inner !== undefined));
    }
  }
}

function hasType(node, pattern) {
  return [node['@type']].flat().some((type) => typeof type === 'string' && pattern.test(type));
}

/** @returns {{products: object[], events: object[]}} */
export function readDeclared(sources, base) {
  const products = [];
  const events = [];
  for (const source of sources) {
    for (const node of nodesOf(parse(source))) {
      const product = hasType(node, PRODUCT_TYPE) && products.length < ENTRIES ? productOf(node, base) : null;
      const event = hasType(node, EVENT_TYPE) && events.length < ENTRIES ? eventOf(node, base) : null;
      if (product !== null) products.push(product);
      if (event !== null) events.push(event);
    }
  }
  return { products, events };
}

function parse(source) {
  try {
    return source.length <= SOURCE_CHARS ? JSON.parse(source) : null;
  } catch {
    return null;
  }
}
