// Prints the tables of docs/performance.md. profile.sh starts it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

import { Campaign, processorSeconds } from './campaign.mjs';
import { cleanUp, runToEnd } from './programs.mjs';

const RECIPIENTS = Number(process.env.BENCH_RECIPIENTS ?? 100_000);
const SAMPLES_PER_S = 499;
const STACK_BYTES = 8192;

// A sample belongs to the first part whose pattern matches one of its functions. OpenSSL's assembler keeps
// no record of its callers, so every function of OpenSSL that is not called for a hash counts as a signature.
const PARTS = [
  ['DKIM: hashing', /^digest_/],
  ['DKIM: signatures (RSA-2048, Ed25519)', /^sign_|\(.*libcrypto/],
  ['DKIM: canonical form, headers', /^dkim_/],
  ['composing: filling in the templates', /^template_/],
  ['composing: encoding the message', /^message_(?!cache_)|^body_encod|^header_/],
  ['composing: the rest (tokens, links, addresses)', /^message_cache_|^composer_|^delivery_compos/],
  ['journal', /^journal_/],
  ['refill thread: leases, recipients', /^refill_/],
  ['result writer: results, events, figures', /^result_writer_|^write_due_batch/],
  ['SMTP: receiving and sending in the kernel', /sys_sendto|sys_recvfrom|^tcp_|^sock_/],
  ['SMTP: waiting and waking', /epoll|schedule|futex/],
  ['SMTP: the protocol, copying', /^smtp_|^curl_|^Curl_/],
];
const OTHER = 'everything else';

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));
process.on('exit', cleanUp);

async function profile(isSigned) {
  const campaign = await Campaign.prepare({ recipients: RECIPIENTS, isSigned });
  await campaign.countStatements();
  await campaign.send();
  await campaign.psql('select pg_stat_statements_reset()');
  const before = processorTimes(campaign);
  const { perSecond, bytes } = await campaign.send({ keepsRows: true });
  const after = processorTimes(campaign);
  const statements = await campaign.statements();
  await campaign.deleteSends();

  console.log(`\n${rounded(RECIPIENTS)} messages of ${rounded(bytes)} bytes, ${isSigned ? 'signed twice' : 'not signed'}, `
    + `${os.cpus().length} cores: ${rounded(perSecond)} messages/s\n`);
  if (isSigned) console.log(`${await signatureCosts()}\n`);
  printProcesses(before, after);
  await printParts(await record(campaign), after.runner - before.runner);
  printStatements(statements);
}

// Records the runner during one more campaign, which is slower because of the recording. Gives the file.
async function record(campaign) {
  const file = path.join(campaign.folder.parent, 'perf.data');
  const perf = spawn('perf', ['record', '-q', '-e', 'cpu-clock', '-F', String(SAMPLES_PER_S),
    '--call-graph', `dwarf,${STACK_BYTES}`, '-p', String(campaign.runner), '-o', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  await campaign.send();
  perf.kill('SIGINT');
  await once(perf, 'close');
  return file;
}

// The time of each kind of signature alone. The stacks of OpenSSL's assembler do not show which kind it computes.
async function signatureCosts() {
  const out = await runToEnd(['openssl', 'speed', '-seconds', '1', 'rsa2048', 'ed25519']);
  const us = (pattern) => (1e6 / Number(pattern.exec(out)[1])).toFixed(1);
  return `openssl speed on one core, just now: RSA-2048 ${us(/^rsa 2048 bits\s+\S+\s+\S+\s+([\d.]+)/m)} µs a signature, `
    + `Ed25519 ${us(/\(Ed25519\)\s+\S+\s+\S+\s+([\d.]+)/m)} µs`;
}

const rounded = (number) => Math.round(number).toLocaleString('en-US');
const perMessage = (seconds) => ((seconds * 1e6) / RECIPIENTS).toFixed(1);

function table(head, rows) {
  console.log(`| µs | ${head} |\n|---:|---|`);
  for (const [seconds, name] of rows) console.log(`| ${perMessage(seconds)} | ${name} |`);
  console.log('');
}

// ---- Processes ----

function processorTimes(campaign) {
  return { ...campaign.processorSeconds(), sink: processorSeconds(campaign.sink.child.pid) };
}

function printProcesses(before, after) {
  const rows = [['runner', 'the runner'], ['postgres', 'PostgreSQL, all its processes'], ['sink', 'the sink']]
    .map(([key, name]) => [after[key] - before[key], name]);
  table('processor time a message', [...rows, [rows.reduce((total, [seconds]) => total + seconds, 0), 'all of it']]);
}

// ---- Functions ----

async function printParts(recording, runnerSeconds) {
  const words = ['script', '--no-inline', '-F', 'ip,sym,dso', '-i', recording];
  const script = spawn('perf', words, { stdio: ['ignore', 'pipe', 'ignore'] });
  const counts = new Map();
  let stack = [];
  let samples = 0;
  for await (const line of readline.createInterface({ input: script.stdout })) {
    if (line.trim() !== '') {
      stack.push(line.trim().replace(/^[0-9a-f]+ /, ''));
    } else if (stack.length > 0) {
      const part = partOf(stack);
      counts.set(part, (counts.get(part) ?? 0) + 1);
      samples++;
      stack = [];
    }
  }
  const rows = [...counts].map(([name, count]) => [(count / samples) * runnerSeconds, name]).sort((a, b) => b[0] - a[0]);
  table(`of the runner, by ${samples.toLocaleString('en-US')} samples`, rows);
}

function partOf(stack) {
  return PARTS.find(([, pattern]) => stack.some((name) => pattern.test(name)))?.[0] ?? OTHER;
}

// ---- Statements ----

function printStatements(statements) {
  table('of PostgreSQL, by statement', statements.map(({ seconds, calls, query }) =>
    [seconds, `${calls} × \`${query.replace(/\s+/g, ' ').slice(0, 90)}\``]));
}

for (const isSigned of [false, true]) {
  await profile(isSigned);
  cleanUp();
}
