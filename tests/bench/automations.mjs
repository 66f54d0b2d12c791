// Automations in the installation of a measured campaign: triggers and graphs, made over REST, and runs, made by SQL. Fires are sent
// at a fixed rate, each for a new address.

import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { Campaign } from './campaign.mjs';

const FIELDS = [{ key: 'email', type: 'string', required: true }];
const FIRED = 'fired.example';
const SOCKETS = 64;
const LOOK_EVERY_MS = 50;
const RUNS_WAIT_MS = 600_000;

export const link = (from, to, branch) => ({ from, to, ...(branch && { branch }) });
export const waitNode = (id, duration, unit) => ({ id, type: 'wait', config: { duration, unit } });

export class Automations {
  #agent = new http.Agent({ keepAlive: true, maxSockets: SOCKETS });
  #fired = 0;

  /** `options` as those of Campaign.prepare. */
  static async prepare(options) {
    const campaign = await Campaign.prepare(options);
    return new Automations(campaign, await campaign.folder.serve());
  }

  constructor(campaign, server) {
    this.campaign = campaign;
    this.server = server;
  }

  // ---- Making ----

  async trigger(title) {
    const { triggerEventId } = await this.#make('POST', '/v1/automations/triggers', { title, payloadSchema: { fields: FIELDS } });
    return triggerEventId;
  }

  triggerNode(triggerEventId) {
    return { id: 'start', type: 'trigger', config: { mode: 'event', triggerEventId } };
  }

  /** A message with the design of the campaign. */
  mailNode(id) {
    const { emailId, emailVersionId, domainId, sender, subject } = this.campaign;
    return { id, type: 'sendEmail', config: { emailId, emailVersionId, domainId, subject, fromAddress: sender } };
  }

  async publish(name, nodes, connections) {
    const { automationId } = await this.#make('POST', '/v1/automations', { name, nodes, connections });
    await this.#make('PATCH', `/v1/automations/${automationId}`, { published: true });
  }

  async #make(method, path, content) {
    const { status, body } = await this.#request(method, path, content);
    if (status >= 300) throw new Error(`${method} ${path}: ${body}`);
    return JSON.parse(body);
  }

  // ---- Runs ----

  /** Deletes all runs and what they have sent, and the contacts of the fires. Nothing may be under way. */
  async forget() {
    await this.campaign.psql('truncate automation_runs, automation_steps, automation_sends, automation_carriers, automation_counts, '
      + 'trigger_payloads, trigger_instances', `delete from contacts where email_key like '%@${FIRED}'`);
    await this.campaign.deleteSends();
  }

  /** Waits until no run of this automation is open. */
  async ended(name) {
    for (const deadline = Date.now() + RUNS_WAIT_MS; ; await sleep(LOOK_EVERY_MS)) {
      const open = await this.campaign.psql('select exists (select 1 from automation_runs r join automations a on a.brand_id = r.brand_id '
        + `and a.id = r.automation_id where a.name = '${name}' and r.status in ('queued', 'running'))`);
      if (open === 'f') return;
      if (Date.now() > deadline) throw new Error(`runs of ${name} have not ended`);
    }
  }

  // ---- Fires ----

  /** Fires so often a second until `isOver`. Gives { email, sentNs, tookMs } of each, with the time of process.hrtime. A fire is sent at
   * its time, however long others take. */
  async fire(triggerEventId, perSecond, isOver) {
    const path = `/v1/automations/triggers/${triggerEventId}/fire`;
    const fires = [];
    for (let at = performance.now(); !isOver(); at += 1000 / perSecond) {
      await sleep(Math.max(0, at - performance.now()));
      fires.push(this.#fireOne(path));
    }
    return Promise.all(fires);
  }

  async #fireOne(path) {
    const email = `p${++this.#fired}@${FIRED}`;
    const sentNs = process.hrtime.bigint();
    const { status, body } = await this.#request('POST', path, { payload: { email } }, { 'idempotency-key': email });
    if (status !== 202) throw new Error(`a fire: ${body}`);
    return { email, sentNs, tookMs: Number(process.hrtime.bigint() - sentNs) / 1e6 };
  }

  #request(method, path, content, more = {}) {
    const [name, value] = this.server.header.split(': ');
    const headers = { [name]: value, 'content-type': 'application/json', ...more };
    return new Promise((resolve, reject) => {
      const request = http.request({ host: '127.0.0.1', port: this.server.port, method, path, headers, agent: this.#agent }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (text) => { body += text; }).on('end', () => resolve({ status: response.statusCode, body }));
      });
      request.on('error', reject).end(JSON.stringify(content));
    });
  }
}

/** A function that is true after so many seconds. */
export function over(seconds) {
  const end = performance.now() + 1000 * seconds;
  return () => performance.now() >= end;
}
