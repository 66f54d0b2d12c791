// A CSV of 2,000 rows as spreadsheets write them: semicolons, German headings, quotes, repeated addresses, rows without an address.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { asText, extra, named } from '../mistakes.mjs';

const ROWS = 2000;
const isBad = (row) => row % 400 === 399;
/** The address of the row before, in capitals. */
const isAgain = (row) => row % 500 === 250;

function csvOf(place) {
  const lines = ['E-Mail;Vorname;Nachname;Kundennummer;Umsatz;Notiz'];
  for (let row = 0; row < ROWS; row++) {
    const name = `kunde${isAgain(row) ? row - 1 : row}`;
    const email = isBad(row) ? 'unbekannt' : isAgain(row) ? place.address(name).toUpperCase() : place.address(name);
    lines.push(`${email};Jürgen ${row};"Müller; jun.";K-${row};${row * 3};"sagte ""bald"""`);
  }
  return `${lines.join('\r\n')}\r\n`;
}

export default {
  title: 'A messy CSV of 2,000 rows',
  brief: (place) => `Import this export of our shop as contacts. The column Kundennummer is their user id; leave the notes out. Tell me how many contacts there are and how many rows failed.\n\n${csvOf(place)}`,
  given: (place) => ({ csv: csvOf(place), userIdColumn: 'Kundennummer' }),
  needs: ['import_contacts_csv'],
  calls: 1,
  seed: () => {},

  async golden(assistant, { csv, userIdColumn }) {
    const mapping = { [userIdColumn]: 'userId', Notiz: null };
    const { summary } = await assistant.call('import_contacts_csv', { csv, mapping, idempotencyKey: randomUUID() });
    return `There are ${summary.inserted} contacts; ${summary.failed} rows failed, which have no valid address.`;
  },
  figures: { contacts: 'select count(*) from contacts where brand_id = $BRAND', failed: 'select count(*) from import_errors where brand_id = $BRAND' },

  async check(place) {
    const kept = Array.from({ length: ROWS }, (_, row) => row).filter((row) => !isBad(row) && !isAgain(row));
    assert.equal(await place.count('select count(*) from contacts where brand_id = $BRAND'), kept.length);
    const [sample] = await place.rows(`select first_name, last_name, user_id, custom_fields from contacts where brand_id = $BRAND and email_key = '${place.address('kunde7')}'`);
    assert.equal(sample, 'Jürgen 7|Müller; jun.|K-7|{"umsatz": 21}');
    assert.equal(await place.sql(`select user_id from contacts where brand_id = $BRAND and email_key = '${place.address('kunde249')}'`), 'K-250', 'the later row counts');
  },

  mistakes: {
    import_contacts_csv: [
      named('csv', 'content'),
      named('csv', 'data'),
      asText('mapping'),
      named('idempotencyKey', 'idempotency_key'),
      named('mapping', 'columnMapping'),
      extra('delimiter', ';'),
    ],
  },
};
