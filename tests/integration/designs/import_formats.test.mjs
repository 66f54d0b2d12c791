// An assistant imports a newsletter as HTML, as MJML and as JSX: the three designs have the same content, a failed import
// stores none, and the browser that renders JSX ends with the process that started it.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { installationFor } from '../../lib/installation.mjs';
import { pathWithout } from '../../lib/path.mjs';
import { commandLine, isAlive, kill, parentOf, until } from '../../lib/processes.mjs';

const LIMIT = { timeout: 600_000 };
const BROWSER = 'chromium-headless-shell';

const GREETING = 'Hello {{ firstName | default: "reader" }}';
const SOURCES = {
  html: `<html><head><title>Spring letter</title></head><body><h1>Tulips are here</h1><p>${GREETING}</p><p><a href="https://example.com/shop">Shop now</a></p></body></html>`,
  mjml: `<mjml><mj-head><mj-title>Spring letter</mj-title></mj-head><mj-body><mj-section><mj-column>
    <mj-text><h1>Tulips are here</h1></mj-text><mj-text>${GREETING}</mj-text><mj-button href="https://example.com/shop">Shop now</mj-button>
    </mj-column></mj-section></mj-body></mjml>`,
  jsx: `import { Body, Button, Head, Heading, Html, Tailwind, Text } from '@react-email/components';
    export default function Letter({ season }: { season: string }) {
      return <Html><Tailwind><Head><title>{season + ' letter'}</title></Head><Body><Heading className="text-xl sm:text-lg">Tulips are here</Heading>
        <Text>{'${GREETING}'}</Text><Button href="https://example.com/shop">Shop now</Button></Body></Tailwind></Html>;
    }
    Letter.PreviewProps = { season: 'Spring' };`,
};

const processesBelow = (pid) => readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number)
  .filter((child) => parentOf(child) === pid).flatMap((child) => [child, ...processesBelow(child)]);
const browsersOf = (installation) => installation.renderers().flatMap(({ pid }) => processesBelow(pid))
  .filter((pid) => commandLine(pid).includes(BROWSER));

test('R-224: HTML, MJML and JSX become designs that say the same', LIMIT, async (t) => {
  const installation = installationFor(t);
  const client = installation.stdio();
  await client.initialize();
  for (const [format, content] of Object.entries(SOURCES)) {
    const { ok, body } = await client.toolToEnd('import_email', { format, content });
    assert.ok(ok, `${format}: ${JSON.stringify(body)}`);
    assert.equal(body.title, 'Spring letter', format);
    assert.deepEqual(body.assetReport.warnings, [], format);
    const { body: email } = await client.tool('get_email', { emailId: body.emailId, include: ['html'] });
    assert.equal(email.status, 'ready');
    for (const words of ['Tulips are here', GREETING, 'href="https://example.com/shop"', 'Shop now']) {
      assert.ok(email.html.includes(words), `${format}: ${words} in ${email.html}`);
    }
  }
});

test('a JSX design that does not end is ended: nothing is stored, and the next import works', LIMIT, async (t) => {
  const installation = installationFor(t);
  const client = installation.stdio();
  await client.initialize();
  const refused = await client.toolToEnd('import_email', { format: 'jsx', content: 'export default () => { while (true); }' });
  assert.equal(refused.body.error?.code, 'EMAIL_IMPORT_FAILED', JSON.stringify(refused.body));
  assert.match(refused.body.error.message, /longer than 5 seconds/);
  await until('its browser is gone', () => browsersOf(installation).length === 0);
  assert.deepEqual((await client.tool('list_emails', {})).body.data, []);
  assert.ok((await client.toolToEnd('import_email', { format: 'jsx', content: SOURCES.jsx })).ok);
});

test('the browser does not outlive the process that started it, however that ended', LIMIT, async (t) => {
  const installation = installationFor(t);
  const client = installation.stdio();
  await client.initialize();
  assert.ok((await client.toolToEnd('import_email', { format: 'jsx', content: SOURCES.jsx })).ok);
  const browsers = browsersOf(installation);
  assert.ok(browsers.length > 0);
  const folders = browsers.flatMap((pid) => /--user-data-dir=(\S+)/.exec(commandLine(pid))?.[1] ?? []);
  for (const { pid } of installation.renderers()) kill(pid);
  await until('all its processes are gone', () => browsers.every((pid) => !isAlive(pid)));
  await until('its folder is gone', () => folders.every((folder) => !exists(folder)));
});

test('without the browser JSX is refused with the package to install; HTML and MJML go on', LIMIT, async (t) => {
  const installation = installationFor(t);
  installation.environment.PATH = pathWithout(installation.folder, BROWSER);
  const client = installation.stdio();
  await client.initialize();
  const { body } = await client.tool('import_email', { format: 'jsx', content: SOURCES.jsx });
  assert.equal(body.error?.code, 'SERVICE_UNAVAILABLE', JSON.stringify(body));
  assert.match(body.error.message, /install the Debian package chromium-headless-shell/);
  for (const format of ['html', 'mjml']) {
    assert.ok((await client.tool('import_email', { format, content: SOURCES[format] })).ok, format);
  }
  const doctor = JSON.parse((await installation.run('doctor')).stdout);
  assert.deepEqual([doctor.ok, doctor.htmlProcess.ok, doctor.htmlProcess.jsx], [true, true, false]);
  assert.match(doctor.htmlProcess.warning, /install the Debian package chromium-headless-shell\..* audits end partial/);
});

function exists(path) {
  try {
    readdirSync(path);
    return true;
  } catch (error) {
    return error.code !== 'ENOENT';
  }
}
