// Quickstart with an SMTP relay: sends a campaign to 2,000 recipients over real SMTP sessions, signed with the DKIM keys of
// the domain. The relay is a test mail server on this machine. It accepts and counts every message and delivers none.
//
//   relay.mjs POSTHORN POSTHORN_SINK DATA_DIR EXAMPLES_DIR
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [posthorn, sinkProgram, data, examples] = process.argv.slice(2);
const READERS = 2000;
const DOMAIN = 'news.example';
const WAIT_MS = 30_000;

const started = Date.now();
const say = (text) => console.log(`${((Date.now() - started) / 1000).toFixed(1).padStart(5)} s  ${text}`);

const sink = spawn(sinkProgram, ['--count-only', '--port', '0'], { stdio: ['pipe', 'pipe', 'inherit'] });
process.on('exit', () => sink.kill());
const answers = createInterface({ input: sink.stdout })[Symbol.asyncIterator]();
const answer = async () => JSON.parse((await answers.next()).value);
const relay = `smtp://127.0.0.1:${(await answer()).port}?tls=none`;

// The background process that the first command starts sends the emails. It takes its settings from that command.
function run(...words) {
  const env = { ...process.env, POSTHORN_RELAY: relay };
  return JSON.parse(execFileSync(posthorn, [...words, '--data', data], { encoding: 'utf8', env }));
}
const call = (tool, args, ...options) => run('call', tool, JSON.stringify(args), ...options);

run('admin', 'domain', 'create', DOMAIN);
const { domainId } = run('admin', 'domain', 'verify', DOMAIN, '--trust');
say(`new installation with --relay '${relay}'; the domain ${DOMAIN} is trusted`);

const readers = Array.from({ length: READERS }, (_, index) => `reader${index}@example.com,Reader ${index}`);
writeFileSync(join(data, 'readers.csv'), ['email,firstName', ...readers].join('\n'));
call('import_contacts_csv', { path: 'readers.csv' }, '--import-root', data);
const content = readFileSync(join(examples, 'newsletter/newsletter.html'), 'utf8');
const { emailId } = call('import_email', { content });
say(`${READERS.toLocaleString('en-US')} readers imported, and the newsletter`);

const subject = "News for {{ firstName | default: 'you' }}";
const { sendId } = call('send_email', { emailId, domainId, audienceId: 'all', subject, from: { email: `letter@${DOMAIN}` } });
let send;
do {
  await new Promise((settle) => setTimeout(settle, 100));
  send = call('get_email_analytics', { view: 'send', sendId });
} while (['queued', 'running'].includes(send.status) && Date.now() - started < WAIT_MS);

sink.stdin.write('stats\n');
const { messages, bytes, sessions } = await answer();
const seconds = (new Date(send.completedAt) - new Date(send.startedAt)) / 1000;
say(`campaign ${send.status}: ${send.stats.sent} sent, ${send.stats.bounced} bounced`);
say(`the relay counted ${messages} messages of ${(bytes / messages / 1024).toFixed(0)} KB in ${sessions} sessions: `
  + `${Math.round(messages / seconds).toLocaleString('en-US')} signed messages/s`);
sink.stdin.end();
await once(sink, 'exit');
run('stop');
if (send.status !== 'completed' || messages !== send.recipientCount) process.exitCode = 1;
