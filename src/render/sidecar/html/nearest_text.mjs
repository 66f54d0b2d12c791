// The text of a design that is nearest to a text that was not found, for the message of the error. The work is linear in the
// size of the design.

import { findText } from './search.mjs';

const WORDS = 60;
const EXCERPT_UNITS = 90;
/** Texts that are compared letter by letter, and how much of each. */
const COMPARED = 20;
const COMPARED_UNITS = 120;
const DISTINCT_WORDS = 20_000;
const TYPO_CHARS = 40;
const WORD = /[^\s\ud800]+/g;

/** Quotes, dashes and case, which differ most often. */
const FOLDS = [[/[‘’‚‛`´]/g, '\''], [/[“”„‟«»]/g, '"'], [/[‐‑‒–—−]/g, '-'], [/\u2026/g, '.']];

/**
 * @param {string} find as foldText gives it
 * @param {import('./reader_text.mjs').ReaderText[]} readers
 * @returns {null | {crosses: true} | {text: string, place: string}} `crosses`: the text is there, and spans segments
 */
export function nearestText(find, readers) {
  for (const search of [foldedMatches, crossingMatches, commonWords, similarWords]) {
    const found = readers.flatMap((reader) => search(find, reader));
    if (found.length > 0) return nearestOf(find, found);
  }
  return null;
}

/** Of several texts, the one with the fewest other letters. */
function nearestOf(find, found) {
  if (found.length === 1 || found[0].crosses) return found[0];
  const start = (text) => fold(text).slice(0, COMPARED_UNITS);
  const distances = found.slice(0, COMPARED).map(({ text }) => editDistance(start(find), start(text)));
  return found[distances.indexOf(Math.min(...distances))];
}

/** Lower case, and one form of quotes and dashes; the length stays the same. */
function fold(text) {
  const lower = text.toLowerCase();
  return FOLDS.reduce((folded, [pattern, form]) => folded.replace(pattern, form), lower.length === text.length ? lower : text);
}

function foldedMatches(find, reader) {
  const wanted = find.trim();
  return findText(fold(reader.text), fold(wanted), undefined, 1).map((at) => partOf(reader, at, at + wanted.length));
}

function crossingMatches(find, { text }) {
  const isIn = (joined) => findText(joined, find.trim(), undefined, 1).length > 0;
  return isIn(text.replaceAll('\ud800', ' ')) || isIn(text.replaceAll('\ud800', '')) ? [{ crosses: true }] : [];
}

/** A part of one segment. It ends after a merge tag, not inside. */
function partOf(reader, start, end) {
  const segment = reader.segmentAt(start);
  let to = Math.min(end, segment.end, start + EXCERPT_UNITS);
  while (to < segment.end && reader.from[to] === reader.from[to - 1]) to++;
  return { text: reader.text.slice(start, to).toWellFormed(), place: segment.place };
}

/** The places at which most words of the text are in the same order: at least half of them. */
function commonWords(find, reader) {
  const wanted = [...find.matchAll(WORD)].slice(0, WORDS).map(([word]) => fold(word));
  if (wanted.length < 2) return [];
  const index = new Map(wanted.map((word, i) => [word, i]));
  const words = [...reader.text.matchAll(WORD)];
  const votes = new Map();
  words.forEach(([word], i) => {
    const place = index.get(fold(word));
    if (place !== undefined) votes.set(i - place, (votes.get(i - place) ?? 0) + 1);
  });
  const most = [...votes.values()].reduce((max, count) => Math.max(max, count), 0);
  if (most * 2 < wanted.length) return [];
  const starts = [...votes].filter(([, count]) => count === most).slice(0, COMPARED).map(([start]) => start);
  return starts.map((start) => {
    const last = words[Math.min(words.length, start + wanted.length) - 1];
    return partOf(reader, words[Math.max(0, start)].index, last.index + last[0].length);
  });
}

/** For a single word, the word with the fewest other letters. */
function similarWords(find, reader) {
  if (find.length > TYPO_CHARS || /\s/.test(find.trim())) return [];
  const wanted = fold(find.trim());
  let best = [];
  let least = Math.floor(wanted.length / 3) + 1;
  const seen = new Set();
  for (const { 0: word, index } of reader.text.matchAll(WORD)) {
    const folded = fold(word);
    if (Math.abs(folded.length - wanted.length) >= least || seen.has(folded) || seen.size >= DISTINCT_WORDS) continue;
    seen.add(folded);
    const distance = editDistance(wanted, folded);
    if (distance < least) [best, least] = [[partOf(reader, index, index + word.length)], distance];
  }
  return best;
}

function editDistance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length];
}
