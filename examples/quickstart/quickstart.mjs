// Quickstart over MCP: the official MCP client, over stdio, makes the calls of an assistant. It lists the tools, saves
// contacts, imports a newsletter, sends a test email, sends a campaign, and reads the results.
//
//   quickstart.mjs POSTHORN DATA_DIR EXAMPLES_DIR
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { connectionLines } from './connect.mjs';

const [posthorn, data, examples] = process.argv.slice(2);
const started = Date.now();
const say = (text) => console.log(`${((Date.now() - started) / 1000).toFixed(1).padStart(5)} s  ${text}`);

const client = new Client({ name: 'quickstart', version: '1.0.0' });
await client.connect(new StdioClientTransport({ command: posthorn, args: ['mcp', '--data', data], stderr: 'inherit' }));

async function call(name, args) {
  const result = await client.callTool({ name, arguments: args });
  if (result.isError) throw new Error(`${name}: ${result.content[0].text}`);
  return result.structuredContent;
}

const { tools } = await client.listTools();
say(`connected; ${tools.length} tools: ${tools.map((tool) => tool.name).join(', ')}`);

const contacts = JSON.parse(readFileSync(join(examples, 'newsletter/contacts.json'), 'utf8'));
const saved = await call('save_contact', { contacts });
say(`${saved.summary.inserted} contacts saved, ${saved.summary.failed} refused`);

const content = readFileSync(join(examples, 'newsletter/newsletter.html'), 'utf8');
const email = await call('import_email', { content, idempotencyKey: 'quickstart-import' });
say(`newsletter imported as ${email.emailId}: ${email.title}`);

const account = await call('get_capabilities', { topic: 'account' });
const { domainId, name: domain } = account.domains[0];
say(`brand ${account.brand.name}: ${account.subscribedContacts} subscribed contacts; sending from ${domain}`);

const subject = "News for {{ firstName | default: 'you' }}";
const test = await call('send_email', { emailId: email.emailId, subject, test: true, to: ['me@example.com'] });
say(`test ${test.status} to ${test.recipient}`);

// A campaign needs a confirmation of its preview. Here the program confirms it; usually a person reads it first.
const order = { emailId: email.emailId, domainId, audienceId: 'all', subject, idempotencyKey: 'quickstart-campaign' };
const asked = await call('send_email', order);
say(`asked to confirm: ${asked.preview.recipientCount} recipients, "${asked.preview.subject}", ${asked.preview.warnings.length} warnings`);
const campaign = await call('send_email', { ...order, confirmationToken: asked.confirmationToken });
say(`campaign ${campaign.sendId} is ${campaign.status}`);

let send;
do {
  await new Promise((settle) => setTimeout(settle, 100));
  send = await call('get_email_analytics', { view: 'send', sendId: campaign.sendId });
} while (['queued', 'running'].includes(send.status));
say(`campaign ${send.status}: ${send.stats.sent} sent, ${send.stats.delivered} delivered, ${send.stats.bounced} bounced`);
await client.close();

console.log(`
The emails are in ${data}/outbox/new, one file each (a Maildir, which mail clients can open). The domain ${domain}
only captures emails; no email has left this machine.

${connectionLines(posthorn)}`);
if (send.status !== 'completed' || send.stats.sent !== account.subscribedContacts) process.exitCode = 1;
