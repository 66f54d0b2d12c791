// A database of its own whose default brand has contacts and a finished campaign to all of them, filled in by SQL. No process of the
// service runs, so nothing but the driver of a bench writes. Has the drivers that call the engine.

import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

import { DataFolder, environment, posthorn, runToEnd } from './programs.mjs';
import { Postgres } from '../lib/postgres.mjs';

const COMMAND_WAIT_MS = 300_000;
const execute = promisify(execFile);

const FILL = (recipients) => [
  `insert into contacts (brand_id, email, email_key, source, subscribed, first_name, created_at, updated_at)
     select b.id, t.email, t.email, 'CSV', true, 'Ada', now(), now()
       from brands b, generate_series(1, ${recipients}) n, lateral (select n::bigint * 2654435761 % 4294967296) h (hash),
            lateral (select 'reader' || h.hash || '.' || n || '@example' || h.hash % 97 || '.com') t (email)`,
  "insert into emails (brand_id, title, status, created_at, updated_at) select id, 'Letter', 'ready', now(), now() from brands",
  `insert into email_versions (brand_id, email_id, version, html, plain_text, html_code, text_code, created_at)
     select brand_id, id, 1, '', '', '', '', now() from emails`,
  `insert into sends (brand_id, kind, message_class, email_id, email_version_id, status, subject, subject_code, from_address, domain_id, target,
                      target_hash, recipient_count, is_tracked, started_at, created_at, updated_at)
     select v.brand_id, 'campaign', 'marketing', v.email_id, v.id, 'completed', 'News', '', 'letter@bench.example', d.id, 'all', '', ${recipients}, true,
            now() - interval '2 days', now() - interval '2 days', now()
       from email_versions v join domains d on d.brand_id = v.brand_id and d.kind = 'sandbox'`,
  'insert into send_stats (brand_id, send_id) select brand_id, id from sends',
  `insert into send_recipients (brand_id, send_id, ordinal, contact_id, email, email_key)
     select c.brand_id, s.id, row_number() over (order by c.email_key), c.id, c.email, c.email_key
       from contacts c join sends s on s.brand_id = c.brand_id`,
  "select make_months('events', now()), make_months('hits', now())",
  'create table bare_events (like events including all)',
  'vacuum analyze',
];

export class BareBrand {
  static async prepare(recipients) {
    const brand = new BareBrand();
    await brand.#postgres.start();
    brand.folder = new DataFolder({ POSTHORN_DATABASE: brand.#postgres.url });
    await brand.folder.command('admin', 'brand', 'list'); // migrates
    for (const statement of FILL(recipients)) await brand.psql(statement);
    brand.sendId = await brand.psql('select id from sends');
    return brand;
  }

  #postgres = new Postgres();

  // Each command is a transaction of its own. Gives the rows of all.
  async psql(...commands) {
    const words = [this.#postgres.url, '-qXAt', '-v', 'ON_ERROR_STOP=1', ...commands.flatMap((command) => ['-c', command])];
    const options = '-c search_path=posthorn -c client_min_messages=warning';
    const { stdout } = await execute('psql', words, { env: { ...environment, PGOPTIONS: options }, timeout: COMMAND_WAIT_MS });
    return stdout.trim();
  }

  // Runs a driver of the build, which prints its seconds and the processor seconds of the server. Gives both for each of `rows`.
  async drive(driver, rows, ...words) {
    const program = path.join(path.dirname(posthorn.binary), driver);
    const [seconds, cpu] = (await runToEnd([program, this.#postgres.url, this.folder.path, ...words])).trim().split(' ').map(Number);
    return { rows: rows / seconds, us: (cpu * 1e6) / rows };
  }

  async expectRows(what, wanted) {
    const found = Number(await this.psql(`select count(*) from ${what}`));
    if (found !== wanted) throw new Error(`${found} rows of ${what} instead of ${wanted}`);
  }

  dispose() {
    return this.#postgres.dispose();
  }
}
