// Tracked links of delivered mail: a mail parser reads the messages that a relay took, a client follows each link at a running
// server, also while the database is away, and the database has each request once.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SqlSession, sql } from '../../lib/database.mjs';
import { Installation } from '../../lib/installation.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { Postgres } from '../../lib/postgres.mjs';
import { until } from '../../lib/processes.mjs';

const load = packagesOf('third_party');
const { SMTPServer } = load('smtp-server');
const { simpleParser } = load('mailparser');

const ROOT = join(import.meta.dirname, '../../..');
const PUBLIC_URL = 'https://mail.example/ph';
const DOMAIN = 'news.example.com';
const DESIGN = `<html><head><title>Letter</title></head><body><p>Dear {{ firstName }}</p>
<p><a href="https://shop.example/a?x=1&amp;y=%C3%BC">A</a> <a href="https://shop.example/{{ firstName }}?y=2&amp;z=3">own</a>
<a href="mailto:help@example.com">write</a> <a href="#top">top</a> <a href="tel:+431">call</a></p></body></html>`;
const READERS = ['ada', 'bob & co', 'cyd'];
const GIF = /^GIF89a/;

describe('tracked links', { timeout: 600_000 }, () => {
  const taken = [];
  let relay;
  let postgres;
  let installation;
  let server;
  let rest;
  let web;
  let domainId;
  let emailId;
  let key;

  const must = async (method, path, body, expected = [200, 201, 202]) => {
    const answer = await rest.request(method, path, body);
    assert.ok(expected.includes(answer.status), `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };

  /** Sends the design: the messages by the reader's first name. */
  async function campaign(options = {}) {
    const from = taken.length;
    ({ emailId } = await must('POST', '/v1/emails/import', { content: DESIGN, title: 'Letter' }));
    const { sendId } = await must('POST', '/v1/sends', {
      emailId, domainId, from: { email: `hello@${DOMAIN}` }, subject: 'Hello', audienceId: 'all', ...options,
    });
    await until('the send has ended', async () => (await must('GET', `/v1/sends/${sendId}`)).status === 'completed', 30_000);
    const mails = await Promise.all(taken.slice(from).map((bytes) => simpleParser(bytes)));
    return new Map(mails.map((mail) => [/Dear (.*)/.exec(mail.text)[1].trim(), mail]));
  }

  const unescape = (text) => text.replaceAll('&amp;', '&');
  const hrefs = (mail) => [...mail.html.matchAll(/href="([^"]*)"/g)].map(([, href]) => unescape(href));
  const pathOf = (url) => {
    assert.ok(url.startsWith(`${PUBLIC_URL}/`), url);
    return url.slice(PUBLIC_URL.length);
  };
  const pictureOf = (mail) => pathOf(/<img src="([^"]*)"[^>]*\/?>\s*<\/body>/.exec(mail.html)[1]);
  const linksOf = (mail) => hrefs(mail).filter((href) => href.includes('/c/')).map(pathOf);
  const hits = (columns) => sql(installation, `select ${columns} from hits order by occurred_at, id`);
  const spoolFiles = () => {
    const folder = join(installation.data, 'hits');
    return existsSync(folder) ? readdirSync(folder) : [];
  };

  /** Starts a server, in place of the one before. */
  async function serve() {
    rest?.close();
    web?.close();
    server = await installation.serve();
    server.ignoreLog();
    key ??= await installation.key('--brand', await installation.brandId());
    rest = server.client(key);
    web = server.client(undefined, {}, 4);
  }

  before(async () => {
    relay = new SMTPServer({
      authOptional: true, disableReverseLookup: true, logger: false, hideSTARTTLS: true,
      onData(stream, session, callback) {
        const chunks = [];
        stream.on('data', (chunk) => chunks.push(chunk));
        stream.on('end', () => {
          taken.push(Buffer.concat(chunks));
          callback();
        });
      },
    });
    await new Promise((resolve) => relay.listen(0, '127.0.0.1', resolve));
    postgres = new Postgres();
    await postgres.start();
    installation = new Installation({
      DATABASE: postgres.url, PUBLIC_URL, RELAY: `smtp://127.0.0.1:${relay.server.address().port}?tls=none`,
    });
    await serve();
    ({ domainId } = await installation.admin('domain', 'create', DOMAIN));
    await installation.admin('domain', 'verify', DOMAIN, '--trust');
    await installation.admin('hit-rule', 'add', 'network', '127.0.0.0/8', 'facts');
    for (const [i, firstName] of READERS.entries()) await must('POST', '/v1/contacts', { email: `reader${i}@example.com`, firstName });
  });

  after(async () => {
    rest?.close();
    web?.close();
    assert.deepEqual(await installation.dispose(), []);
    await postgres.dispose();
    await new Promise((resolve) => relay.close(resolve));
  });

  test('each link of a message leads to its address, and each request is stored once', async () => {
    const mails = await campaign();
    assert.deepEqual([...mails.keys()].sort(), READERS);
    const seen = new Set();
    for (const [name, mail] of mails) {
      const links = linksOf(mail);
      assert.equal(links.length, 2, mail.html);
      const targets = ['https://shop.example/a?x=1&y=%C3%BC', `https://shop.example/${encodeURIComponent(name)}?y=2&z=3`];
      for (const [i, link] of links.entries()) {
        for (const method of ['GET', 'HEAD']) {
          const answer = await web.request(method, link);
          assert.equal(answer.status, 302, JSON.stringify(answer));
          assert.equal(answer.headers.location, targets[i]);
          assert.equal(answer.headers['cache-control'], 'no-store');
          assert.equal(answer.headers['referrer-policy'], 'no-referrer');
          assert.equal(answer.headers['set-cookie'], undefined);
        }
        seen.add(link);
      }
      // The links of the text are tracked as well, with numbers of their own. An address that is broken by a space is not.
      const inText = [...mail.text.matchAll(/https:\/\/mail\.example\/ph\/c\/[\w-]+/g)].map(([url]) => pathOf(url));
      assert.equal(inText.length, name.includes(' ') ? 1 : 2, mail.text);
      for (const [i, link] of inText.entries()) assert.equal((await web.get(link)).headers.location, targets[i]);
      // What must not be tracked.
      const others = hrefs(mail).filter((href) => !href.includes('/c/'));
      assert.deepEqual(others.filter((href) => !href.includes('/u/')), ['mailto:help@example.com', '#top', 'tel:+431']);
      assert.equal(others.filter((href) => href.startsWith(`${PUBLIC_URL}/u/`)).length, 1);
      const picture = await web.get(pictureOf(mail));
      assert.equal(picture.status, 200);
      assert.equal(picture.headers['content-type'], 'image/gif');
      assert.equal(picture.headers['content-length'], '43');
      assert.equal(picture.headers['cache-control'], 'no-store');
      assert.match(String(picture.body), GIF);
    }
    assert.equal(seen.size, 2 * READERS.length, 'every reader has links of their own');
    await until('all hits are stored', async () => (await hits('1')).length === READERS.length * 7 - 1, 10_000);
    const counts = await sql(installation, `select kind, link, method, count(*) from hits group by 1, 2, 3 order by 1, 2, 3`);
    assert.deepEqual(counts, ['click|0|GET|3', 'click|0|HEAD|3', 'click|1|GET|3', 'click|1|HEAD|3', 'click|2|GET|3', 'click|3|GET|2', 'open||GET|3']);
    // A range of the operator is found in the address of each request, by a process that was running when the range was added.
    assert.deepEqual(await sql(installation, "select distinct m.match from hits h left join hit_matches m on m.id = h.range_id"), ['127.0.0.0/8']);
    assert.deepEqual(await sql(installation, "select count(*) from audit_log where operation like 'tracking.%'"), ['0']);
  });

  test('a forged, foreign or altered token leads nowhere', async () => {
    const mails = await campaign();
    const mail = mails.get('ada');
    const [plain, merged] = linksOf(mail);
    const [, other] = linksOf(mails.get('cyd'));
    const before = (await hits('1')).length;
    const flip = (text, at) => text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
    const wrong = [
      '/c/', '/c/x', '/c/https://evil.example/', `/c/${'A'.repeat(48)}`, `/o/${'A'.repeat(48)}`, `/c/${'A'.repeat(3000)}`,
      plain.replace('/c/', '/o/'), pictureOf(mail).replace('/o/', '/c/'), `${plain}A`, plain.slice(0, -1), merged.slice(0, 51),
      merged.slice(0, 51) + other.slice(51), plain + merged.slice(51), merged.slice(0, -1),
    ];
    for (let at = 3; at < plain.length; at += 5) wrong.push(flip(plain, at));
    for (let at = 3; at < merged.length; at += 7) wrong.push(flip(merged, at));
    for (const path of wrong) {
      const answer = await web.get(path);
      assert.equal(answer.status, 404, path);
      assert.equal(answer.headers.location, undefined);
    }
    assert.equal((await web.post(plain, '')).status, 405);
    assert.equal((await web.request('GET', plain, undefined, { host: 'click.other.example' })).status, 404, 'the name of another domain');
    assert.equal((await web.request('GET', plain, undefined, { host: `click.${DOMAIN}` })).status, 302);
    await until('the hits are stored', async () => (await hits('1')).length >= before + 1, 10_000);
    assert.deepEqual(await sql(installation, "select distinct link is null, kind from hits where kind = 'open' and link is not null"), []);
  });

  test('a link waits for a target that the database gives late', async () => {
    const link = linksOf((await campaign()).get('ada'))[0];
    const holder = await SqlSession.open(installation);
    await holder.rows('begin');
    await holder.rows('lock table email_versions in access exclusive mode');
    const answer = web.get(link);
    await until('the server reads the target', async () =>
      (await sql(installation, "select count(*) from pg_locks where not granted and relation = 'email_versions'::regclass"))[0] !== '0');
    await delay(500); // twice the wait for the commit
    await holder.rows('commit');
    await holder.close();
    const { status, headers } = await answer;
    assert.equal(status, 302);
    assert.equal(headers.location, 'https://shop.example/a?x=1&y=%C3%BC');
  });

  test('links work while the database is away, and nothing is lost or stored twice', async () => {
    const mails = await campaign();
    const uncached = (await campaign()).get('ada');
    const links = [...mails.values()].flatMap(linksOf);
    for (const link of links) assert.equal((await web.get(link)).status, 302);

    await postgres.end('SIGINT');
    let followed = 0;
    for (let round = 0; round < 5; round++)
      for (const link of links) {
        const answer = await web.get(link);
        assert.equal(answer.status, 302, JSON.stringify(answer));
        followed++;
      }
    for (const mail of mails.values()) {
      assert.equal((await web.get(pictureOf(mail))).status, 200);
      followed++;
    }
    const late = await web.get(linksOf(uncached)[0]);
    assert.equal(late.status, 503);
    assert.ok(Number(late.headers['retry-after']) > 0);
    assert.ok(spoolFiles().length > 0, 'hits are on the disk');
    followed++; // the request of the link that could not be followed is a hit, too

    // The server is killed with hits in its spool; the next one drains them.
    await server.kill();
    await postgres.start();
    await serve();
    await until('the spool is drained', () => spoolFiles().length === 0, 30_000);
    const stored = await sql(installation, 'select count(*) from hits where send_id > (select max(id) - 2 from sends)');
    assert.deepEqual(stored, [String(links.length + followed)]);
    assert.equal((await web.get(linksOf(uncached)[0])).headers.location, 'https://shop.example/a?x=1&y=%C3%BC');
  });

  test('what is tracked depends on the message, the domain and --tracking', async () => {
    const from = taken.length;
    await must('POST', '/v1/sends', { test: true, emailId, domainId, from: { email: `hello@${DOMAIN}` }, subject: 'Hello', to: ['ada@example.com'] });
    const mail = await simpleParser(taken[from]);
    assert.deepEqual(hrefs(mail).filter((href) => /\/[co]\//.test(href)), []);
    assert.doesNotMatch(mail.html, /\/o\//);

    // A design that is older than tracking gets its numbers by the job of the migration.
    const [{ table: numbered }] = JSON.parse((await sql(installation, `select json_agg(t) from (select link_table::text as table
      from email_versions order by id desc limit 1) t`))[0]);
    await sql(installation, 'update email_versions set link_table = null');
    const migration = readFileSync(join(ROOT, 'src/db/migrations/0029_tracked_links.sql'), 'utf8');
    await sql(installation, migration.slice(migration.indexOf('insert into jobs')));
    await until('all designs have numbers', async () =>
      (await sql(installation, 'select count(*) from email_versions where link_table is null'))[0] === '0', 30_000);
    assert.deepEqual(JSON.parse((await sql(installation, 'select link_table from email_versions order by id desc limit 1'))[0]), JSON.parse(numbered));

    // The DNS check has found the name of the domain.
    await sql(installation, `update domains set published = array_append(published, 'CNAME click.${DOMAIN}') where name = '${DOMAIN}'`);
    for (const named of (await campaign()).values()) {
      assert.ok(named.html.includes(`href="https://click.${DOMAIN}/ph/c/`), named.html);
      assert.ok(named.html.includes(`<img src="https://click.${DOMAIN}/ph/o/`));
      assert.ok(named.html.includes(`href="${PUBLIC_URL}/u/`));
    }

    installation.environment.POSTHORN_TRACKING = 'off';
    await server.stop();
    await serve();
    for (const untracked of (await campaign()).values()) {
      assert.doesNotMatch(untracked.html + untracked.text, /mail\.example\/ph\/[co]\//);
      assert.ok(untracked.html.includes('href="https://shop.example/a?x=1&amp;y=%C3%BC"'));
    }
  });
});
