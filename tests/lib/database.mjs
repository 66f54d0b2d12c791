// The database of an installation, as its operator uses it: statements, and locks that stop the service on purpose.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const run = promisify(execFile);
const urls = new WeakMap();

/** Asked for once: it stays where it is as long as the installation. */
export async function databaseUrl(installation) {
  // Where the operator names a database, doctor shows its address without what is secret.
  const named = installation.environment.POSTHORN_DATABASE;
  if (named !== undefined) return named;
  if (!urls.has(installation)) {
    const { stdout } = await installation.run('doctor');
    urls.set(installation, JSON.parse(stdout).database.url);
  }
  return urls.get(installation);
}

/** The answer of an SQL statement as lines, columns parted by bars. */
export async function sql(installation, statement) {
  const { stdout } = await run('psql', [await databaseUrl(installation), '-qXAt', '-v', 'ON_ERROR_STOP=1', '-c', 'set search_path to posthorn', '-c', statement],
    { maxBuffer: 1 << 28 });
  return stdout.split('\n').filter((line) => line !== '');
}

/** One session of psql for many statements, which would otherwise start a process each. */
export class SqlSession {
  #child;
  #lines;
  #end = `end-${process.pid}`;
  #last = Promise.resolve();

  static async open(installation) {
    const session = new SqlSession();
    // An error comes between the rows, where it was made.
    session.#child = spawn('sh', ['-c', 'exec psql "$0" -qXAt 2>&1', await databaseUrl(installation)], { stdio: ['pipe', 'pipe', 'inherit'] });
    session.#lines = createInterface({ input: session.#child.stdout })[Symbol.asyncIterator]();
    await session.rows('set search_path to posthorn');
    return session;
  }

  /** The answer as lines, columns parted by bars. Statements of several callers run one after the other. */
  rows(statement) {
    const rows = this.#last.then(() => this.#run(statement));
    this.#last = rows.catch(() => {});
    return rows;
  }

  /** The first column of the first row. */
  async value(statement) {
    return (await this.rows(statement))[0];
  }

  close() {
    this.#child.stdin.end();
    return once(this.#child, 'close');
  }

  async #run(statement) {
    this.#child.stdin.write(`${statement};\n\\echo ${this.#end}\n`);
    for (const rows = []; ; ) {
      const { value, done } = await this.#lines.next();
      assert.ok(!done, `psql ended: ${statement}`);
      if (value === this.#end) {
        assert.ok(!rows[0]?.startsWith('ERROR:'), `${rows.join(' ')} in ${statement}`);
        return rows;
      }
      if (value !== '') rows.push(value);
    }
  }
}

/**
 * Watches `table`, and locks it against writes once it has a row: work that writes there stops in the middle, however fast the
 * machine is. Settles when it watches: `held` settles when the table is held, `release()` ends that.
 */
export async function holdOnceWritten(installation, table) {
  const session = spawn('psql', [await databaseUrl(installation), '-qXAt', '-v', 'ON_ERROR_STOP=1'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: session.stdout })[Symbol.asyncIterator]();
  const reads = async (word) => assert.equal((await lines.next()).value, word, `psql ended before it held ${table}`);
  const ended = once(session, 'close');
  session.stdin.write(`set search_path to posthorn; begin; select 'watching' from (select count(*) from ${table}) as all_rows;
    do $$ begin while not exists (select from ${table}) loop perform pg_sleep(0.005); end loop; end $$;
    lock table ${table} in share mode; select 'held';\n`);
  await reads('watching');
  const held = reads('held');
  held.catch(() => {}); // the caller that awaits it gets the failure
  const release = () => {
    session.stdin.end('rollback;\n');
    return ended;
  };
  return { held, release };
}
