// Where a case works: a brand of its own with a credential, and the steps that are no calls.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fill } from './fill.mjs';
import { Operator } from './operator.mjs';

const execute = promisify(execFile);

export class Places {
  #binary;
  #data;
  #operator;
  #databaseUrl;
  #made = 0;

  constructor(binary, data) {
    this.#binary = binary;
    this.#data = data;
    this.#operator = new Operator(binary, data);
  }

  /** No two of one run, nor of two runs on one data folder. */
  #uniqueName() {
    return `Cases ${process.pid}.${++this.#made}`;
  }

  // A brand with a key; `wanted.ownOrganization` puts it into an organization of its own, whose plan a case may change. Instead
  // of a key a person may be signed in, as `wanted.session` admin or member; `wanted.brands` are the brands of a member.
  async make(wanted, needsBrandKey) {
    const operator = this.#operator;
    const organization = wanted?.ownOrganization ? this.#uniqueName() : undefined;
    const into = organization ? ['--org', (await operator.run('org', 'create', organization)).orgId] : [];
    const { brandId, brandKey } = await this.#makeBrand(into, needsBrandKey);
    const { domainId } = (await operator.run('domain', 'list', '--brand', brandId)).data[0];
    const place = { brandId, brandKey, domainId, organization, orgId: into[1] };
    if (wanted?.session) {
      const brands = wanted.brands === 'own' ? ['--brand', brandId] : [];
      const { cookie } = await operator.run('session', 'create', '--role', wanted.session, '--name', 'Cases', ...into, ...brands);
      const named = wanted.organization ? {} : { 'x-brand-id': brandId };
      return { ...place, credential: { cookie: `__session=${cookie}`, ...named } };
    }
    const options = ['key', 'create', '--scopes', wanted?.scopes ?? 'all', '--rate-multiplier', String(wanted?.rateMultiplier ?? 100000)];
    if (!wanted?.organization) options.push('--brand', brandId);
    const { key } = await operator.run(...options);
    return { ...place, key, credential: { 'x-api-key': key } };
  }

  /** SQL finds the row of a brand by a name that no other has; then the brand gets the name that all brands of cases have. */
  async #makeBrand(into, needsBrandKey) {
    const name = needsBrandKey ? this.#uniqueName() : 'Cases';
    const { brandId } = await this.#operator.run('brand', 'create', name, ...into);
    if (!needsBrandKey) return { brandId };
    return { brandId, brandKey: await this.#sql(`update brands set name = 'Cases' where name = '${name}' returning id`) };
  }

  /** A step that is no call: `admin` is a command of the operator, `sql` brings a state that only time or load would bring. */
  async prepare(step, saved) {
    if (step.admin) return this.#operator.run(...fill(step.admin, saved));
    await this.#sql(fill(step.sql, saved));
    return {};
  }

  async #sql(statement) {
    this.#databaseUrl ??= execute(this.#binary, ['doctor', '--data', this.#data]).then(({ stdout }) => JSON.parse(stdout).database.url);
    const environment = { ...process.env, PGOPTIONS: '-c search_path=posthorn' };
    const { stdout } = await execute('psql', [await this.#databaseUrl, '-qXAt', '-v', 'ON_ERROR_STOP=1', '-c', statement], { env: environment });
    return stdout.trim();
  }

  close() {
    return this.#operator.close();
  }
}
