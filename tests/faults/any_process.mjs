// Campaigns during which any process is killed: the runner, its PostgreSQL, `serve` or the relay, one or two of them in a round. No
// call brings the runner back: `serve` watches it. Meanwhile writers save contacts through `serve`.

import { kill, killGroup, until } from '../lib/processes.mjs';
import { Writers, contactsOf } from '../lib/writers.mjs';
import { verify, sumOf } from './verify.mjs';
import { Mailing, addressesOf } from './mailing.mjs';

const CONNECTIONS = 10; // of a relay, which bounds the messages that a kill of it or of the runner leaves in doubt
const WRITERS = 2;
const WAIT_MS = 60_000;
const CAMPAIGN_LIMIT_MS = 300_000;
const ROUNDS_OF_CAMPAIGN = 100;

// ---- The relay ----

/** A relay that can be killed and comes back on its port. The records of the killed ones are kept. */
class Relay {
  #start;
  #killed = [];
  #messagesOfKilled = 0;

  static async start(start) {
    const relay = new Relay();
    relay.#start = start;
    await relay.#begin(0);
    return relay;
  }

  async #begin(port) {
    this.sink = await this.#start({ port });
    await this.sink.behave('delay 5');
  }

  async kill() {
    const { port } = this.sink;
    await this.sink.kill();
    this.#killed.push(this.sink);
    this.#messagesOfKilled += this.sink.recordedCount();
    await this.#begin(port);
  }

  async messages() {
    return this.#messagesOfKilled + (await this.sink.stats()).messages;
  }

  takeRecords() {
    return [...this.#killed, this.sink].flatMap((sink) => sink.takeRecords()).sort((a, b) => (a.atNs < b.atNs ? -1 : 1));
  }
}

// ---- The installation ----

/** `serve`, which is started anew when it is killed, and what writes through it. */
class Served {
  static async start(installation) {
    const served = new Served();
    served.installation = installation;
    served.server = await installation.serve('--log-level', 'error');
    const { brandId } = await installation.admin('brand', 'create', 'Writers');
    served.key = await installation.key('--brand', brandId);
    served.#connect();
    served.writers = new Writers('load', Array.from({ length: WRITERS }, (_, index) => () => served.clients[index]));
    return served;
  }

  #connect() {
    this.clients?.forEach((client) => client.close());
    this.clients = Array.from({ length: WRITERS }, () => this.server.client(this.key));
  }

  async kill() {
    await this.server.kill();
    this.server = await this.installation.serve('--log-level', 'error');
    this.#connect();
  }

  /** Every acknowledged contact is there once. Gives the breaches. */
  async end() {
    await this.writers.end();
    const found = await contactsOf(this.clients[0], this.writers.tag);
    const missing = this.writers.acknowledged.filter(({ key, id }) => found.get(`${key}@example.com`)?.id !== id);
    this.clients.forEach((client) => client.close());
    const dishonest = this.writers.refusals.filter(({ status }) => status !== 503);
    const breaches = missing.length > 0 ? [`${missing.length} acknowledged contacts are missing, such as ${missing[0].key}`] : [];
    if (found.size !== this.writers.acknowledged.length) breaches.push(`${found.size} contacts where ${this.writers.acknowledged.length} were acknowledged`);
    if (dishonest.length > 0) breaches.push(`${dishonest.length} writes were refused by other than 503: ${JSON.stringify(dishonest[0].body)}`);
    return breaches;
  }
}

// ---- Rounds ----

/** The kinds of processes: how each is killed, and how many messages that may leave in doubt. */
function victimsOf({ installation, relay, served }) {
  return [
    { name: 'runner', endsRunner: true, doubtful: CONNECTIONS, kill: () => killGroup(installation.runnerPid) },
    { name: 'PostgreSQL', endsRunner: true, doubtful: CONNECTIONS, kill: () => kill(installation.postmasterPid) },
    { name: 'relay', doubtful: CONNECTIONS, kill: () => relay.kill() },
    { name: 'serve', doubtful: 0, kill: () => served.kill() },
  ];
}

const isServed = ({ runnerPid, postmasterPid }) => runnerPid > 0 && postmasterPid > 0;

/** Waits until the runner and its server are back, without a call, and writes are acknowledged again. A killed process may be seen for a
 * while, and the runner ends after its server, so both must be others when `isEnded`. */
async function untilBack({ installation, served }, before, isEnded) {
  await until('the installation is back', async () => {
    const now = { runnerPid: installation.runnerPid, postmasterPid: installation.postmasterPid };
    return isServed(now) && (!isEnded || (now.runnerPid !== before.runnerPid && now.postmasterPid !== before.postmasterPid));
  }, WAIT_MS);
  const acknowledged = served.writers.acknowledged.length;
  await until('writes are acknowledged', () => served.writers.acknowledged.length > acknowledged + WRITERS, WAIT_MS);
}

async function killSome(context) {
  const { installation, random, log } = context;
  const victims = victimsOf(context);
  const first = random.pick(victims);
  const chosen = random.below(3) === 0 ? [...new Set([first, random.pick(victims)])] : [first];
  const before = { runnerPid: installation.runnerPid, postmasterPid: installation.postmasterPid };
  const atNs = process.hrtime.bigint();
  await Promise.all(chosen.map((victim) => victim.kill()));
  await untilBack(context, before, chosen.some(({ endsRunner }) => endsRunner));
  log(`  killed ${chosen.map(({ name }) => name).join(' and ')} at ${await context.relay.messages()} messages`);
  return { atNs, goneNs: process.hrtime.bigint(), sessions: chosen.reduce((sum, { doubtful }) => sum + doubtful, 0) };
}

async function runCampaign({ mailing, rounds, ...context }) {
  const { relay, random } = context;
  const base = await relay.messages();
  const targets = Array.from({ length: rounds }, () => random.below(mailing.addresses.length)).sort((a, b) => a - b);
  const send = await mailing.start();
  const kills = [];
  for (const target of targets) {
    await until(`${target} messages came`, async () => (await relay.messages()) - base >= target, CAMPAIGN_LIMIT_MS);
    kills.push(await killSome(context));
  }
  await mailing.ended(send, CAMPAIGN_LIMIT_MS);
  const figures = verify({
    addresses: mailing.addresses, records: relay.takeRecords(), outcome: await mailing.outcome(send), kills, isHolding: true, perSession: Infinity,
  });
  context.log(`  ${JSON.stringify(figures)}`);
  return figures;
}

export async function runAnyKills({ rounds, recipients, random, startSink, log }) {
  const relay = await Relay.start(startSink);
  const mailing = await Mailing.prepare({ addresses: addressesOf(recipients), sinks: [relay.sink], options: { RETRY_AFTER: 1 } });
  const { installation } = mailing;
  const served = await Served.start(installation);
  const all = [];
  for (let left = rounds; left > 0; left -= ROUNDS_OF_CAMPAIGN) {
    all.push(await runCampaign({ mailing, installation, relay, served, random, log, rounds: Math.min(left, ROUNDS_OF_CAMPAIGN) }));
  }
  const total = sumOf(all);
  const lost = await served.end();
  return { ...total, breaches: [...total.breaches, ...lost], disturbance: `${rounds} rounds, ${served.writers.acknowledged.length} writes` };
}
