// An installation whose `serve` and runner have a bound of memory, and the costs of what they are made to do: processor time and
// peak of resident memory of each, and whether it is still alive.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from '../lib/database.mjs';
import { Installation } from '../lib/installation.mjs';
import { isAlive, limitData, peakKib, processorUs, resetPeak, residentKib, until } from '../lib/processes.mjs';
import { NameServer } from '../lib/dns_server.mjs';
import { Lost } from './lost.mjs';

const MIB_KIB = 1024;
/** The most memory that may be resident, and at which growth a process is started again, so that the next series sees its own. */
export const BOUNDS_MIB = { serve: 256, runner: 192 };
const RETAINED_KIB = { serve: 24 * MIB_KIB, runner: 96 * MIB_KIB };
/**
 * Data beyond what was mapped at the start. It is above the bound of the resident memory, because stacks and what is reserved but
 * not touched count, too: a process that passes the bound a little is measured, one that goes on is refused memory.
 */
const DATA_FACTOR = 2;
/** More than the sends of one operation put into it. */
const OUTBOX_MIB = 16 * 1024;
const SETTLE_LIMIT_MS = 120_000;
const OPEN_WORK = `select (select count(*) from jobs where state in ('queued', 'running') and run_after <= now())
  + (select count(*) from sends where status in ('queued', 'running'))`;

class Watched {
  constructor(name, pid) {
    Object.assign(this, { name, pid, idleKib: residentKib(pid) });
    limitData(pid, DATA_FACTOR * BOUNDS_MIB[name] * MIB_KIB);
  }

  get hasRetained() {
    return isAlive(this.pid) && residentKib(this.pid) - this.idleKib > RETAINED_KIB[this.name];
  }

  begin() {
    resetPeak(this.pid);
    this.usBefore = processorUs(this.pid);
  }

  /** {us, peakKib, grownKib}; fails when the process is gone. */
  end() {
    if (!isAlive(this.pid)) throw new Lost(`${this.name} ended`);
    const peak = peakKib(this.pid);
    return { us: Math.max(0, processorUs(this.pid) - this.usBefore), peakKib: peak, grownKib: Math.max(0, peak - this.idleKib) };
  }
}

export class Bounded {
  #servers = [];

  /** `options` are settings of the installation. */
  static async start(catalogue, options = {}) {
    const bounded = new Bounded();
    bounded.catalogue = catalogue;
    // Every name that ends with .com has an address, so addresses can be checked.
    bounded.names = await NameServer.prepare(['local=/com/', 'address=/com/192.0.2.1']);
    await bounded.names.start();
    bounded.installation = new Installation({
      DNS_SERVERS: bounded.names.place, IDLE: 600, CONFIRM_ABOVE: 'off', LOG_LEVEL: 'warning', OUTBOX_MAX: OUTBOX_MIB, ...options,
    });
    bounded.#freeRenderer();
    await bounded.#serve();
    bounded.key = await bounded.installation.key();
    const { cookie } = await bounded.installation.admin('session', 'create');
    bounded.cookie = cookie;
    await bounded.#watchRunner();
    return bounded;
  }

  /** The renderer is a process of its own, with bounds of its own: it does not keep the limit that it inherits. */
  #freeRenderer() {
    const { environment, folder } = this.installation;
    const program = join(folder, 'node');
    writeFileSync(program, `#!/bin/sh\nulimit -S -d unlimited\nexec '${environment.POSTHORN_NODE}' "$@"\n`, { mode: 0o755 });
    environment.POSTHORN_NODE = program;
  }

  async #serve() {
    this.server = await this.installation.serve();
    this.#servers.push(this.server);
    const client = this.server.client(this.key);
    await client.get('/v1/health');
    client.close();
    this.serve = new Watched('serve', this.server.pid);
  }

  async #watchRunner() {
    const pid = await until('there is a runner', () => this.installation.runnerPid);
    this.runner = new Watched('runner', pid);
  }

  /** Whether both processes are the ones that were started. */
  get isWhole() {
    return isAlive(this.serve.pid) && isAlive(this.runner.pid);
  }

  /** Starts `serve` again. */
  async restart() {
    await this.server.stop();
    await this.#serve();
  }

  /** Starts again what has kept much memory of earlier calls. */
  async refresh() {
    if (this.serve.hasRetained) await this.restart();
    if (!this.runner.hasRetained) return;
    await this.server.stop();
    await this.installation.stop();
    await this.#serve();
    await this.#watchRunner();
  }

  /** A client of the whole organization; `headers` may name a brand. */
  client(headers = {}, connections = 1) {
    return this.server.client(this.key, headers, connections);
  }

  /** Until no job is due and no send has anything to deliver. The captured mail is deleted then. */
  async settled() {
    await until('all work has ended', async () => {
      if (!isAlive(this.runner.pid) || this.installation.runnerPid !== this.runner.pid) throw new Lost('runner ended');
      return (await sql(this.installation, OPEN_WORK))[0] === '0';
    }, SETTLE_LIMIT_MS);
    const outbox = join(this.installation.data, 'outbox/new');
    for (const name of this.installation.outbox()) rmSync(join(outbox, name));
  }

  /** Runs `call` and gives {answer, serve, runner}: what each process used for it, the work behind it included. */
  async measure(call, hasJobs) {
    this.serve.begin();
    this.runner.begin();
    const ended = this.server.ended.then((how) => {
      throw new Lost(`serve ended (${how}): ${this.server.log.at(-1) ?? ''}`);
    });
    ended.catch(() => {});
    let answer;
    try {
      answer = await Promise.race([call(), ended]);
    } catch (error) {
      if (!isAlive(this.serve.pid)) await ended;
      throw error;
    }
    if (hasJobs) await this.settled();
    return { answer, serve: this.serve.end(), runner: this.runner.end() };
  }

  async dispose() {
    const left = await this.installation.dispose();
    await this.names.dispose();
    return left;
  }
}
