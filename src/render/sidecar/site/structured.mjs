// Structured data of a page: JSON-LD, schema.org microdata. The objects are bounded in number and depth, and every text is data.

import { attribute, isElement, walk } from '../html/document.mjs';
import { jsonLdOf } from '../page/open_page.mjs';
import { microdata } from './address.mjs';

const SCRIPT_CHARS = 500_000;
const OBJECTS_MAX = 300;
const DEPTH_MAX = 6;

/** Every object with an @type below a value, in order. */
function objectsIn(value, found, depth = 0) {
  if (value === null || typeof value !== 'object' || depth > DEPTH_MAX || found.length >= OBJECTS_MAX) return;
  if (!Array.isArray(value) && value['@type'] !== undefined) found.push(value);
  for (const member of Array.isArray(value) ? value : Object.values(value)) objectsIn(member, found, depth + 1);
}

/** The objects of JSON-LD and microdata. A block that is not valid JSON is skipped. */
export function structuredData(document) {
  const found = [];
  walk(document, (node) => {
    if (!isElement(node)) return;
    const script = jsonLdOf(node);
    if (script !== null) {
      try {
        objectsIn(JSON.parse(script.slice(0, SCRIPT_CHARS)), found);
      } catch {
        // as a search engine does
      }
    }
    const type = /schema\.org\/(\w+)$/i.exec(attribute(node, 'itemtype') ?? '')?.[1];
    if (type !== undefined && attribute(node, 'itemscope') !== null && found.length < OBJECTS_MAX) found.push({ ...microdata(node), '@type': type });
  });
  return found;
}

const ORGANISATIONS = /^(Organization|Corporation|LocalBusiness|Store|OnlineStore|OnlineBusiness|NewsMediaOrganization|Restaurant|Hotel|NGO|ProfessionalService|Brand|\w+(Business|Store|Shop|Organization))$/;

const typesOf = (object) => [object['@type']].flat().filter((type) => typeof type === 'string');

/** The object that describes the owner of the website; null when there is none. The one with most members is taken. */
export function organisationOf(objects) {
  const all = objects.filter((object) => typesOf(object).some((type) => ORGANISATIONS.test(type)) && typeof object.name === 'string');
  return all.sort((a, b) => Object.keys(b).length - Object.keys(a).length)[0] ?? null;
}

export const ofType = (objects, type) => objects.find((object) => typesOf(object).includes(type)) ?? null;
