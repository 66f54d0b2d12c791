// Files for imports, and what a database holds of them.

import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

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

/** The answer of an SQL statement as lines, columns parted by bars. */
export async function sql(installation, statement) {
  const { stdout } = await run('psql', [await databaseUrl(installation), '-qXAt', '-c', 'set search_path to posthorn', '-c', statement],
    { maxBuffer: 1 << 28 });
  return stdout.split('\n').filter((line) => line !== '');
}

const urls = new WeakMap();

/** Asked for once: it stays where it is as long as the installation. */
export async function databaseUrl(installation) {
  if (!urls.has(installation)) {
    const { stdout } = await installation.run('doctor');
    urls.set(installation, JSON.parse(stdout).database.url);
  }
  return urls.get(installation);
}

export async function storedContacts(installation) {
  return (await sql(installation, "select email_key, first_name, custom_fields->>'n' from contacts")).sort();
}
