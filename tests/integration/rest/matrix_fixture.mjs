// What the matrix asks with and about: keys of every sort, brands of two organizations, a resource of every kind in two brands,
// and sums over every table that tell whether anything was written.

import { sql } from '../../lib/database.mjs';
import { kindOf, PREFIXES, Resources } from '../../lib/resource_kinds.mjs';

const SESSIONS = 3;
const ANY_ID = '2222222222222'; // of the right form in every alphabet that ids may have; names nothing
/** Told apart from ids by their form. */
const NAMES = { contact: ['nobody@example.com', 'no+body@example.com', 'nobody%40example.com@example.com'], field: ['noSuchField'] };

export class Fixture {
  #administrators;
  #members;
  #organization; // the other one
  #keyIds;

  static async make(installation, server, policies) {
    const fixture = new Fixture();
    await fixture.#makeBrands(installation);
    await fixture.#makeKeys(installation, policies);
    fixture.ids = {};
    await fixture.#makeSessions(installation);
    for (const [whose, brandId] of [['own', fixture.brands.own], ['other', fixture.brands.other]]) {
      const client = server.client(await installation.key('--brand', brandId));
      fixture.ids[whose] = await new Resources(client, brandId).all();
      client.close();
    }
    fixture.ids.own.key = fixture.#keyIds.own;
    fixture.ids.other.key = fixture.#keyIds.foreign;
    return fixture;
  }

  async #makeBrands(installation) {
    const stranger = await installation.admin('org', 'create', 'Stranger');
    this.#organization = stranger.orgId;
    this.brands = {
      own: await installation.brandId(),
      other: (await installation.admin('brand', 'create', 'Other')).brandId,
      foreign: (await installation.admin('brand', 'create', 'Theirs', '--org', stranger.orgId)).brandId,
      unknown: this.unknownId('brand'),
    };
  }

  async #makeKeys(installation, { scopes }) {
    const bearer = async (...options) => ({ authorization: `Bearer ${await installation.key(...options)}` });
    const own = ['--brand', this.brands.own];
    // The last multiplier given counts; a window of this one is spent before its first call.
    const spent = ['--rate-multiplier', '0.0001'];
    const wanted = { organization: [], brand: own, spent, spentBrand: [...own, ...spent] };
    const made = await Promise.all(Object.entries(wanted).map(async ([name, options]) => [name, await bearer(...options)]));
    this.keys = { ...Object.fromEntries(made), scoped: { sendsOfBrand: await bearer(...own, '--scopes', 'sends') } };
    await Promise.all(Object.keys(scopes).map(async (scope) => (this.keys.scoped[scope] = await bearer('--scopes', scope))));

    const foreign = await installation.admin('key', 'create', '--org', this.#organization);
    const revoked = await installation.admin('key', 'create');
    this.#keyIds = { own: revoked.keyId, foreign: foreign.keyId };
    await installation.admin('key', 'revoke', revoked.keyId);
    const gone = await installation.admin('key', 'create', '--name', 'gone');
    await sql(installation, "delete from api_keys where name = 'gone'");
    const good = this.keys.brand.authorization.slice('Bearer '.length);
    this.strangers = [
      ['no credential', {}, 'AUTHENTICATION_REQUIRED'],
      ['a malformed key', { authorization: 'Bearer nonsense' }, 'INVALID_API_KEY'],
      ['a malformed X-API-Key', { 'x-api-key': good.slice(0, -1) }, 'INVALID_API_KEY'],
      ['another scheme', { authorization: `Basic ${good}` }, 'INVALID_API_KEY'],
      ['a good key behind a malformed one', { authorization: 'Bearer nonsense', 'x-api-key': good }, 'INVALID_API_KEY'],
      ['an unknown key', { authorization: `Bearer ${gone.key}` }, 'INVALID_API_KEY'],
      ['a revoked key', { 'x-api-key': revoked.key }, 'API_KEY_REVOKED'],
    ];
  }

  /** All that a session does shares one window, so several people take turns. */
  async #makeSessions(installation) {
    const cookie = async (...options) => ({ cookie: `__session=${(await installation.admin('session', 'create', ...options)).cookie}` });
    const turns = Array.from({ length: SESSIONS });
    this.#administrators = await Promise.all(turns.map(() => cookie()));
    this.#members = await Promise.all(turns.map(() => cookie('--role', 'member', '--brand', this.brands.own)));
    const ended = await installation.admin('session', 'create', '--name', 'ended');
    await installation.admin('session', 'end', ended.sessionId);
    this.strangers.push(
      ['an unknown session', { cookie: '__session=nonsense' }, 'AUTHENTICATION_REQUIRED'],
      ['a session that has ended', { cookie: `__session=${ended.cookie}` }, 'AUTHENTICATION_REQUIRED'],
      ['a key as a session', { cookie: `__session=${this.keys.organization.authorization.slice('Bearer '.length)}` }, 'AUTHENTICATION_REQUIRED'],
    );
  }

  /** Somebody signed in who may administer. */
  session() {
    this.#administrators.push(this.#administrators.shift());
    return this.#administrators[0];
  }

  /** Somebody signed in who reaches the own brand only. */
  member() {
    this.#members.push(this.#members.shift());
    return this.#members[0];
  }

  // ---- Ids ----

  /** Of which kind is what a parameter names; undefined where it names no resource. */
  kindOf = kindOf;

  unknownId(kind) {
    return `${PREFIXES[kind] ?? 'xxx'}_${ANY_ID}`;
  }

  /** Every way not to name a resource of the own brand: [what, id]. */
  strangeIds(kind) {
    if (NAMES[kind]) return NAMES[kind].map((name) => ['that names nothing', name]);
    const other = this.ids.other[kind];
    const strange = [
      ...(kind === 'brand' ? [['of another organization', this.brands.foreign]] : []),
      ['nonsense', 'nonsense'],
      ['unknown', this.unknownId(kind)],
      ['of another kind', this.ids.own[kind === 'email' ? 'audience' : 'email']],
      ['with a percent sign', '%00%2f'],
      ['with quotes', "eml_' or 1=1 --"],
    ];
    return other ? [...strange, ['of another brand', other]] : strange;
  }
}

// ---- Whether anything was written ----

/**
 * What a refused call may change: when a key was used last is noted with its authentication, once a minute (and told by
 * `admin key list`). Senders and the generation of the data folder are the running server's own: leases and signs of life, for any
 * caller. So is the note of the organizations that have calls.
 */
const NOT_SUMMED = { api_keys: ['last_used_at'], senders: null, data_folders: null, active_organizations: null };

/** {table: sum over its rows}; tables named in `without` are left out. */
export async function sums(installation, without = []) {
  const tables = await sql(installation, `select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and not c.relispartition and n.nspname = 'posthorn' order by 1`);
  const parts = tables.filter((table) => NOT_SUMMED[table] !== null && !without.includes(table)).map((table) => {
    const row = (NOT_SUMMED[table] ?? []).reduce((json, column) => `${json} - '${column}'`, 'to_jsonb(t)');
    return `select '${table}', count(*), coalesce(sum(hashtextextended((${row})::text, 0)::numeric), 0) from posthorn."${table}" t`;
  });
  const lines = await sql(installation, parts.join(' union all '));
  return Object.fromEntries(lines.map((line) => [line.split('|')[0], line]));
}
