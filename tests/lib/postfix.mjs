// The system's Postfix as a relay of a test. Its configuration, queue and port are its own, in a temporary folder; it reads nothing
// from /etc. It accepts mail on loopback and relays all of it to the next hop that the test names.

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './ports.mjs';

const POSTFIX = '/usr/sbin/postfix';

/** Why Postfix cannot be run here; undefined when it can. */
export function missingPostfix() {
  if (!existsSync(POSTFIX)) return 'Postfix is not installed (tests/setup.sh installs it where no other mail server is)';
  if (process.getuid() !== 0) return 'Postfix starts as root only';
  return undefined;
}

const MASTER = (port) => `
127.0.0.1:${port} inet n - n - - smtpd
cleanup   unix n - n - 0 cleanup
qmgr      unix n - n 300 1 qmgr
tlsmgr    unix - - n 1000? 1 tlsmgr
rewrite   unix - - n - - trivial-rewrite
bounce    unix - - n - 0 bounce
defer     unix - - n - 0 bounce
trace     unix - - n - 0 bounce
verify    unix - - n - 1 verify
flush     unix n - n 1000? 0 flush
proxymap  unix - - n - - proxymap
smtp      unix - - n - - smtp
lmtp      unix - - n - - lmtp
relay     unix - - n - - smtp
showq     unix n - n - - showq
error     unix - - n - - error
retry     unix - - n - - error
discard   unix - - n - - discard
anvil     unix - - n - 1 anvil
scache    unix - - n - 1 scache
postlog   unix-dgram n - n - 1 postlogd
`;

export class Postfix {
  /** `settings`: lines of main.cf besides; `nextHop`: the port that everything is relayed to. */
  static async start({ nextHop, settings = {} }) {
    const postfix = new Postfix();
    postfix.folder = mkdtempSync(join(tmpdir(), 'posthorn-postfix-'));
    chmodSync(postfix.folder, 0o755); // its daemons run as another user
    postfix.port = await freePort();
    const [config, queue, data] = ['config', 'queue', 'data'].map((name) => join(postfix.folder, name));
    for (const folder of [config, queue, data]) mkdirSync(folder);
    execFileSync('chown', ['postfix', data]);
    const main = {
      compatibility_level: 3.6, myhostname: 'relay.test', mydestination: '', inet_interfaces: '127.0.0.1', inet_protocols: 'ipv4',
      queue_directory: queue, data_directory: data, maillog_file: join(postfix.folder, 'log'), maillog_file_prefixes: tmpdir(),
      command_directory: '/usr/sbin', daemon_directory: '/usr/lib/postfix/sbin', shlib_directory: '/usr/lib/postfix',
      mail_owner: 'postfix', setgid_group: 'postdrop', alias_maps: '', local_recipient_maps: '', notify_classes: '',
      mynetworks: '127.0.0.0/8', relayhost: `[127.0.0.1]:${nextHop}`, smtp_host_lookup: 'native', smtp_tls_security_level: 'none',
      smtpd_relay_restrictions: 'permit_mynetworks, reject', smtputf8_enable: 'yes', ...settings,
    };
    writeFileSync(join(config, 'main.cf'), Object.entries(main).map(([name, value]) => `${name} = ${value}\n`).join(''));
    writeFileSync(join(config, 'master.cf'), MASTER(postfix.port));
    const started = spawnSync(POSTFIX, ['-c', config, 'start'], { encoding: 'utf8' });
    if (started.status !== 0) throw new Error(`Postfix did not start: ${started.stderr}${postfix.log()}`);
    return postfix;
  }

  log() {
    const file = join(this.folder, 'log');
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  /** Ends it with all of its daemons, and removes its folder. */
  stop() {
    spawnSync(POSTFIX, ['-c', join(this.folder, 'config'), 'stop']);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
