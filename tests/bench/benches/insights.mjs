// A run of insights of a brand with 1,000 sends and 360,000 rows of event_rollups. The peer is a plain scan: the sum of all counts of the
// brand, in the same database and by one process. Both are elapsed times; that of a run is from its
// job's creation to the time at which it is settled.
// A run has a lower priority than the scan, so other load on the machine raises the ratio.
//
// BENCH_SENDS   sends of the brand (1,000), with 360 rollups each

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { DataFolder, ROUNDS, environment, interleaved, sizedBy } from '../programs.mjs';

const SENDS = sizedBy('BENCH_SENDS', 1_000, 20);
const ROWS_A_SEND = 360;
const COMMAND_WAIT_MS = 120_000;
const execute = promisify(execFile);

// 24 domains, of which 4 are not named, and 3 sources. Opens and clicks come on the day of the send.
const FILL = `insert into sends (brand_id, kind, message_class, email_id, email_version_id, status, subject, subject_code, from_address,
                     domain_id, target, target_hash, started_at, created_at, updated_at)
  select b.id, 'campaign', 'marketing', 1, 1, 'completed', 'Hi', '', 'a@b.example', 1, 'all', '',
         now() - (1 + ${SENDS} - n) * interval '100 days' / ${SENDS}, now(), now()
    from brands b, generate_series(1, ${SENDS}) n order by n;
  insert into event_rollups (brand_id, send_id, day, event_type, receiving_domain, source, count)
  select s.brand_id, s.id, (s.started_at at time zone 'UTC')::date, t.type, 'domain' || d || '.example', 'source' || o, t.least + (s.id * 7 + d * 13 + o) % t.most
    from sends s, generate_series(1, 24) d, generate_series(1, 3) o,
         (values ('sent', 200, 1), ('delivered', 195, 1), ('opened', 50, 30), ('clicked', 5, 5), ('bounced', 1, 4)) t (type, least, most)
   order by 1, 2, 3, 4, 5, 6`;

export async function run(report) {
  const folder = new DataFolder();
  await folder.command('call', 'get_capabilities', '{"topic":"account"}');
  const { database } = await folder.command('doctor');
  const psql = async (...commands) => {
    const words = [database.url, '-qXAt', '-v', 'ON_ERROR_STOP=1', ...commands.flatMap((command) => ['-c', command])];
    const options = '-c search_path=posthorn -c client_min_messages=warning -c max_parallel_workers_per_gather=0';
    const { stdout } = await execute('psql', words, { env: { ...environment, PGOPTIONS: options }, timeout: COMMAND_WAIT_MS });
    return stdout.trim();
  };
  await psql(FILL);
  await psql('vacuum analyze event_rollups');
  const rows = Number(await psql('select count(*) from event_rollups'));
  if (rows !== SENDS * ROWS_A_SEND) throw new Error(`${rows} rollups`);

  const found = await interleaved(ROUNDS, { scan: () => scan(psql), ours: () => runOnce(folder, psql) });
  report.compare(`${rows.toLocaleString('en-US')} rollups, plain scan`, found.ours.ms, found.scan.ms, 'ms', { atMost: 3 });
}

// On the server, without the start of psql.
async function scan(psql) {
  const sum = 'explain (analyze, timing off, format json) select sum(count) from event_rollups where brand_id = (select max(id) from brands)';
  const [plan] = JSON.parse(await psql(sum));
  return { ms: plan['Execution Time'] };
}

async function runOnce(folder, psql) {
  await folder.command('insights', 'run');
  const last = "from jobs where kind = 'find_insights' order by id desc limit 1";
  return { ms: Number(await psql(`select extract(epoch from settled_at - created_at) * 1000 ${last}`)) };
}
