// The file of the scenario, and what must be known of its contacts: everything follows from the number of the row.

import { closeSync, openSync, writeSync } from 'node:fs';

const FIRST_NAMES = ['Ann', 'Zoë', 'Jürgen', "O'Neil", 'Łukasz', '"Ace"', '陽子', 'Smith, Jr.'];
const TOWNS = ['Delft', 'Porto', 'Ærøskøbing', ''];
const PLANS = ['free', 'team', 'pro'];
const LINES_A_WRITE = 10_000;

const BAD_EVERY = 5000; // no address
const AGAIN_EVERY = 2500; // the address of the row before, in capitals: the later row counts
const FOUNDER_EVERY = 1000;
const LEFT_EVERY = 7; // of the founders, unsubscribed

/** A row whose address the row before it has. */
export const REPEATED_ROW = AGAIN_EVERY / 2;

export const isBad = (row) => row % BAD_EVERY === BAD_EVERY - 1;
const isAgain = (row) => row % AGAIN_EVERY === REPEATED_ROW;

const cell = (text) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** What row `row` (from 0) says. */
export function contactOf(row) {
  const thousands = Math.floor(row / FOUNDER_EVERY);
  const isFounder = row % FOUNDER_EVERY === 0;
  return {
    email: isAgain(row) ? `MEMBER${row - 1}@example.com` : `member${row}@example.com`,
    firstName: FIRST_NAMES[row % FIRST_NAMES.length],
    subscribed: !(isFounder && thousands % LEFT_EVERY === 3),
    plan: isFounder ? 'founder' : PLANS[row % PLANS.length],
    score: (row * 7919 + thousands * 37) % 1000,
    signedUp: `20${String(10 + (row % 15)).padStart(2, '0')}-${String(1 + (row % 12)).padStart(2, '0')}-17`,
    town: TOWNS[row % TOWNS.length],
  };
}

/** Writes `rows` rows to `path`. */
export function writeContacts(path, rows) {
  const file = openSync(path, 'w');
  let lines = ['Email,First Name,Subscribed,Plan,score,signed_up,Town'];
  const flush = () => {
    writeSync(file, `${lines.join('\r\n')}\r\n`);
    lines = [];
  };
  for (let row = 0; row < rows; row++) {
    const { email, firstName, subscribed, plan, score, signedUp, town } = contactOf(row);
    const address = isBad(row) ? `member ${row}` : email;
    lines.push([address, firstName, subscribed, plan, score, signedUp, town].map((value) => cell(String(value))).join(','));
    if (lines.length === LINES_A_WRITE) flush();
  }
  if (lines.length > 0) flush();
  closeSync(file);
}

/** How many contacts there are in the end, and how many of them `holds` is true of. */
export function count(rows, holds = () => true) {
  let found = 0;
  for (let row = 0; row < rows; row++) {
    if (!isBad(row) && !isAgain(row + 1) && holds(contactOf(row))) found++;
  }
  return found;
}

export function countBad(rows) {
  return Math.floor(rows / BAD_EVERY);
}
