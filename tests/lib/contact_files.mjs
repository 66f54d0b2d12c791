// Files of contacts for imports, and the contacts that a database holds of them.

import { writeFileSync } from 'node:fs';
import { sql } from './database.mjs';

/**
 * Writes a CSV of `rows` rows: every 1,000th is no address, and every 500th repeats an earlier address with a later word.
 * Gives what must be in the database afterwards, sorted lines such as "reader7@example.com|Name 7|7", and the number of bad rows.
 */
export function writeContacts(path, rows) {
  const lines = ['E-Mail,First Name,n'];
  const expected = new Map();
  let bad = 0;
  for (let i = 1; i <= rows; i++) {
    if (i % 1000 === 0) {
      lines.push(`nobody ${i},Bad,0`);
      bad++;
      continue;
    }
    const who = i % 500 === 0 ? i - 499 : i;
    lines.push(`Reader${who}@example.com,"Name, ${i}",${i}`);
    expected.set(`reader${who}@example.com`, `Name, ${i}|${i}`);
  }
  writeFileSync(path, `${lines.join('\r\n')}\r\n`);
  return { bad, expected: [...expected].map(([email, rest]) => `${email}|${rest}`).sort() };
}

export async function storedContacts(installation) {
  return (await sql(installation, "select email_key, first_name, custom_fields->>'n' from contacts")).sort();
}
