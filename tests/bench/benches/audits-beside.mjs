// Lists of designs while 20 audits are queued and run, and without them, in turns. Audits draw in the browser, one at a time for an
// organization, so that calls that somebody waits for must not notice them much. The audits have browser and static checks only.

import { randomUUID } from 'node:crypto';

import { DURATION_MS, DataFolder, ROUNDS, WARMUP_MS, drive, interleaved, sized } from '../programs.mjs';
import { newsletter } from '../newsletter.mjs';

const AUDITS = sized(20, 2);
const DESIGNS = 20;
const READERS = 4;
const BOUND = { atMost: 2 };
const PRICE = 5; // credits of an audit
const GRACE_MS = 300; // the first audits begin this long before the calls are measured
const POLL_MS = 200;
const WAIT_MS = 600_000;
/** Links would be requested, which takes as long as the network does. */
const withoutLinks = (design) => ({ ...design, content: design.content.replaceAll(/ href="https?:[^"]*"/g, '') });
const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

export async function run(report) {
  const folder = new DataFolder();
  const server = await folder.serve();
  const designs = [];
  for (let i = 0; i < DESIGNS; i++) designs.push((await folder.command('call', 'import_email', JSON.stringify(withoutLinks(newsletter())))).emailId);
  const rest = new Rest(server);
  const reads = () => drive('http_load', { port: server.port, header: server.header, get: '/v1/emails', marker: designs[0],
    connections: READERS, warmupMs: WARMUP_MS, durationMs: DURATION_MS });
  await Promise.all(await rest.audits(designs[0], 1)); // the browser has started
  const { beside, alone } = await interleaved(ROUNDS, {
    beside: () => besideAudits(rest, designs[0], reads),
    alone: reads,
  });
  report.compare(`p99 of GET /v1/emails beside ${AUDITS} audits, alone`, beside.p99Us, alone.p99Us, 'µs', BOUND);
  report.compare('  calls', beside.callsPerSecond, alone.callsPerSecond, 'calls/s');
  report.note(`audits that had not ended when the calls were measured: ${beside.left} of ${AUDITS}`);
}

/** All audits must end completely, and some must still be open when the calls have been measured: else the figure would mean nothing. */
async function besideAudits(rest, emailId, measure) {
  const running = await rest.audits(emailId, AUDITS);
  await sleep(GRACE_MS);
  const figures = await measure();
  const left = await rest.open();
  if (left === 0) throw new Error('the audits had ended before the calls were measured');
  for (const { completion } of await Promise.all(running)) {
    if (completion.status !== 'complete') throw new Error('an audit was not complete');
  }
  return { ...figures, left };
}

class Rest {
  constructor({ port, header }) {
    this.base = `http://127.0.0.1:${port}`;
    this.authorization = header.slice(header.indexOf(':') + 1).trim();
  }

  async call(path, body) {
    const headers = { authorization: this.authorization, 'content-type': 'application/json', 'idempotency-key': randomUUID() };
    const options = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
    for (;;) {
      const answer = await fetch(this.base + path, { ...options, signal: AbortSignal.timeout(WAIT_MS) });
      const text = await answer.text();
      if (answer.ok) return JSON.parse(text);
      if (answer.status !== 503) throw new Error(`${path}: ${answer.status} ${text}`);
      await sleep(POLL_MS); // the job is still running; the same key gives its result
    }
  }

  /** The audits that have not ended, by the credits that they hold. */
  async open() {
    const { credits } = await this.call('/v1/usage');
    return Math.round(credits.reserved / PRICE);
  }

  /** Starts audits and waits until all of them are queued or have ended. Gives the promises of their results. */
  async audits(emailId, count) {
    let ended = 0;
    const running = Array.from({ length: count }, () => this.call('/v1/emails/audit', { emailId }));
    for (const result of running) result.finally(() => { ended++; }).catch(() => {}); // the caller gets the error
    while ((await this.open()) + ended < count) await sleep(POLL_MS);
    return running;
  }
}
