// What mail clients support, from the data of caniemail.com in the package caniemail: features of HTML, CSS and images, and the verdict of the
// newest test of each client. The data is read once, from the disk. It is read-only.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FILE = 'caniemail/caniemail.json';
const DATE = /^(?:19|20)\d{2}(?:-\d{1,2})?$/;

let support = null;

/** Compares versions by their numbers: 9.1 comes before 10. */
function compareVersions(a, b) {
  const [left, right] = [a, b].map((version) => version.split(/[.-]/).map((part) => Number.parseInt(part, 10) || 0));
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    if ((left[i] ?? 0) !== (right[i] ?? 0)) return (left[i] ?? 0) - (right[i] ?? 0);
  }
  return 0;
}

/** The newest of the tested versions. Where dates and versions are mixed, the data has them in order of time. */
export function newest(versions) {
  const names = Object.keys(versions);
  const dates = names.filter((name) => DATE.test(name)).length;
  const isMixed = dates > 0 && dates < names.length;
  return (isMixed ? names : names.toSorted(compareVersions)).at(-1);
}

/** The newest entries of a feature: client → 'y', 'n', 'a' (in part) or 'u' (unknown), with the numbers of notes: 'a #1 #2'. */
function entriesOf(stats) {
  const entries = new Map();
  for (const [family, platforms] of Object.entries(stats)) {
    for (const [platform, versions] of Object.entries(platforms)) entries.set(`${family}.${platform}`, versions[newest(versions)] ?? 'u');
  }
  return entries;
}

const verdictsOf = (entries) => new Map([...entries].map(([client, entry]) => [client, entry[0]]));
const notesOf = (entries) => new Map([...entries].map(([client, entry]) => [client, [...entry.matchAll(/#(\d+)/g)].map(([, number]) => number)]));

/**
 * The features by slug: {slug, title, testedOn, keywords, url, verdicts, notes}. `notes` has the numbers of the notes to each verdict.
 * @returns {Map<string, {slug: string, title: string, testedOn: string, keywords: string[], verdicts: Map<string, string>, notes: Map<string, string[]>}>}
 */
export function clientSupport() {
  support ??= read();
  return support.features;
}

/** The name of a client as readers know it: "Outlook (Windows)". */
export function clientName(client) {
  support ??= read();
  const [family, platform] = client.split('.');
  return `${support.names.family[family] ?? family} (${support.names.platform[platform] ?? platform})`;
}

/** The date of the data, as 2026-05-13. */
export function supportDate() {
  support ??= read();
  return support.date;
}

function read() {
  const { data, nicenames, last_update_date: date } = JSON.parse(readFileSync(fileURLToPath(import.meta.resolve(FILE)), 'utf8'));
  const features = data.map(({ slug, title, url, last_test_date: testedOn, keywords, stats }) => [slug, {
    slug, title: title.trim(), url, testedOn, keywords: (keywords ?? '').split(',').map((word) => word.trim()).filter(Boolean),
    verdicts: verdictsOf(entriesOf(stats)), notes: notesOf(entriesOf(stats)),
  }]);
  return { features: new Map(features), names: nicenames, date: date.slice(0, 10) };
}
