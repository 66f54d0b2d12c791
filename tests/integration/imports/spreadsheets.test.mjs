// CSV files that a spreadsheet writes, in several languages, charsets and delimiters, are imported without any option.
// LibreOffice made the files; with POSTHORN_LIBREOFFICE=1 (tests/full.sh) it makes them again, and the bytes must be the same.

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { sql } from '../../lib/database.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { captured, exportNow, sheets } from './spreadsheets/spreadsheet.mjs';

test('exports of a spreadsheet are understood (R-371)', { timeout: 600_000 }, async (t) => {
  const installation = installationFor(t);
  const root = join(installation.folder, 'files');
  mkdirSync(root);
  const client = installation.stdio('--import-root', root);
  await client.initialize();
  for (const { file, people } of sheets) {
    writeFileSync(join(root, file), captured(file));
    const { ok, body } = await client.tool('import_contacts_csv', { path: file });
    assert.ok(ok, `${file}: ${JSON.stringify(body)}`);
    assert.deepEqual(body.errors, [], file);
    const rows = await sql(installation, `select json_build_object('email', email, 'firstName', first_name, 'fields', custom_fields) from contacts order by email collate "C"`);
    assert.deepEqual(rows.map((row) => JSON.parse(row)), people, file);
    // The same columns have other types in other languages.
    await sql(installation, 'with gone as (delete from contacts) delete from contact_fields');
  }
});

test('the exports are still what LibreOffice writes', { timeout: 600_000, skip: process.env.POSTHORN_LIBREOFFICE !== '1' && 'in tests/full.sh' }, async () => {
  for (const sheet of sheets) {
    const made = await exportNow(sheet);
    assert.ok(made !== null, 'soffice is installed');
    assert.equal(made.toString('latin1'), captured(sheet.file).toString('latin1'), sheet.file);
  }
});
