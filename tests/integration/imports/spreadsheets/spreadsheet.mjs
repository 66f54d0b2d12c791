// A small sheet of contacts, and the CSV that LibreOffice makes of it in several languages, charsets and delimiters. What it made
// is kept beside this file, byte for byte; where LibreOffice is installed the test makes it again.

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const FILTER = 'Text - txt - csv (StarCalc)';
const CONVERT_LIMIT_MS = 120_000;
const folder = fileURLToPath(new URL('.', import.meta.url));

// Field delimiter, charset and language as LibreOffice numbers them ("Filter Options for CSV Files" of its help).
const COMMA = 44;
const SEMICOLON = 59;
const TAB = 9;
const WINDOWS_1252 = 1;
const UTF_8 = 76;
const UTF_16 = 65535;

const people = {
  german: [
    { email: 'jürgen@example.com', firstName: 'Jürgen', fields: { points: 1.5, vip: 'WAHR', since: '21.11.26', postcode: '01067', note: 'sagt "ja"; oder, nein' } },
    { email: 'zoe@example.com', firstName: 'Zoë', fields: { points: 1234, vip: 'FALSCH', since: '02.01.27', postcode: '80331', note: '=1+1\nzweite Zeile' } },
  ],
  english: [
    { email: 'jürgen@example.com', firstName: 'Jürgen', fields: { points: 1.5, vip: true, since: '11/21/26', postcode: '01067', note: 'sagt "ja"; oder, nein' } },
    { email: 'zoe@example.com', firstName: 'Zoë', fields: { points: 1234, vip: false, since: '01/02/27', postcode: '80331', note: '=1+1\nzweite Zeile' } },
  ],
  french: [
    { email: 'jürgen@example.com', firstName: 'Jürgen', fields: { points: 1.5, vip: 'VRAI', since: '21/11/26', postcode: '01067', note: 'sagt "ja"; oder, nein' } },
    { email: 'zoe@example.com', firstName: 'Zoë', fields: { points: 1234, vip: 'FAUX', since: '02/01/27', postcode: '80331', note: '=1+1\nzweite Zeile' } },
  ],
};

// What is exported how, and what must be imported of it.
export const sheets = [
  { file: 'german-semicolon-windows1252.csv', language: ['de', 'DE', 1031], delimiter: SEMICOLON, charset: WINDOWS_1252, people: people.german },
  { file: 'german-tab-utf16.csv', language: ['de', 'DE', 1031], delimiter: TAB, charset: UTF_16, people: people.german },
  { file: 'english-comma-utf8.csv', language: ['en', 'US', 1033], delimiter: COMMA, charset: UTF_8, people: people.english },
  { file: 'english-quoted-utf8.csv', language: ['en', 'US', 1033], delimiter: COMMA, charset: UTF_8, quoteAll: true, people: people.english },
  { file: 'french-semicolon-utf8.csv', language: ['fr', 'FR', 1036], delimiter: SEMICOLON, charset: UTF_8, people: people.french },
];

export const captured = (file) => readFileSync(join(folder, file));

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
const textCell = (text) => `<table:table-cell office:value-type="string">${text.split('\n').map((line) => `<text:p>${escaped(line)}</text:p>`).join('')}</table:table-cell>`;
const numberCell = (value) => `<table:table-cell office:value-type="float" office:value="${value}"/>`;
const booleanCell = (value) => `<table:table-cell table:style-name="truth" office:value-type="boolean" office:boolean-value="${value}"/>`;
const dateCell = (value) => `<table:table-cell table:style-name="day" office:value-type="date" office:date-value="${value}"/>`;

/** The sheet as a flat OpenDocument file (OASIS ODF 1.2), in a language that its numbers, dates and truths are shown in. */
export function fods(language, country) {
  const rows = [
    ['E-Mail', 'Vorname', 'points', 'vip', 'since', 'postcode', 'note'].map(textCell),
    [textCell('jürgen@example.com'), textCell('Jürgen'), numberCell(1.5), booleanCell(true), dateCell('2026-11-21'), textCell('01067'),
      textCell('sagt "ja"; oder, nein')],
    [textCell('zoe@example.com'), textCell('Zoë'), numberCell(1234), booleanCell(false), dateCell('2027-01-02'), textCell('80331'),
      textCell('=1+1\nzweite Zeile')],
  ];
  const names = ['office', 'style', 'text', 'table', 'number'].map((name) => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name === 'number' ? 'datastyle' : name}:1.0"`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<office:document ${names.join(' ')} xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"
  office:version="1.2" office:mimetype="application/vnd.oasis.opendocument.spreadsheet">
<office:styles><style:default-style style:family="table-cell"><style:text-properties fo:language="${language}" fo:country="${country}"/></style:default-style></office:styles>
<office:automatic-styles>
<number:boolean-style style:name="N99"><number:boolean/></number:boolean-style>
<number:date-style style:name="N36" number:automatic-order="true"><number:day number:style="long"/><number:text>.</number:text><number:month number:style="long"/><number:text>.</number:text><number:year/></number:date-style>
<style:style style:name="truth" style:family="table-cell" style:data-style-name="N99"/>
<style:style style:name="day" style:family="table-cell" style:data-style-name="N36"/>
</office:automatic-styles>
<office:body><office:spreadsheet><table:table table:name="Contacts">
${rows.map((cells) => `<table:table-row>${cells.join('')}</table:table-row>`).join('\n')}
</table:table></office:spreadsheet></office:body></office:document>
`;
}

// The user's language, which numbers without one of their own are shown in.
const settings = (locale) => `<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Setup/L10N"><prop oor:name="ooSetupSystemLocale" oor:op="fuse"><value>${locale}</value></prop></item>
</oor:items>
`;

/** The export of a sheet, made by LibreOffice now; null when there is none on this machine. */
export async function exportNow({ language: [language, country, number], delimiter, charset, quoteAll }) {
  const work = mkdtempSync(join(tmpdir(), 'posthorn-sheet-'));
  try {
    writeFileSync(join(work, 'sheet.fods'), fods(language, country));
    mkdirSync(join(work, 'profile/user'), { recursive: true });
    writeFileSync(join(work, 'profile/user/registrymodifications.xcu'), settings(`${language}-${country}`));
    const options = [delimiter, 34, charset, 1, '', number, quoteAll === true, true].join(',');
    await promisify(execFile)('soffice', [`-env:UserInstallation=file://${work}/profile`, '--headless', '--convert-to', `csv:${FILTER}:${options}`,
      '--outdir', join(work, 'out'), join(work, 'sheet.fods')], { timeout: CONVERT_LIMIT_MS, env: { ...process.env, HOME: work } });
    return readFileSync(join(work, 'out/sheet.csv'));
  } catch (problem) {
    if (problem.code === 'ENOENT' && problem.syscall?.startsWith('spawn')) return null;
    throw problem;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
