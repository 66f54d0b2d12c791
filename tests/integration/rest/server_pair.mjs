// Two servers that share a database and a store of rate limits.

import { installationFor } from '../../lib/installation.mjs';
import { Postgres } from '../../lib/postgres.mjs';
import { RedisServer } from '../../lib/redis_server.mjs';

/** Two servers on one database and one limit store. It is made at the top of a test file, and started before the first test. */
export class ServerPair {
  #postgres = new Postgres();
  store = new RedisServer();

  constructor(test) {
    test.after(() => this.#postgres.dispose());
    test.after(() => this.store.dispose());
    this.installation = installationFor(test, { DATABASE: this.#postgres.url });
  }

  async start() {
    await Promise.all([this.store.begin(), this.#postgres.start()]);
    this.installation.environment.POSTHORN_LIMIT_STORE = this.store.address;
    this.servers = [await this.installation.serve(), await this.installation.serve()];
  }
}
