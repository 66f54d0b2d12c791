// Audits through a whole installation: what a complete and a partial one cost, what happens to the idempotency key, to the credits
// that are held, and when a worker is killed or the design is edited or deleted meanwhile. A scripted spam filter decides when an
// audit goes on.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { FakeSpamd } from '../../lib/fake_spamd.mjs';
import { Installation } from '../../lib/installation.mjs';
import { kill, until } from '../../lib/processes.mjs';

const LIMIT = { timeout: 600_000 };
const PRICE = 5;
const HTML = '<!DOCTYPE html><html lang="en"><head><title>Tea</title></head><body><h1>Spring tea</h1><p>Fresh leaves have come to our shop.</p></body></html>';

const spamd = new FakeSpamd();
let installation;
let server;
let rest;
let emailId;

async function importDesign(title) {
  const { status, body } = await rest.post('/v1/emails/import', { content: HTML, title, subjectLine: 'Spring tea has come' });
  assert.equal(status, 201, JSON.stringify(body));
  return body.emailId;
}

before(async () => {
  await spamd.start();
  installation = new Installation({ SPAM: spamd.address, THREADS: 1 });
  server = await installation.serve();
  rest = server.client(await installation.key('--brand', await installation.brandId()), {}, 30);
  emailId = await importDesign('Tea');
}, LIMIT);

after(async () => {
  rest.close();
  await spamd.stop();
  assert.deepEqual(await installation.dispose(), []);
});

const audit = (body, key) => rest.post('/v1/emails/audit', body, key ? { 'idempotency-key': key } : {});
const credits = async () => (await rest.get('/v1/usage')).body.credits;
const engineOf = ({ engines }, name) => engines.find(({ engine }) => engine === name);

async function spent(action) {
  const before = (await credits()).used;
  const answer = await action();
  const { used, reserved } = await credits();
  assert.equal(reserved, 0, 'nothing is held when the audit has ended');
  return { answer, spent: used - before };
}

async function held(count = 1) {
  await until('the audit asks the spam filter', () => spamd.held === count, 20_000);
}

test('a complete audit costs its price, and its key replays it (R-229, R-230, R-151)', LIMIT, async () => {
  const first = await spent(() => audit({ emailId }, 'complete'));
  assert.equal(first.answer.status, 200, JSON.stringify(first.answer.body));
  const { completion, auditId, engines } = first.answer.body;
  assert.equal(completion.status, 'complete', JSON.stringify(engines));
  assert.ok(Number.isInteger(completion.score));
  assert.equal(engineOf(first.answer.body, 'spam').unavailable, 0);
  assert.equal(first.answer.headers['x-credit-cost'], String(PRICE));
  assert.equal(first.spent, PRICE);
  const again = await spent(() => audit({ emailId }, 'complete'));
  assert.equal(again.answer.body.auditId, auditId);
  assert.equal(again.spent, 0);
});

test('a partial audit costs nothing and releases its key (R-151, R-160)', LIMIT, async () => {
  spamd.mode = 'close';
  const partial = await spent(() => audit({ emailId }, 'partial'));
  assert.equal(partial.answer.status, 200);
  assert.deepEqual(partial.answer.body.completion, { status: 'partial', score: null });
  assert.equal(partial.answer.headers['x-credit-cost'], '0');
  assert.equal(partial.spent, 0);
  assert.ok(engineOf(partial.answer.body, 'spam').unavailable > 0);
  for (const { engine, status } of partial.answer.body.checks) if (engine === 'spam') assert.equal(status, 'unavailable');
  const saved = await rest.get(`/v1/emails/audits/${partial.answer.body.auditId}`);
  assert.equal(saved.body.completion.score, null);
  assert.equal(saved.headers['x-credit-cost'], undefined);

  // The filter has no checks of accessibility.
  const accessible = await spent(() => rest.post(`/v1/emails/${emailId}/accessibility-audit`, {}));
  assert.equal(accessible.answer.body.completion.status, 'complete', JSON.stringify(accessible.answer.body.engines));
  assert.equal(accessible.spent, PRICE);

  spamd.mode = 'answer';
  const complete = await spent(() => audit({ emailId }, 'partial'));
  assert.notEqual(complete.answer.body.auditId, partial.answer.body.auditId, 'the key runs the audit again');
  assert.equal(complete.answer.body.completion.status, 'complete');
  assert.equal(complete.answer.headers['x-credit-cost'], String(PRICE));
  assert.equal(complete.spent, PRICE);
  assert.equal((await audit({ emailId }, 'partial')).body.auditId, complete.answer.body.auditId);
});

test('running audits hold their price, one at a time runs, and other jobs do not wait for them (R-167)', LIMIT, async () => {
  const before = (await credits()).used;
  spamd.mode = 'hold';
  const audits = Array.from({ length: 4 }, () => audit({ emailId }));
  await held();
  await until('all of them hold credits', async () => (await credits()).reserved === 4 * PRICE);
  assert.equal((await rest.get('/v1/emails')).status, 200);
  assert.equal((await rest.post('/v1/contacts/import-csv', { csv: 'email\na@example.com\n' })).status, 200);
  const edited = await rest.request('PATCH', `/v1/emails/${emailId}`, { title: 'Tea again' });
  assert.equal(edited.status, 200);
  assert.equal(spamd.held, 1, 'the others wait');
  spamd.release();
  for (const { status, body } of await Promise.all(audits)) assert.deepEqual([status, body.completion?.status], [200, 'complete']);
  const { used, reserved } = await credits();
  assert.deepEqual([used - before, reserved], [4 * PRICE, 0]);
});

test('an audit whose worker is killed runs again, and is charged once', LIMIT, async () => {
  spamd.mode = 'hold';
  const before = (await credits()).used;
  const running = audit({ emailId }, 'killed');
  await held();
  assert.equal((await credits()).reserved, PRICE);
  const killed = installation.runnerPid;
  kill(killed);
  await until('the worker is gone', () => spamd.held === 0, 20_000);
  const usage = () => rest.get('/v1/usage').then(({ body }) => body.credits?.reserved, () => undefined);
  await until('the credits are held by the job', async () => (await usage()) === PRICE, 20_000);
  spamd.release();
  const { status, body } = await running;
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.completion.status, 'complete');
  assert.deepEqual(await credits().then(({ used, reserved }) => [used - before, reserved]), [PRICE, 0]);
  assert.equal((await audit({ emailId }, 'killed')).body.auditId, body.auditId);
});

test('an audit belongs to the version it began with, and ends with its design', LIMIT, async () => {
  const other = await importDesign('Other');
  const { emailVersionId } = (await rest.get(`/v1/emails/${other}`)).body;
  spamd.mode = 'hold';
  const first = audit({ emailId: other });
  await held();
  const edited = await rest.post(`/v1/emails/${other}/restore`, { emailVersionId });
  assert.equal(edited.status, 200, JSON.stringify(edited.body));
  spamd.release();
  const { body } = await first;
  assert.equal(body.emailVersionId, emailVersionId);
  assert.notEqual((await rest.get(`/v1/emails/${other}`)).body.emailVersionId, emailVersionId);

  spamd.mode = 'hold';
  const refused = await spent(async () => {
    const second = audit({ emailId: other });
    await held();
    await rest.request('DELETE', `/v1/emails/${other}`);
    spamd.release();
    return second;
  });
  assert.deepEqual([refused.answer.status, refused.answer.body.error?.code], [404, 'EMAIL_NOT_FOUND']);
  assert.equal(refused.spent, 0);
  assert.equal((await rest.get(`/v1/emails/audits/${body.auditId}`)).body.error.code, 'AUDIT_NOT_FOUND');
});

test('an assistant reads two pages, mends the design, and sees what is fixed (R-436, R-437)', LIMIT, async () => {
  const texts = Array.from({ length: 12 }, (_, at) => `<p style="font-size:${1 + at}px">Small text number ${at}</p>`);
  const content = HTML.replace('<h1>', `${texts.join('')}<h1>`);
  const imported = await installation.call('import_email', { content, title: 'Small' });
  const audited = await installation.call('audit_email', { emailId: imported.emailId });
  assert.ok(audited.totalFindings > 10, JSON.stringify(audited));
  assert.equal(audited.checks, undefined, 'a model does not pay for all checks');
  const first = await installation.call('get_email_audit', { auditId: audited.auditId });
  assert.deepEqual(first.findings.map(({ id }) => id), audited.findings.map(({ id }) => id));
  const second = await installation.call('get_email_audit', { auditId: audited.auditId, cursor: first.pagination.cursor });
  assert.ok(second.findings.length > 0);
  assert.deepEqual(second.findings.filter(({ id }) => first.findings.some((finding) => finding.id === id)), []);
  const replacements = [{ find: 'Small text number 0', with: 'A text' }];
  const edited = await installation.call('edit_email', { emailId: imported.emailId, replacements });
  const again = await installation.call('audit_email', { emailId: imported.emailId });
  assert.equal(again.emailVersionId, edited.emailVersionId);
  assert.equal(again.diff.previousAuditId, audited.auditId);
  assert.ok(again.diff.remaining > 0);
  const listed = await installation.call('get_email_audit', { emailId: imported.emailId });
  assert.deepEqual(listed.data.map(({ auditId }) => auditId), [again.auditId, audited.auditId]);
});
