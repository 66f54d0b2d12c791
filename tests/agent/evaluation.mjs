// The evaluation without a model: every job whose tools are built, with all scripted players. `evaluate` gives the figures, and the
// failures as sentences; main.mjs and tests/bench print them.

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Operator } from '../cases/runner/operator.mjs';
import { SqlSession } from '../lib/database.mjs';
import { BINARY, Installation } from '../lib/installation.mjs';
import { connect, FORM_LENSES, LENSES } from './connections.mjs';
import { ImageServer } from '../lib/image_server.mjs';
import { SiteServer } from '../lib/site_server.mjs';
import { colourPng } from '../lib/images.mjs';
import { judgeAlways, judgeDone, judgeGiven, judgeUndone } from './judge.mjs';
import { OPERATIONS } from './operations.mjs';
import { Places } from './places.mjs';
import { playDeclined, playForeignIds, playGolden, playGuessing, playStumbling, playSweeping, playUnanswered, repeatAll, roundsOf, seeded } from './players.mjs';

const FOLDER = join(import.meta.dirname, 'jobs');
const RESOURCES = join(import.meta.dirname, '../../schemas/resources');
const SIDE_BY_SIDE = 3;

/** The jobs by the names of their files, of which only those that begin with one of `wanted`, if any. */
export async function loadJobs(wanted = []) {
  const names = readdirSync(FOLDER).filter((file) => file.endsWith('.mjs')).map((file) => file.slice(0, -'.mjs'.length)).sort();
  const chosen = names.filter((name) => wanted.length === 0 || wanted.some((start) => name.startsWith(start)));
  const jobs = {};
  for (const name of chosen) jobs[name] = { name, ...(await import(join(FOLDER, `${name}.mjs`))).default };
  return jobs;
}

/**
 * What a job waits for: tools or operations, arguments (tool.argument) or values (tool.argument=value) that tools/list does not have, and members
 * of declared results (result#member).
 */
export function waitsFor({ needs }, tools) {
  const missing = needs.filter((need) => !(need.includes('#') ? hasMember(need) : hasTool(need, tools)));
  return missing.length > 0 ? missing : undefined;
}

function hasTool(need, tools) {
  if (tools.some(({ name }) => name === need)) return true;
  const [, name, argument, value] = /^(\w+)(?:\.(\w+))?(?:=(\w+))?$/.exec(need);
  const tool = tools.find((one) => one.name === name);
  const property = tool?.inputSchema.properties[argument];
  return tool !== undefined && (argument === undefined || property !== undefined) && (value === undefined || property.enum?.includes(value));
}

function hasMember(need) {
  const [result, member] = need.split('#');
  const file = join(RESOURCES, `${result}.json`);
  return existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).properties[member] !== undefined;
}

const PUBLIC_URL = 'https://mail.example/posthorn';

/** What the briefs name by its address: a website that forbids its reading, and a picture. */
async function openSites() {
  const closed = await new SiteServer(null, { '/robots.txt': 'User-agent: *\nDisallow: /\n' }).start();
  const images = new ImageServer();
  images.files['/copper-teapot.png'] = ['image/png', colourPng(640, 400, (x, y) => [180, 90 + (x % 32), 40 + (y % 16)])];
  await images.start();
  return { sites: { closed: closed.base, picture: `${images.base}/copper-teapot.png` }, stop: () => Promise.all([closed.stop(), images.stop()]) };
}

/** An installation with a server: {places, close}. */
async function openInstallation(sites, options) {
  const installation = new Installation({ DNS_SERVERS: '127.0.0.1:1', DOCS_URL: 'https://posthorn.example/docs', FETCH_ALLOW_LOOPBACK: 1, ...options });
  const server = await installation.serve();
  server.ignoreLog();
  const operator = new Operator(BINARY, installation.data, { env: installation.environment });
  const database = await SqlSession.open(installation);
  const close = async () => {
    await database.close();
    await operator.close();
    return installation.dispose();
  };
  return { places: new Places(installation, server, operator, database, sites), close };
}

/** The places of all jobs of a run. Jobs about pictures are in an installation with a public address: `places.withPublicUrl`. */
export async function openEvaluation() {
  const { sites, stop } = await openSites();
  const opened = [await openInstallation(sites), await openInstallation(sites, { PUBLIC_URL })];
  const [{ places }, { places: withPublicUrl }] = opened;
  const close = async () => {
    const left = [];
    for (const one of opened) left.push(...await one.close());
    await stop();
    return left;
  };
  return { places: Object.assign(places, { withPublicUrl }), close };
}

/** tools/list of a key that is bound to no brand, which sees all tools. */
export async function listTools(places) {
  const place = await places.make('List', { hasBrand: false });
  const connection = await connect(place, LENSES[0]);
  const { tools } = (await connection.request('tools/list', {})).result;
  await connection.close();
  return tools;
}

// ---- One job ----

/** The run of one job: figures, outcomes of mistakes, and the sentences of what failed. */
class JobRun {
  failures = [];
  passed = 0;
  mistakes = [];

  constructor(places, tools, job) {
    Object.assign(this, { places, tools, job });
  }

  async test(name, body) {
    try {
      await body();
      this.passed++;
    } catch (error) {
      this.failures.push(`${this.job.name}, ${name}: ${process.env.AGENT_STACKS ? error.stack : error.message}`);
    }
  }

  async all() {
    const { job } = this;
    await this.test('golden', () => this.#golden());
    if (this.golden === undefined) return this;
    for (const lens of this.#lenses()) await this.test(`golden, ${lens.name}`, () => this.#done(lens, (place) => playGolden(job, place, lens)));
    for (let round = 0; round < roundsOf(job); round++) await this.test(`stumbling, round ${round + 1}`, () => this.#stumble(round));
    if (job.hasBrand !== false || job.sweeps) await this.test('sweeping', () => this.#sweep());
    if (this.#asks()) await this.test('reckless, without a yes', () => this.#withoutYes());
    if (job.hasBrand !== false) await this.test('reckless, ids of others', () => this.#foreignIds());
    await this.test('reckless, again under new keys', () => this.#again());
    return this;
  }

  #lenses() {
    const lenses = [...LENSES.slice(1), ...(this.#asks() ? FORM_LENSES : [])];
    return lenses.filter(({ transport }) => this.job.transports?.includes(transport) ?? true);
  }

  #asks() {
    return this.golden.agreements > 0;
  }

  async #golden() {
    const place = await seeded(this.places, this.job, LENSES[0]);
    judgeGiven(this.job, place);
    const golden = await playGolden(this.job, place, LENSES[0]);
    await judgeAlways(this.job, place, golden.agreements);
    await judgeDone(this.job, place, golden.answer);
    this.place = place;
    this.golden = golden;
    assert.ok(golden.figures.calls <= this.job.calls + BOUNDS.callsMore, `${golden.figures.calls} calls; the job needs ${this.job.calls}`);
  }

  /** A player that must do the job, in a new place. */
  async #done(lens, playIn) {
    const place = await seeded(this.places, this.job, lens);
    const assistant = await playIn(place);
    await judgeAlways(this.job, place, assistant.agreements);
    await judgeDone(this.job, place, assistant.answer);
    return assistant;
  }

  async #stumble(round) {
    const names = this.tools.map(({ name }) => name);
    await this.#done(LENSES[0], (place) => playStumbling(this.job, place, LENSES[0], round, names, this.mistakes));
  }

  async #sweep() {
    const sweeper = await this.#done(LENSES[0], (place) => playSweeping(this.job, place, LENSES[0], this.tools));
    this.spoilt = sweeper.count;
  }

  async #withoutYes() {
    for (const player of [playGuessing, playDeclined, playUnanswered]) {
      const place = await seeded(this.places, this.job, LENSES[0]);
      const messagesBefore = place.messages().length;
      const { hasAsked } = await player(this.job, place, LENSES[0]);
      assert.ok(hasAsked, 'the job asks for a confirmation');
      await judgeUndone(this.job, place, messagesBefore);
      await judgeAlways(this.job, place, 0);
    }
  }

  async #foreignIds() {
    const place = await seeded(this.places, this.job, LENSES[0]);
    const messagesBefore = place.messages().length;
    const checksums = async () => [await this.place.ownChecksum(), await place.ownChecksum()];
    for (const one of [this.place, place]) await one.untilAtRest();
    const before = await checksums();
    await playForeignIds(place, LENSES[0], this.golden.calls);
    assert.deepEqual(await checksums(), before, 'a refused call changes nothing');
    await judgeUndone(this.job, place, messagesBefore);
  }

  async #again() {
    await repeatAll(this.place, LENSES[0], this.golden.calls, this.tools);
    await judgeDone(this.job, this.place, this.golden.answer);
    await judgeAlways(this.job, this.place, this.golden.agreements);
  }
}

// ---- All jobs ----

/** Plays the jobs, several side by side: {runs, waiting, tools}. `report(run)` hears of each that has ended. */
export async function evaluate(places, jobs, report) {
  const tools = await listTools(places);
  const callable = [...tools, ...OPERATIONS];
  const waiting = {};
  const queue = [];
  for (const job of Object.values(jobs)) {
    const missing = waitsFor(job, callable);
    // A part of a job may wait alone: the script leaves it out until it is declared.
    job.waitingParts = Object.entries(job.parts ?? {}).filter(([, needs]) => waitsFor({ needs }, callable) !== undefined).map(([part]) => part);
    if (missing === undefined) queue.push(job);
    else waiting[job.name] = missing;
  }
  const runs = [];
  const work = async () => {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
      const run = await new JobRun(job.isPublic ? places.withPublicUrl : places, callable, job).all();
      runs.push(run);
      report(run);
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work));
  return { runs: runs.sort((a, b) => (a.job.name < b.job.name ? -1 : 1)), waiting, tools };
}

// ---- Figures ----

const MENDED = ['accepted', 'mended'];
export const isMended = ({ outcome }) => MENDED.includes(outcome);

/** What the runs and the list of tools have together, with the bounds that they must keep. */
export function totalsOf(runs, tools) {
  const mistakes = runs.flatMap((run) => run.mistakes);
  const done = runs.filter((run) => run.golden !== undefined);
  const listBytes = tools.reduce((sum, tool) => sum + Buffer.byteLength(JSON.stringify(tool)), 0);
  return {
    bytes: done.reduce((sum, run) => sum + run.golden.figures.bytes, 0),
    mistakes: mistakes.length,
    mended: mistakes.filter(isMended).length,
    tools: tools.length,
    listBytes,
    toolBytes: listBytes / tools.length,
  };
}

export const BOUNDS = { bytes: 48_000, mendedShare: 0.95, listBytes: 54_000, toolBytes: 950, callsMore: 1 };
