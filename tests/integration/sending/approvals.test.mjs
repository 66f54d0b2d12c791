// Approvals of sends at two running servers: administrators who decide at once, a server that is killed while it
// decides, credentials and pages that must not decide, and the audit rows.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { makePlace, must, transportsOfKey } from '../../lib/brand_fixture.mjs';
import { prepareSend, saveContacts } from '../../lib/campaign.mjs';
import { sql } from '../../lib/database.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { Postgres } from '../../lib/postgres.mjs';
import { until } from '../../lib/processes.mjs';

const LIMIT = { timeout: 600_000 };
const COUNT = 3;
const postgres = new Postgres();
after(() => postgres.dispose());
const installation = installationFor({ after }, { DATABASE: postgres.url });
let servers;
let place;
let orgId;

const admins = [];
const clients = [];
const signedIn = (server, cookie, headers = {}) => {
  clients.push(server.client(undefined, { cookie: `__session=${cookie}`, ...headers }, 10));
  return clients.at(-1);
};
const decide = (client, sendId, decision, headers = {}) => client.post('/approvals', { sendId, decision }, headers);

before(async () => {
  await postgres.start();
  servers = [await installation.serve(), await installation.serve()];
  place = await makePlace(installation, servers[0]);
  await saveContacts(place.mcp.call, 'reader', COUNT);
  orgId = (await installation.admin('org', 'list')).data[0].orgId;
  await installation.admin('org', 'approvals', orgId, '0');
  for (const server of servers) admins.push(signedIn(server, (await installation.admin('session', 'create', '--org', orgId)).cookie));
});

after(() => clients.forEach((client) => client.close()));

async function pendingSend(more = {}) {
  const order = await prepareSend(place.mcp.call);
  const accepted = await must(place.rest.call('POST', '/v1/sends', { ...order, ...more }));
  assert.equal(accepted.status, 'pending_approval');
  return accepted.sendId;
}

const read = (sendId) => must(transportsOfKey(servers[1], place.key).rest.call('GET', `/v1/sends/${sendId}`));
const completed = (sendId) => until('the send has ended', async () => (await read(sendId)).status === 'completed', 30_000);
const messagesOf = (sendId) => installation.outbox().filter((name) => name.startsWith(sendId)).length;
const jobs = async () => Number((await sql(installation, "select count(*) from jobs where kind = 'campaign'"))[0]);

test('of many decisions at once one holds, and the send goes out once', LIMIT, async () => {
  const sendId = await pendingSend();
  const jobsBefore = await jobs();
  const answers = await Promise.all(Array.from({ length: 20 }, (_, index) =>
    decide(admins[index % 2], sendId, index % 3 === 0 ? 'reject' : 'approve').then((answer) => ({ ...answer, index }))));
  const taken = (await read(sendId)).approvalState === 'approved' ? 'approve' : 'reject';
  for (const { index, status, body } of answers) {
    const isSame = (index % 3 === 0 ? 'reject' : 'approve') === taken;
    assert.equal(status, isSame ? 200 : 409, JSON.stringify(body));
    if (!isSame) assert.equal(body.error.code, 'SEND_NOT_PENDING_APPROVAL');
  }
  assert.equal((await jobs()) - jobsBefore, taken === 'approve' ? 1 : 0);
  const rows = await sql(installation, `select bool_and(session_id is not null and brand_id is not null), count(*) from audit_log
    where operation = 'sends.decide' and '${sendId}' = any(subjects)`);
  assert.deepEqual(rows, [`t|${answers.filter(({ status }) => status === 200).length}`]);
  if (taken === 'approve') await completed(sendId);
  assert.equal(messagesOf(sendId), taken === 'approve' ? COUNT : 0);
});

test('a server that is killed while it decides has decided nothing, and the other one decides', LIMIT, async () => {
  const sendId = await pendingSend();
  const jobsBefore = await jobs();
  const doomed = await installation.serve();
  const client = signedIn(doomed, (await installation.admin('session', 'create', '--org', orgId)).cookie);
  assert.equal((await client.get('/v1/api-keys')).status, 200); // the credential is known before the lock
  const psql = spawn('psql', [postgres.url, '-qXAt'], { stdio: ['pipe', 'pipe', 'inherit'] });
  psql.stdin.write("begin; lock table posthorn.jobs in share mode; select 'held';\n");
  await once(psql.stdout, 'data');
  const lost = decide(client, sendId, 'approve').catch(() => null);
  await until('the decision waits for the lock', async () =>
    (await sql(installation, "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%into jobs%'"))[0] !== '0', 30_000);
  await doomed.kill();
  psql.stdin.end('rollback;\n');
  await once(psql, 'close');
  await lost;
  await until('the sessions of the killed server have ended', async () =>
    (await sql(installation, `select count(*) from pg_stat_activity where query like '%into jobs%' and pid <> pg_backend_pid()
      and state <> 'idle'`))[0] === '0', 30_000);
  assert.equal((await read(sendId)).approvalState, 'pending');
  assert.equal(await jobs(), jobsBefore);
  for (const admin of admins) assert.equal((await decide(admin, sendId, 'approve')).status, 200);
  await completed(sendId);
  assert.equal(await jobs(), jobsBefore + 1);
  assert.equal(messagesOf(sendId), COUNT);
});

test('keys, other organizations and pages of other origins do not decide', LIMIT, async () => {
  const sendId = await pendingSend({ scheduledAt: new Date(Date.now() + 3600_000).toISOString() });
  const byKey = servers[0].client(place.key);
  const byOrganizationKey = servers[0].client(await installation.key());
  const foreign = await installation.admin('org', 'create', 'Elsewhere');
  const stranger = signedIn(servers[0], (await installation.admin('session', 'create', '--org', foreign.orgId)).cookie);
  const nobody = servers[0].client();
  clients.push(byKey, byOrganizationKey, nobody);
  for (const client of [byKey, byOrganizationKey]) {
    const { status, body } = await decide(client, sendId, 'approve');
    assert.deepEqual([status, body.error.code, body.error.param], [403, 'INSUFFICIENT_ROLE', 'org_admin']);
  }
  assert.equal((await decide(stranger, sendId, 'approve')).status, 404);
  assert.equal((await decide(nobody, sendId, 'approve')).status, 401);
  assert.equal((await decide(admins[0], sendId, 'approve', { origin: 'https://elsewhere.example' })).status, 403);
  assert.equal((await admins[0].post('/approvals', `sendId=${sendId}&decision=approve`, { 'content-type': 'application/x-www-form-urlencoded' })).status, 400);
  assert.equal((await admins[0].get('/approvals')).status, 405);
  assert.equal((await admins[0].post('/v1/approvals', { sendId, decision: 'approve' })).status, 404);
  assert.equal((await read(sendId)).approvalState, 'pending');

  const { stdout } = await installation.run('why', 'reader-0@example.com', sendId, '--brand', place.brandId);
  assert.match(stdout, /the send waits for the approval of an administrator/);
  assert.equal((await must(place.rest.call('POST', `/v1/sends/${sendId}/cancel`))).status, 'canceled');
  assert.equal((await decide(admins[0], sendId, 'approve')).status, 409);
});

test('an assistant confirms first, and is told that an administrator decides afterwards', LIMIT, async () => {
  const order = await prepareSend(place.mcp.call);
  const asked = await must(place.mcp.call('send_email', order));
  assert.equal(asked.status, 'confirmation_required');
  assert.ok(asked.preview.warnings.some((warning) => /administrator of the organization must approve/.test(warning)), asked.preview.warnings);
  const accepted = await must(place.mcp.call('send_email', { ...order, confirmationToken: asked.confirmationToken }));
  assert.equal(accepted.status, 'pending_approval');
  const [command, approved] = [['send', 'approve', accepted.sendId], { sendId: accepted.sendId, status: 'queued', approvalState: 'approved' }];
  assert.deepEqual(await installation.admin(...command), approved);
  await completed(accepted.sendId);
  assert.equal(messagesOf(accepted.sendId), COUNT);
  const refused = await installation.run('admin', 'send', 'reject', accepted.sendId);
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /already approved/);
});
