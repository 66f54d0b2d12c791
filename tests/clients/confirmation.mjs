// A campaign as the official 2.4.0 client brings it about. With 2026-07-28 the server asks by input_required; the client shows the
// form to its person and repeats the call with the answer, all by itself. With 2025-11-25 the server asks during the call.

import assert from 'node:assert/strict';
import { packagesOf } from '../lib/packages.mjs';

const load = packagesOf('clients');
const sdk = { ...load('@modelcontextprotocol/client'), ...load('@modelcontextprotocol/client/stdio') };

const CAPABILITIES = { elicitation: { form: {} } };
const ERAS = {
  '2026-07-28': { versionNegotiation: { mode: { pin: '2026-07-28' } }, capabilities: CAPABILITIES },
  '2025-11-25': { versionNegotiation: { mode: 'legacy' }, capabilities: CAPABILITIES },
};
const LETTER = '<!doctype html><html><head><title>Asked</title></head><body><p>Hello {{ firstName }}</p></body></html>';

/** Asks over stdio and over HTTP, in both eras. */
export async function confirmation(report, server) {
  for (const [version, options] of Object.entries(ERAS)) await askedIn(report, server, version, options);
}

async function askedIn(report, server, version, options) {
  const [command, ...args] = server.stdioCommand;
  const requestInit = { headers: { Authorization: `Bearer ${server.key}` } };
  const transports = {
    stdio: new sdk.StdioClientTransport({ command, args, stderr: 'ignore' }),
    http: new sdk.StreamableHTTPClientTransport(new URL(server.url), { requestInit }),
  };
  for (const [name, transport] of Object.entries(transports)) {
    const client = new sdk.Client({ name: 'posthorn-tests', version: '1.0.0' }, options);
    await client.connect(transport);
    await askedBy(report, `sdk 2.4.0 ${version} ${name}`, client);
    await client.close();
  }
}

async function askedBy(report, label, client) {
  const call = async (name, args) => {
    const result = await client.callTool({ name, arguments: args });
    assert.ok(!result.isError, result.content[0].text);
    return result.structuredContent;
  };
  const questions = [];
  let answer;
  client.setRequestHandler('elicitation/create', ({ params }) => {
    questions.push(params);
    return answer;
  });

  await call('save_contact', { contacts: [{ email: 'ada@example.com', firstName: 'Ada' }, { email: 'bob@example.com', firstName: 'Bob' }] });
  const { emailId } = await call('import_email', { content: LETTER });
  const { domains } = await call('get_capabilities', { topic: 'account' });
  const order = { emailId, domainId: domains[0].domainId, to: ['ada@example.com', 'bob@example.com'], subject: 'Hello {{ firstName }}' };

  await report.check(`${label}: a person who declines sends nothing`, async () => {
    for (const no of [{ action: 'decline' }, { action: 'cancel' }, { action: 'accept', content: { send: false } }]) {
      answer = no;
      assert.equal((await call('send_email', order)).status, 'not_sent');
    }
    assert.equal(questions.length, 3);
    assert.match(questions[0].message, /^Send this email to 2 recipients/);
    assert.deepEqual((await call('get_email_analytics', { view: 'sends', emailId })).data, []);
  });

  await report.check(`${label}: a person who agrees sends once`, async () => {
    answer = { action: 'accept', content: { send: true } };
    assert.equal((await call('send_email', order)).status, 'queued');
    const again = await client.callTool({ name: 'send_email', arguments: order });
    assert.equal(JSON.parse(again.content[0].text).error.code, 'EMAIL_ALREADY_SENT');
    assert.equal((await call('get_email_analytics', { view: 'sends', emailId })).data.length, 1);
  });
}
