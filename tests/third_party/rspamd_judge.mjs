// Compares the spam checks of an audit with what a real rspamd says about the same message, and looks at its test pattern. rspamd runs on
// loopback with its own rules, without network and learning. It compiles its list of top-level domains at the start, which takes a minute
// for the whole list, so it gets a short one.
//
//     node --test tests/third_party/rspamd_judge.mjs
//
// It needs build/release and the Debian package rspamd; without the package it says so and passes.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Installation } from '../lib/installation.mjs';
import { freePort } from '../lib/ports.mjs';
import { isAlive, kill, until } from '../lib/processes.mjs';

const RSPAMD = '/usr/bin/rspamd';
const GTUBE = 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X';

const configuration = (folder, port) => `
options {
  pidfile = "${folder}/rspamd.pid";
  filters = "chartable,regexp";
  cache_file = "${folder}/symbols.cache";
  hs_cache_dir = "${folder}";
  disable_hyperscan = true;
  url_tld = "${folder}/tld.dat";
  tempdir = "${folder}";
  dns { nameserver = ["127.0.0.1:1"]; timeout = 0.1s; retransmits = 1; }
}
logging { type = "console"; level = "error"; }
worker "normal" { bind_socket = "127.0.0.1:${port}"; mime = true; count = 1; }
.include "\${CONFDIR}/actions.conf"
.include "\${CONFDIR}/groups.conf"
.include "\${CONFDIR}/modules.d/regexp.conf"
.include "\${CONFDIR}/modules.d/chartable.conf"
.include "\${CONFDIR}/modules.d/mid.conf"
lua = "\${RULESDIR}/rspamd.lua";
`;

/** Sends a request to rspamd: {status, headers, body}. */
const ask = (port, method, path, body) => new Promise((resolve, reject) => {
  const sent = request({ host: '127.0.0.1', port, method, path, headers: body ? { 'content-length': body.length } : {} }, (response) => {
    const chunks = [];
    response.on('data', (chunk) => chunks.push(chunk));
    response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }));
  });
  sent.on('error', reject).end(body);
});

describe('an audit with rspamd', { timeout: 300_000, skip: existsSync(RSPAMD) ? undefined : 'rspamd is not installed (tests/setup.sh full installs it)' }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-rspamd-'));
  let port;
  let rspamd;
  let recorder;
  let message;
  let installation;
  let client;

  before(async () => {
    port = await freePort();
    mkdirSync(join(folder, 'local'));
    writeFileSync(join(folder, 'tld.dat'), 'com\norg\nexample\ntest\n');
    writeFileSync(join(folder, 'rspamd.conf'), configuration(folder, port));
    chmodSync(folder, 0o777);
    const user = process.getuid() === 0 ? ['-u', 'nobody', '-g', 'nogroup'] : [];
    const variables = ['DBDIR', 'RUNDIR', 'LOGDIR', 'LOCAL_CONFDIR'].map((name) => `--var=${name}=${name === 'LOCAL_CONFDIR' ? join(folder, 'local') : folder}`);
    rspamd = spawn(RSPAMD, ['-f', ...user, '-c', join(folder, 'rspamd.conf'), ...variables], { stdio: 'ignore' });
    await until('rspamd answers', async () => (await ask(port, 'GET', '/ping').catch(() => ({}))).status === 200, 120_000);
    recorder = createServer((incoming, outgoing) => {
      const chunks = [];
      incoming.on('data', (chunk) => chunks.push(chunk));
      incoming.on('end', async () => {
        message = Buffer.concat(chunks);
        const { status, headers, body } = await ask(port, incoming.method, incoming.url, message.length > 0 ? message : undefined);
        outgoing.writeHead(status, { server: headers.server, 'content-length': body.length }).end(body);
      });
    });
    await new Promise((resolve) => recorder.listen(0, '127.0.0.1', resolve));
    installation = new Installation({ SPAM: `rspamd:http://127.0.0.1:${recorder.address().port}` });
    const server = await installation.serve('--log-level', 'error');
    client = server.client(await installation.key('--brand', await installation.brandId()));
  });

  after(async () => {
    client?.close();
    assert.deepEqual(await installation.dispose(), []);
    await new Promise((resolve) => recorder.close(resolve));
    kill(rspamd.pid, 'SIGTERM');
    await until('rspamd has ended', () => !isAlive(rspamd.pid));
    rmSync(folder, { recursive: true, force: true });
  });

  async function audit(html) {
    const imported = await client.post('/v1/emails/import', { content: `<html lang="en"><body>${html}</body></html>`, title: 'News', subjectLine: 'The news!' });
    const { body, status } = await client.post('/v1/emails/audit', { emailId: imported.body.emailId });
    assert.equal(status, 200, JSON.stringify(body));
    const read = await client.get(`/v1/emails/audits/${body.auditId}?limit=50`);
    return { ...body, findings: read.body.findings, engine: body.engines.find(({ engine }) => engine === 'spam') };
  }

  test('the score and the rules are those of rspamd', async () => {
    const { checks, findings, engine } = await audit('<p>Dear friend!</p><p><a href="http://10.1.2.3/x">http://paypal.com</a></p>');
    const own = JSON.parse((await ask(port, 'POST', '/checkv2', message)).body);
    const told = [checks.find(({ id }) => id === 'spamScore').reason, ...findings.map((finding) => finding.message)].join(' ');
    assert.match(told, new RegExp(`rspamd gives the message ${own.score.toFixed(1)} points`));
    const rules = Object.values(own.symbols).filter(({ score }) => score >= 0.5).map(({ name }) => name);
    assert.ok(rules.length > 0, JSON.stringify(own));
    assert.deepEqual(findings.filter(({ ruleId }) => ruleId === 'spamRules').map((finding) => finding.message.split(':')[0]).sort(), rules.sort());
    assert.deepEqual([engine.name, /^\d+\.\d+/.test(engine.version)], ['rspamd', true]);
  });

  test('its test pattern is a blocker', async () => {
    const { findings } = await audit(`<p>${GTUBE}</p>`);
    assert.equal(findings.find(({ ruleId }) => ruleId === 'spamTestPattern').severity, 'blocker');
    assert.equal(findings.find(({ ruleId }) => ruleId === 'spamScore').severity, 'error');
  });

  test('the doctor names it', async () => {
    const { spamFilter } = JSON.parse((await installation.run('doctor')).stdout);
    assert.deepEqual([spamFilter.kind, spamFilter.ok], ['rspamd', true]);
  });
});
