// Checks and pictures have a process of the renderer of their own: while those of one brand are held, another brand imports and edits
// its designs. Each of the two processes is killed in the middle of its work, and leaves the work of the other one alone. While a design
// of one organization is held, another organization imports in a process of its own.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '../../lib/database.mjs';
import { Installation } from '../../lib/installation.mjs';
import { commandLine, isAlive, kill, until } from '../../lib/processes.mjs';

const LIMIT = { timeout: 600_000 };
const HTML = '<!DOCTYPE html><html lang="en"><head><title>Tea</title></head><body><h1>Spring tea</h1><p>Fresh leaves have come.</p></body></html>';
const JSX = 'export default () => <p>Fresh leaves have come.</p>;';

describe('the processes of the renderer', LIMIT, () => {
  let installation;
  let clients;
  let audited;
  let designs;
  let views;

  const pids = () => installation.renderers().map(({ pid }) => pid);
  const importDesign = (rest, title, content = HTML, format = 'html') =>
    rest.post('/v1/emails/import', { source: { kind: 'content', format, content }, title });
  const isRunning = (kind) => until(`${kind} runs`, async () =>
    (await sql(installation, `select count(*) from jobs where kind = '${kind}' and state = 'running'`))[0] !== '0', 60_000);

  /** Stops a process, so that it answers nothing until `end` or `kill`. */
  function stop(pid) {
    kill(pid, 'SIGSTOP');
    return { end: () => kill(pid, 'SIGCONT'), kill: () => kill(pid) };
  }

  /** Starts an audit of the first brand. `answer` is there once it has ended. */
  function startAudit() {
    const audit = { answer: null };
    audit.ended = clients[0].post('/v1/emails/audit', { emailId: audited }).then((answer) => (audit.answer = answer));
    return audit;
  }

  async function completed(audit) {
    const { status, body } = await audit.ended;
    assert.deepEqual([status, body.completion?.status], [200, 'complete'], JSON.stringify(body.engines ?? body));
  }

  before(async () => {
    installation = new Installation({ THREADS: 1 });
    const server = await installation.serve();
    const keys = [await installation.key('--brand', await installation.brandId())];
    const account = server.client(await installation.key());
    const { brandId } = (await account.post('/v1/brands', { name: 'The other brand' })).body;
    keys.push(await installation.key('--brand', brandId));
    const { orgId } = await installation.admin('org', 'create', 'Another organization');
    const stranger = await installation.admin('brand', 'create', 'Theirs', '--org', orgId);
    keys.push(await installation.key('--brand', stranger.brandId));
    account.close();
    clients = keys.map((key) => server.client(key, {}, 2));
    audited = (await importDesign(clients[0], 'Tea')).body.emailId;
    assert.equal(pids().length, 1, 'an installation that audits nothing has one process');
    [designs] = pids();
    await completed(startAudit());
    assert.equal(pids().length, 2);
    views = pids().find((pid) => pid !== designs);
  });

  after(async () => {
    for (const client of clients) client.close();
    assert.deepEqual(await installation.dispose(), []);
  });

  test('a check of one brand that is held holds no import and no edit of another brand', async () => {
    const held = stop(views);
    const audit = startAudit();
    await isRunning('audit_email');
    for (const [format, content] of [['html', HTML], ['jsx', JSX]]) {
      const { status, body } = await importDesign(clients[1], format, content, format);
      assert.equal(status, 201, JSON.stringify(body));
    }
    const { data: [{ emailId }] } = (await clients[1].get('/v1/emails')).body;
    const asked = await clients[1].request('PATCH', `/v1/emails/${emailId}`, { prompt: 'Replace "Fresh" with "New".' });
    assert.equal(asked.status, 200, JSON.stringify(asked.body));
    await until('the edit is saved', async () => (await clients[1].get(`/v1/emails/${emailId}?include=versions`)).body.versions.length === 2, 60_000);
    assert.equal(audit.answer, null, 'the audit is still held');
    held.end();
    await completed(audit);
    assert.deepEqual(pids().sort(), [designs, views].sort(), 'no process has ended');
  });

  test('the process of checks is killed in the middle of an audit: the audit ends, the next one is complete, and no design notices', async () => {
    const held = stop(views);
    const audit = startAudit();
    await isRunning('audit_email');
    held.kill();
    assert.equal((await importDesign(clients[1], 'Meanwhile')).status, 201);
    const { status, body } = await audit.ended;
    assert.equal(status, 200); // complete when the process died before the first request
    assert.ok(['partial', 'complete'].includes(body.completion.status));
    await completed(startAudit());
    assert.ok(isAlive(designs));
    assert.equal(isAlive(views), false);
    views = pids().find((pid) => pid !== designs);
  });

  test('the process of designs is killed in the middle of an import: the import is repeated, and no audit notices', async () => {
    const held = stop(designs);
    const importing = importDesign(clients[1], 'Killed');
    await isRunning('import_email');
    await completed(startAudit());
    held.kill();
    assert.equal((await importing).status, 201);
    assert.ok(isAlive(views));
    assert.equal(isAlive(designs), false);
    assert.equal(pids().length, 2);
  });

  test('a design of one organization that is held holds no import of another one', async () => {
    designs = pids().find((pid) => pid !== views);
    const held = stop(designs);
    const importing = importDesign(clients[1], 'Held');
    await isRunning('import_email');
    assert.equal((await importDesign(clients[2], 'Beside')).status, 201);
    assert.equal(pids().length, 3);
    held.end();
    assert.equal((await importing).status, 201);
  });

  test('doctor looks at the renderer beside the processes of the service', async () => {
    const { htmlProcess } = JSON.parse((await installation.run('doctor')).stdout);
    assert.deepEqual([htmlProcess.ok, htmlProcess.jsx], [true, true]);
    assert.ok(commandLine(views).includes('main.mjs'), 'it has ended none of the service');
  });
});
