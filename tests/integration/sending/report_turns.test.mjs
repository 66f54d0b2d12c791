// A connection whose reports take long: they hold neither the reports of another connection, nor the events of integrations, nor calls
// of other organizations. The test holds the recording of one connection in the database.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SqlSession, sql } from '../../lib/database.mjs';
import { Installation } from '../../lib/installation.mjs';
import { freePort } from '../../lib/ports.mjs';
import { until } from '../../lib/processes.mjs';

const WAIT_MS = 60_000;
const TOGETHER = 2; // threads of a pool that one connection has
const MANY = 9; // more than there are threads for writes
const LARGE = 'x'.repeat(20_000);

describe('reports of a connection that take long (D-119)', { timeout: 600_000 }, () => {
  let installation;
  let server;
  let metrics;
  let rest;
  let busy;
  let calm;
  let payments;
  let holder;

  const post = async (path, body, headers = {}) => {
    const url = `http://127.0.0.1:${server.port}${path}`;
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } });
    await answer.text();
    return answer.status;
  };
  const report = (source, members = {}) =>
    post(source.path, { RecordType: 'Delivery', ...members }, { authorization: `Basic ${Buffer.from(source.credential).toString('base64')}` });

  async function waiting(pool) {
    const text = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
    return Number(new RegExp(`posthorn_calls_waiting\\{lane="${pool}"\\} (\\d+)`).exec(text)[1]);
  }

  before(async () => {
    installation = new Installation();
    metrics = await freePort();
    server = await installation.serve('--metrics', `127.0.0.1:${metrics}`);
    rest = server.client(await installation.key('--brand', await installation.brandId()));
    busy = await installation.admin('report-source', 'add', 'postmark');
    calm = await installation.admin('report-source', 'add', 'postmark');
    payments = await installation.admin('integration', 'add', 'payments');
  });

  after(async () => {
    await holder?.close();
    rest?.close();
    assert.deepEqual(await installation.dispose(), []);
  });

  test('small and large ones hold few threads, and no calls of others', async () => {
    holder = await SqlSession.open(installation);
    // The counts of reports of unknown messages have one row a kind. A report of another kind needs another row.
    assert.equal(await report(busy), 200);
    await holder.rows('begin');
    await holder.rows("select 1 from report_counts where kind = 'other' for update");
    const held = [...Array.from({ length: MANY }, () => report(busy)), ...Array.from({ length: MANY }, () => report(busy, { Details: LARGE }))];
    await until('few of the small ones run', async () => (await waiting('writes')) === MANY - TOGETHER, WAIT_MS);
    await until('few of the large ones run', async () => (await waiting('slow')) >= MANY - TOGETHER, WAIT_MS);
    assert.equal(await report(calm, { RecordType: 'SpamComplaint', ID: 1 }), 200);
    assert.equal(await report(calm, { RecordType: 'SpamComplaint', ID: 2, Details: LARGE }), 200);
    assert.equal(await post(payments.path, { a: 1 }), 401);
    assert.equal((await rest.request('POST', '/v1/contacts', { email: 'ada@readers.example' })).status, 201);
    assert.equal((await sql(installation, 'select count(*) from contacts'))[0], '1');
    await holder.rows('commit');
    assert.deepEqual([...new Set(await Promise.all(held))], [200]);
  });
});
