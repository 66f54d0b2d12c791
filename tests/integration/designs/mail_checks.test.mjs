// The checks of an audit that look at other machines, over REST: links at a web server with and without TLS, the composed message at a real
// SpamAssassin, and the records of a sending domain at a real name server.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer as createWebServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { NameServer } from '../../lib/dns_server.mjs';
import { gif } from '../../lib/images.mjs';
import { Installation } from '../../lib/installation.mjs';
import { Spamd, missingSpamd } from '../../lib/spamd.mjs';

const DOMAIN = 'shop.test';
const GTUBE = 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X';

const line = ({ name, type, value }) =>
  type === 'MX' ? `mx-host=${name},mx.relay.test,10` : `txt-record=${name},${value.match(/.{1,200}/g).map((part) => `"${part}"`).join(',')}`;
const zoneOf = (records) => ['local=/test/', ...records.map((record) => line({ ...record, value: record.value.replace('<YOUR-RELAY>', 'relay.test') }))];

const HEAD_BYTES = 19; // of a GIF of tests: its header and colours
/** An image element with an embedded GIF that plays so often (0: without an end); null: it does not say. */
function animation(alt, loops) {
  const bytes = gif(3, 40, 30);
  const extension = loops === null ? [] : [0x21, 0xff, 11, ...Buffer.from('NETSCAPE2.0'), 3, 1, loops, 0, 0];
  const data = Buffer.concat([bytes.subarray(0, HEAD_BYTES), Buffer.from(extension), bytes.subarray(HEAD_BYTES)]);
  return `<img src="data:image/gif;base64,${data.toString('base64')}" alt="${alt}" width="40">`;
}

const listen = (server) => new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));
const close = (server) => new Promise((resolve) => {
  server.closeAllConnections?.();
  server.close(resolve);
});

/** Passes connections on to spamd and keeps the requests. */
function recorder(spamd) {
  const requests = [];
  const server = createTcpServer((client) => {
    const chunks = [];
    const target = connect(spamd.port, '127.0.0.1');
    client.on('data', (chunk) => chunks.push(chunk)).on('error', () => target.destroy());
    client.on('close', () => requests.push(Buffer.concat(chunks)));
    target.on('error', () => client.destroy());
    client.pipe(target).pipe(client);
  });
  const message = () => {
    const report = requests.filter((each) => each.subarray(0, 6).toString() === 'REPORT').at(-1);
    return report.subarray(report.indexOf('\r\n\r\n') + 4);
  };
  return { server, message };
}

describe('checks of links, spam and authentication', { timeout: 600_000, skip: missingSpamd() }, () => {
  const asked = [];
  const spamd = new Spamd();
  let recorded;
  let dns;
  let installation;
  let server;
  let client;
  let web;
  let tls;
  let domain;

  /** Answers as the path says: /404, or /to/3, which leads on three times. */
  function answer(request, response) {
    const [, first, second] = request.url.split(/[/?]/);
    asked.push(`${request.method} ${request.url}`);
    if (first === 'to') return response.writeHead(302, { location: second > 1 ? `/to/${second - 1}` : '/200' }).end();
    if (first === 'get') return response.writeHead(request.method === 'HEAD' ? 405 : 404).end();
    if (first === 'cut') return request.socket.destroy();
    return response.writeHead(Number(first)).end();
  }

  before(async () => {
    await spamd.start();
    recorded = recorder(spamd);
    dns = await NameServer.prepare(['local=/test/']);
    await dns.start();
    installation = new Installation({
      DNS_SERVERS: dns.place, FETCH_ALLOW_LOOPBACK: 1, PUBLIC_URL: 'https://mail.example', SPAM: `spamd:127.0.0.1:${await listen(recorded.server)}`,
    });
    web = createWebServer(answer);
    const [key, certificate] = ['key.pem', 'cert.pem'].map((name) => join(installation.folder, name));
    const words = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', certificate, '-days', '1', '-subj', '/CN=127.0.0.1'];
    assert.equal(spawnSync('openssl', words).status, 0);
    tls = createTlsServer({ key: readFileSync(key), cert: readFileSync(certificate) }, answer);
    await Promise.all([listen(web), listen(tls)]);
    server = await installation.serve('--log-level', 'error');
    client = server.client(await installation.key('--brand', await installation.brandId()));
  });

  after(async () => {
    client?.close();
    assert.deepEqual(await installation.dispose(), []);
    await Promise.all([close(web), close(tls), close(recorded.server), dns.dispose(), spamd.dispose()]);
  });

  async function importDesign(html) {
    const imported = await client.post('/v1/emails/import', { content: `<html lang="en"><body>${html}</body></html>`, title: 'News', subjectLine: 'The news' });
    assert.ok(imported.body.emailId, JSON.stringify(imported.body));
    return imported.body.emailId;
  }

  async function audit(html, more = {}) {
    const answered = await client.post('/v1/emails/audit', { emailId: await importDesign(html), sendingPurpose: 'marketing', ...more });
    assert.equal(answered.status, 200, JSON.stringify(answered.body));
    const findings = [];
    const path = `/v1/emails/audits/${answered.body.auditId}?limit=50`;
    for (let next = path; next !== undefined;) {
      const { body } = await client.get(next);
      findings.push(...body.findings);
      next = body.pagination.hasMore ? `${path}&cursor=${body.pagination.cursor}` : undefined;
    }
    const found = (id) => findings.filter(({ ruleId }) => ruleId === id).map(({ message }) => message);
    const check = (id) => answered.body.checks.find((each) => each.id === id);
    const engine = (name) => answered.body.engines.find((each) => each.engine === name);
    return { ...answered, findings, found, check, engine };
  }

  test('the verdicts on links are those of their servers, and links that act are not requested (R-229)', async () => {
    const [plain, safe] = [web, tls].map((each) => `127.0.0.1:${each.address().port}`);
    const hrefs = [
      `http://${plain}/200`, `http://${plain}/404`, `http://${plain}/410`, `http://${plain}/500`, `http://${plain}/403`, `http://${plain}/get`,
      `http://${plain}/cut`, `http://${plain}/to/4`, `https://${safe}/200`, 'http://10.0.0.1/',
      `http://${plain}/unsubscribe?id=1`, `http://${plain}/200?to={{ firstName }}`, '{{ unsubscribeUrl }}', 'mailto:shop@example.com',
    ];
    const result = await audit(hrefs.map((href, i) => `<p><a href="${href}">Link ${i}</a></p>`).join(''));
    const paths = (id) => result.found(id).map((message) => / to (\S+)/.exec(message)[1].replace(`http://${plain}`, '').replace(safe, 'safe')).sort();
    assert.deepEqual(paths('linkBroken'), ['/404', '/410', '/get', 'http://10.0.0.1/']);
    assert.deepEqual(paths('linkServerError'), ['/500', '/cut']);
    assert.deepEqual(paths('linkRefused'), ['/403']);
    assert.deepEqual(paths('linkRedirects'), ['/to/4']);
    assert.deepEqual(paths('linkCertificate'), ['https://safe/200']);
    assert.equal(result.check('linkInsecure').status, 'issues');
    assert.equal(result.check('linkSlow').status, 'passed');
    assert.match(result.check('linkUnchecked').reason, /^10 addresses were requested\. 2 were left out, because they have merge tags\. .* 1 was left out, because it may/);
    assert.deepEqual(asked.filter((each) => /unsub|firstName|\{/.test(each)), []);
    assert.ok(asked.includes('GET /get') && !asked.includes('GET /404'));
    assert.equal(result.check('authSpf').status, 'not_applicable');
  });

  test('the score and the rules of a message are those that spamd itself gives it', async () => {
    const result = await audit('<p>Dear friend, get viagra 100% free!!! CLICK HERE</p><p><a href="http://10.1.2.3/x">http://paypal.com</a></p>');
    const own = spamd.judge(recorded.message());
    const texts = [...result.found('spamScore'), result.check('spamScore').reason ?? ''].join(' ');
    const [, score, threshold] = /gives the message (-?[\d.]+) points, and takes it for spam from ([\d.]+) on/.exec(texts);
    assert.deepEqual([Number(score), Number(threshold)], [own.score, own.threshold]);
    const wanted = Object.entries(own.rules).filter(([name, points]) => points >= 0.5 && !/^NO_RE/.test(name)).map(([name, points]) => `${name}: ${points.toFixed(1)} points`);
    assert.ok(wanted.length >= 2, JSON.stringify(own));
    assert.deepEqual(result.found('spamRules').map((message) => message.split('. ')[0]).sort(), wanted.sort());
    assert.ok(own.rules.NO_RECEIVED !== undefined, 'a notice that says nothing about the design is left out');
    assert.equal(result.check('spamTestPattern').status, 'passed');
    const { name, version } = result.engine('spam');
    assert.equal(name, 'SpamAssassin');
    assert.match(spawnSync('/usr/sbin/spamd', ['--version'], { encoding: 'utf8' }).stdout, new RegExp(`version ${version.replaceAll('.', '\\.')}\\b`));
    assert.match(recorded.message().toString(), /^List-Unsubscribe: <https:\/\/mail\.example\/u\//m, 'the message is the composed one');
  });

  test('the test pattern of spam filters is a blocker, and an animation without an end is found', async () => {
    const result = await audit(`<p>${GTUBE}</p>${animation('Endless', 0)}${animation('Twice', 2)}${animation('Once', null)}`);
    assert.deepEqual(result.found('imageAnimation').map((message) => / has 3 frames and repeats without an end\.$/.test(message)), [true]);
    const finding = result.findings.find(({ ruleId }) => ruleId === 'spamTestPattern');
    assert.equal(finding.severity, 'blocker');
    assert.equal(result.findings.find(({ ruleId }) => ruleId === 'spamScore').severity, 'error');
  });

  test('the records of the domain are those that the name server has now', async () => {
    domain = (await client.post('/v1/domains', { name: DOMAIN })).body;
    await dns.publish(zoneOf(domain.records));
    assert.equal((await client.post(`/v1/domains/${domain.domainId}/verify`, {})).body.status, 'verified');
    const statuses = ({ body }) => Object.fromEntries(body.checks.filter(({ engine }) => engine === 'authentication').map(({ id, status }) => [id, status]));
    const whole = await audit('<p>Hello</p>');
    assert.deepEqual([...new Set(Object.values(statuses(whole)))], ['passed'], JSON.stringify(statuses(whole)));
    await dns.publish(zoneOf(domain.records.filter(({ record, name }) => record === 'dkim' && /r\._domainkey/.test(name))));
    assert.deepEqual(statuses(await audit('<p>Hello</p>', { sendingPurpose: 'transactional' })), {
      authSpf: 'issues', authDkimRsa: 'passed', authDkimEd25519: 'issues', authDmarc: 'issues', authAlignment: 'passed',
      authUnsubscribe: 'not_applicable', authOneClick: 'not_applicable',
    });
  });

  test('a filter or a name server that is gone makes the audit partial, and the doctor names the filter', async () => {
    const doctor = async () => JSON.parse((await installation.run('doctor')).stdout).spamFilter;
    assert.equal((await doctor()).ok, true);
    await spamd.stop();
    await dns.stop();
    const result = await audit('<p>Hello</p>');
    assert.deepEqual(result.body.completion, { status: 'partial', score: null });
    assert.equal(result.headers['x-credit-cost'], '0');
    assert.equal(result.check('spamScore').status, 'unavailable');
    assert.match(result.check('spamScore').reason, /^The spam filter gave no answer: /);
    assert.equal(result.engine('spam').version, undefined);
    assert.equal(result.check('authDkimRsa').status, 'unavailable');
    const { ok, problem } = await doctor();
    assert.equal(ok, false);
    assert.match(problem, /^The spam filter gave no answer: /);
  });
});
