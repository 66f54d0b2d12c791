// Reports in a mailbox of a real Dovecot: they are fetched by IMAP, and leave the mailbox only after they are recorded.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dovecot, missingDovecot } from '../../lib/dovecot.mjs';
import { sql } from '../../lib/database.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { until } from '../../lib/processes.mjs';

const WAIT_MS = 60_000;
const bounce = (name) => `From: MAILER-DAEMON@old.example\r\nSubject: failure notice\r\n\r\n<${name}@readers.example>:\r\nSorry, no mailbox here by that name. (#5.1.1)\r\n`;

test('a mailbox is emptied as its reports are recorded', { timeout: 600_000, skip: missingDovecot() }, async (t) => {
  const dovecot = await Dovecot.start();
  t.after(() => dovecot.stop());
  const installation = installationFor(t, { IMAP: `imap://reports:secret@127.0.0.1:${dovecot.port}/INBOX?tls=none&every=1` });
  const counted = async () => Number((await sql(installation, "select coalesce(sum(count), 0) from report_counts where source = 'imap' and kind = 'bounce'"))[0]);
  await installation.admin('brand', 'list');
  await sql(installation, 'alter table report_counts rename to report_counts_away');
  for (const name of ['ada', 'bob', 'cyd']) dovecot.deliver(bounce(name));
  const server = await installation.serve();
  const failed = () => server.log.some((line) => line.includes('imap.message'));
  await until('the first message could not be recorded', failed, WAIT_MS).catch((problem) => assert.fail(`${problem.message}\n${server.log.join('\n')}\n${dovecot.log()}`));
  assert.equal(dovecot.messages().length, 3, 'all of them stay');
  await sql(installation, 'alter table report_counts_away rename to report_counts');
  await until('the mailbox is empty', () => dovecot.messages().length === 0, WAIT_MS);
  assert.equal(await counted(), 3, 'each is recorded once');
  const { unmatched } = await installation.admin('reports', '--unmatched');
  assert.deepEqual(unmatched.map(({ recipient }) => recipient).sort(), ['ada', 'bob', 'cyd'].map((name) => `${name}@readers.example`));
  dovecot.deliver(bounce('dan'));
  await until('a later message is fetched too', async () => (await counted()) === 4, WAIT_MS);
  assert.ok(!server.log.some((line) => line.includes('secret')), 'no password in the log');
});
