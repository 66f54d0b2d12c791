// Random automations with random contacts, fires and reactions of recipients, on a moved clock, with a server that is killed again and
// again. The paths of the runs, their branches, times and messages equal those of an interpreter that knows nothing of SQL (D-106,
// D-107, D-108, D-110); each run is decided again from its steps alone; no payload is left. A difference is made smaller and printed.
//
//     AUTOMATION_SEED     of the random numbers
//     AUTOMATION_GRAPHS   how many graphs
//     AUTOMATION_WORLD    a file with a printed world, which is played instead

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { databaseUrl } from '../../lib/database.mjs';
import { Random } from '../../lib/random.mjs';
import { LiveWorld, MARKER } from './live_world.mjs';
import { randomWorld } from './random_graphs.mjs';
import { shrinkWorld } from './shrinking.mjs';

const SEED = Number(process.env.AUTOMATION_SEED ?? 1);
const GRAPHS = Number(process.env.AUTOMATION_GRAPHS ?? 12);
const CONTACTS = 3; // of each graph
const LIMIT = { timeout: 3_600_000 };

const worldOf = () => (process.env.AUTOMATION_WORLD
  ? JSON.parse(readFileSync(process.env.AUTOMATION_WORLD, 'utf8'))
  : randomWorld(new Random(SEED), SEED, GRAPHS, CONTACTS));

/** The smallest case that differs, and how to play it again. */
async function report(live, world, drawn, { faults, isRefused }) {
  if (isRefused) return [...faults, JSON.stringify(drawn)].join('\n');
  const smallest = await shrinkWorld(world, drawn, (less) => live.play(less));
  const [last] = await live.play(smallest);
  return [
    ...faults, `The smallest case of seed ${world.seed}; AUTOMATION_WORLD names a file with it:`, JSON.stringify(smallest), ...last.faults,
  ].join('\n');
}

async function checkMarker({ installation, server }) {
  const dump = execFileSync('pg_dump', ['--data-only', await databaseUrl(installation)], { maxBuffer: 1 << 28, encoding: 'utf8' });
  assert.ok(!dump.includes(MARKER), 'no row has a value of a payload');
  const files = readdirSync(installation.data).filter((name) => name.endsWith('.log')).map((name) => readFileSync(join(installation.data, name), 'utf8'));
  assert.ok(![installation.runnerLog, ...server.log, ...files].some((log) => log.includes(MARKER)), 'no log has a value of a payload');
}

test(`${GRAPHS} random automations do what an interpreter says (seed ${SEED})`, LIMIT, async (t) => {
  const world = worldOf();
  const live = new LiveWorld(t, world.base);
  await live.start();
  const played = await live.play(world);
  t.diagnostic(`${played.filter(({ faults }) => faults.length === 0).length} graphs with ${played.reduce((sum, { runs }) => sum + runs, 0)} runs were equal`);
  const at = played.findIndex(({ faults }) => faults.length > 0);
  if (at >= 0) assert.fail(await report(live, world, world.cases[at], played[at]));
  await checkMarker(live.service);
  await live.service.stop();
});
