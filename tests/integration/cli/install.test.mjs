// What cmake --install installs, works where it is moved to, and uses nothing of the folder it was built in.

import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ImageServer } from '../../lib/image_server.mjs';
import { processesOf } from '../../lib/processes.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const BUILD = join(ROOT, 'build/release');
/** The tree may be in a folder whose path is part of the installed paths, such as /posthorn. */
const OF_SOURCES = ['src', 'build'].map((folder) => `${join(ROOT, folder)}/`);
const SPACE_BYTES = 1 << 30;
const PUBLIC_URL = 'https://mail.example';
const MJML = '<mjml><mj-body><mj-section><mj-column><mj-image src="IMAGE"/><mj-text>Hello</mj-text></mj-column></mj-section></mj-body></mjml>';

/** A program that embeds the service; posthorn_open reaches no database. */
const EMBEDDING = `#include <posthorn.h>
int main(void) {
    struct posthorn_options options = { .struct_size = sizeof(options), .data_dir = "/nonexistent" };
    posthorn_close(posthorn_open(&options));
    return 0;
}
`;

/** A new folder; in memory where that has the space and runs programs, because installing makes thousands of files. */
function newFolder() {
  const inMemory = '/dev/shm';
  try {
    const { bavail, bsize } = statfsSync(inMemory);
    if (bavail * bsize < SPACE_BYTES) throw new Error('it is too small');
    const folder = mkdtempSync(join(inMemory, 'posthorn-install-'));
    try {
      copyFileSync('/bin/true', join(folder, 'true'));
      execFileSync(join(folder, 'true'));
      return folder;
    } catch (error) {
      rmSync(folder, { recursive: true });
      throw error;
    }
  } catch {
    return realpathSync(mkdtempSync(join(tmpdir(), 'posthorn-install-')));
  }
}

describe('an installed and moved tree', { timeout: 600_000 }, () => {
  const folder = newFolder();
  const prefix = join(folder, 'moved here'); // a space is allowed
  const binary = join(prefix, 'bin/posthorn');
  const renderer = join(prefix, 'libexec/posthorn/renderer');
  const environment = { PATH: process.env.PATH, HOME: folder, POSTHORN_DATA: join(folder, 'data') };
  const images = new ImageServer();

  const run = (...words) => spawnSync(binary, words, { env: environment, encoding: 'utf8' });
  /** The image server answers in this process, so the command runs beside it. */
  const importDesign = async (content) => {
    const words = ['call', 'import_email', JSON.stringify({ content, format: 'mjml', title: 'Installed' }), '--public-url', PUBLIC_URL, '--fetch-allow-loopback'];
    return JSON.parse((await promisify(execFile)(binary, words, { env: environment })).stdout);
  };
  const doctor = () => JSON.parse(run('doctor').stdout);

  before(async () => {
    chmodSync(folder, 0o755); // processes of a root-run Posthorn are those of unprivileged users
    execFileSync('cmake', ['--install', BUILD, '--prefix', '/opt/posthorn'],
      { env: { ...process.env, DESTDIR: join(folder, 'stage') }, stdio: ['ignore', 'ignore', 'inherit'] });
    renameSync(join(folder, 'stage/opt/posthorn'), prefix);
    await images.start();
  });

  after(async () => {
    await images.stop();
    run('stop');
    rmSync(folder, { recursive: true, force: true });
  });

  test('no installed program contains the path of the source tree', () => {
    for (const program of ['bin/posthorn', 'libexec/posthorn/posthorn-image', 'lib/libposthorn.a', 'lib/pkgconfig/posthorn.pc'])
      for (const path of OF_SOURCES) assert.ok(!readFileSync(join(prefix, program)).includes(path), `${program} contains ${path}`);
  });

  test('the renderer and the image checker of the tree do an import', async () => {
    const imported = await importDesign(MJML.replace('IMAGE', `${images.base}/logo.png`));
    assert.deepEqual(imported.assetReport, { discovered: 1, rehosted: 1, retained: 0, stripped: 0, dropped: 0, warnings: [] });
    const renderers = processesOf(folder).filter(({ command }) => command.includes('main.mjs'));
    assert.equal(renderers.length, 1);
    assert.ok(renderers[0].command.startsWith(join(prefix, 'libexec/posthorn/node ')), renderers[0].command);
    assert.ok(renderers[0].command.endsWith(join(renderer, 'main.mjs')), renderers[0].command);
    assert.deepEqual(processesOf(folder).filter(({ command }) => OF_SOURCES.some((path) => command.includes(path))), []);
  });

  test('doctor names the parts of the tree, and the part that is missing', () => {
    const whole = doctor();
    assert.equal(whole.htmlProcess.ok, true);
    assert.equal(whole.htmlProcess.script, join(renderer, 'main.mjs'));
    assert.equal(whole.images.ok, true);
    assert.equal(whole.images.program, join(prefix, 'libexec/posthorn/posthorn-image'));
    renameSync(renderer, `${renderer}.away`);
    const broken = doctor();
    renameSync(`${renderer}.away`, renderer);
    assert.equal(broken.ok, false);
    assert.match(broken.htmlProcess.problem, /^The renderer was not found: .*main\.mjs cannot be read\./);
  });

  test('a Node.js that is missing or too old is named', () => {
    const old = join(folder, 'old-node');
    writeFileSync(old, '#!/bin/sh\necho v18.19.0\n', { mode: 0o755 });
    for (const [node, problem] of [[old, /old-node is Node\.js v18\.19\.0, and the renderer needs >=22/], ['/nonexistent/node', /Node\.js was not found/]]) {
      const { stdout } = run('doctor', '--node', node);
      assert.match(JSON.parse(stdout).htmlProcess.problem, problem);
    }
  });

  test('the manual page is there and has no errors', () => {
    const page = join(prefix, 'share/man/man1/posthorn.1');
    const text = readFileSync(page, 'utf8');
    for (const said of ['.SH SYNOPSIS', '\\fB\\-\\-limit\\-store URL\\fR', 'session create', '\\fBcontacts search\\fR', '.SH EXIT STATUS'])
      assert.ok(text.includes(said), said);
    for (const file of ['LICENSE', 'README.md', 'docs/operating.md', 'LICENSE.node']) assert.ok(existsSync(join(prefix, 'share/doc/posthorn', file)), file);
  });

  test('the page about operating names only options and variables that there are', () => {
    const manual = readFileSync(join(prefix, 'share/man/man1/posthorn.1'), 'utf8').replaceAll('\\-', '-');
    const page = readFileSync(join(prefix, 'share/doc/posthorn/docs/operating.md'), 'utf8');
    const named = [...page.matchAll(/`(--[a-z-]+|POSTHORN_[A-Z_]+)[^`]*`/g)].map(([, name]) => name);
    const known = (name) => new RegExp(`${name}(?![A-Za-z_-])`).test(manual) || name === 'POSTHORN_PG_BINDIR'; // which is no option
    assert.ok(named.length > 40, `${named.length} are named`);
    assert.deepEqual(named.filter((name) => !known(name)), []);
  });

  test('a program is built with the installed header and library', () => {
    const source = join(folder, 'embedding.c');
    const program = join(folder, 'embedding');
    writeFileSync(source, EMBEDDING);
    const pkgConfig = { ...process.env, PKG_CONFIG_PATH: join(prefix, 'lib/pkgconfig') };
    const flags = execFileSync('pkg-config', ['--cflags', '--libs', 'posthorn'], { env: pkgConfig, encoding: 'utf8' });
    execFileSync('sh', ['-c', `cc -o '${program}' '${source}' ${flags}`]);
    execFileSync(program);
  });
});
