// The cost of the rate limits. A driver counts calls of 1,000 keys on two threads; its processor time is compared with that of a
// whole call (GET /v1/emails/{id}, PostgreSQL not counted). The share is smaller than the difference between two runs of whole
// calls, so it is measured alone. Then whole calls run with the windows in a Redis on the same machine, without a target.

import { existsSync } from 'node:fs';
import path from 'node:path';

import { DURATION_MS, DataFolder, ROUNDS, drive, freePort, interleaved, posthorn, runToEnd, serve, sized } from '../programs.mjs';
import { newsletter } from '../newsletter.mjs';

const driver = path.join(path.dirname(posthorn.binary), 'rate_limit_time');
const REDIS = 'exec -a redis-server "$(command -v valkey-server || echo /usr/bin/redis-check-rdb)" "$@"';
const REDIS_CALLS = sized(40_000, 500);

export async function run(report) {
  if (!existsSync(driver)) throw new Error(`there is no ${driver}; build it beside the release binary`);
  const rateLimit = async (...flags) => JSON.parse(await runToEnd([driver, ...flags]));
  const storePort = await freePort();
  await serve(storePort, ['bash', '-c', REDIS, 'redis', '--port', `${storePort}`, '--bind', '127.0.0.1', '--save', '']);
  const store = `redis://127.0.0.1:${storePort}`;

  const folder = new DataFolder();
  const [memory, shared] = [await folder.serve(), await folder.serve('--limit-store', store)];
  const { emailId } = await folder.command('call', 'import_email', JSON.stringify(newsletter()));
  const call = (server) => drive('http_load', { port: server.port, header: server.header, get: `/v1/emails/${emailId}`,
    marker: emailId, serverPid: server.pid, durationMs: DURATION_MS });
  const found = await interleaved(ROUNDS, {
    memory: () => call(memory),
    shared: () => call(shared),
    limit: () => rateLimit(...sized([], ['--calls', '20000'])),
    redis: () => rateLimit('--store', store, '--calls', `${REDIS_CALLS}`),
  });
  const callNs = (1e9 * found.memory.serverCpu) / found.memory.callsPerSecond;

  report.compare('in memory: the rate limit, a whole call', found.limit.processorNs, callNs, 'ns', { atMost: 0.03 });
  report.compare('calls: in Redis, in memory', found.shared.callsPerSecond, found.memory.callsPerSecond, 'calls/s');
  report.compare('p99: in Redis, in memory', found.shared.p99Us, found.memory.p99Us, 'µs');
  report.limit('in Redis: one call counted, two threads asking', found.redis.elapsedNs / 1000, 'µs', {});
}
