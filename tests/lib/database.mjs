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

/**
 * The answer of an SQL statement as lines, columns parted by bars. A query goes to the session of the installation, because tests that
 * wait ask often. Anything else, and a query while another one waits, gets a session of its own.
 */
export async function sql(installation, statement) {
  if (!QUERY.test(statement)) return sqlAlone(installation, statement);
  const session = await sessionOf(installation);
  if (session.isBusy) return sqlAlone(installation, statement);
  return session.rows(statement).catch((problem) => {
    if (!session.hasEnded) throw problem;
    return sqlAlone(installation, statement); // the server was restarted
  });
}

/** One statement that leaves nothing in its session. */
const QUERY = /^\s*(select|with)\b(?!.*\b(insert|update|delete|set_config|pg_advisory_lock|pg_sleep|for update|for share)\b)[^;]*$/is;

const sessions = new WeakMap();

async function sessionOf(installation) {
  const known = await sessions.get(installation)?.catch(() => undefined); // one that could not be opened is opened again
  if (known !== undefined && !known.hasEnded) return known;
  const opened = SqlSession.open(installation);
  sessions.set(installation, opened);
  const session = await opened;
  installation.atEnd(() => session.close());
  return session;
}

async function sqlAlone(installation, statement) {
  const { stdout } = await run('psql', ['-qXAt', '-v', 'ON_ERROR_STOP=1', '-c', 'set search_path to posthorn', '-c', statement],
    { env: await connection(installation), maxBuffer: 1 << 28 });
  return stdout.split('\n').filter((line) => line !== '');
}

const VARIABLES = { host: 'PGHOST', port: 'PGPORT', user: 'PGUSER', password: 'PGPASSWORD', dbname: 'PGDATABASE', sslmode: 'PGSSLMODE' };

/** The parameters of an address or of a list of words (libpq, "Connection Strings"). */
function parametersOf(text) {
  if (!/^postgres(ql)?:/.test(text)) {
    return Object.fromEntries([...text.matchAll(/(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|\S+)/g)]
      .map(([, name, value]) => [name, value.replace(/^'|'$/g, '').replace(/\\(.)/g, '$1')]));
  }
  const url = new URL(text);
  const named = { host: url.hostname, port: url.port, user: url.username, password: url.password, dbname: url.pathname.slice(1) };
  return { ...Object.fromEntries(Object.entries(named).map(([name, value]) => [name, decodeURIComponent(value)])), ...Object.fromEntries(url.searchParams) };
}

/** The connection as variables of libpq. On the command line it would make psql a process of the installation. */
async function connection(installation) {
  const parameters = Object.entries(parametersOf(await databaseUrl(installation))).filter(([name, value]) => name in VARIABLES && value !== '');
  return { ...process.env, ...Object.fromEntries(parameters.map(([name, value]) => [VARIABLES[name], value])) };
}

/** One session of psql for many statements, which would otherwise start a process each. */
export class SqlSession {
  #child;
  #chunks = [];
  #tail = '';
  #onEnd = () => {};
  #end = `end-${process.pid}`;
  #last = Promise.resolve();
  #waiting = 0;
  hasEnded = false;

  static async open(installation) {
    const session = new SqlSession();
    // An error comes between the rows, where it was made.
    session.#child = spawn('sh', ['-c', 'exec psql -qXAt 2>&1'], { env: await connection(installation), stdio: ['pipe', 'pipe', 'inherit'] });
    session.#child.once('close', () => {
      session.hasEnded = true;
      session.#onEnd();
    });
    session.#child.stdin.on('error', () => { session.hasEnded = true; });
    session.#child.stdout.setEncoding('utf8').on('data', (chunk) => session.#take(chunk));
    await session.rows('set search_path to posthorn');
    await session.rows('set client_min_messages to error');
    return session;
  }

  get isBusy() {
    return this.#waiting > 0;
  }

  /** The answer as lines, columns parted by bars. Statements of several callers run one after the other. */
  rows(statement) {
    this.#waiting++;
    const rows = this.#last.then(() => this.#run(statement)).finally(() => { this.#waiting--; });
    this.#last = rows.catch(() => {});
    return rows;
  }

  /** The first column of the first row. */
  async value(statement) {
    return (await this.rows(statement))[0];
  }

  async close() {
    if (this.hasEnded) return;
    const closed = once(this.#child, 'close');
    this.#child.stdin.end();
    await closed;
  }

  async #run(statement) {
    // \g sends a statement that is not complete, too, so that it is refused.
    this.#child.stdin.write(`${statement.replace(/[\s;]+$/, '')}\n\\g\n\\echo ${this.#end}\n`);
    if (!this.hasEnded) await new Promise((resolve) => { this.#onEnd = resolve; });
    const lines = this.#chunks.join('').split('\n').filter((line) => line !== '');
    this.#chunks = [];
    this.#tail = '';
    assert.ok(!this.hasEnded && lines.pop() === this.#end, `psql ended: ${lines.join(' ')} in ${statement}`);
    assert.ok(!lines[0]?.startsWith('ERROR:'), `${lines.join(' ')} in ${statement}`);
    return lines;
  }

  /** Only the last bytes are looked at, because an answer may have a million lines. */
  #take(chunk) {
    this.#chunks.push(chunk);
    this.#tail = (this.#tail + chunk).slice(-this.#end.length - 1);
    if (this.#tail === `${this.#end}\n`) this.#onEnd();
  }
}

/**
 * Watches `table`, and locks it against writes once it has a row: work that writes there stops in the middle, however fast the
 * machine is. Settles when it watches: `held` settles when the table is held, `release()` ends that.
 */
export async function holdOnceWritten(installation, table) {
  const session = spawn('psql', ['-qXAt', '-v', 'ON_ERROR_STOP=1'], { env: await connection(installation), stdio: ['pipe', 'pipe', 'inherit'] });
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
