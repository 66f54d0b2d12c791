// The system's Dovecot as the mail server of a mailbox of a test, on loopback: mail arrives by LMTP and is read by IMAP. Its configuration,
// mail and ports are its own, in a temporary folder.

import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from './ports.mjs';
import { until } from './processes.mjs';

const DOVECOT = '/usr/sbin/dovecot';
const LMTP = '/usr/lib/dovecot/lmtp';
const MAIL_USER = 'mail';

/** Why Dovecot cannot be run here; undefined when it can. */
export function missingDovecot() {
  if (!existsSync(DOVECOT) || !existsSync(LMTP)) return 'Dovecot is not installed (tests/setup.sh installs it)';
  if (process.getuid() !== 0) return 'Dovecot starts as root only';
  return undefined;
}

/** A mailbox for each user, with a folder for spam (RFC 6154). Mail to user+Junk@host is filed in it. */
const ofUsers = (folder) => `
mail_location = maildir:${folder}/mail/%u
recipient_delimiter = +
lmtp_save_to_detail_mailbox = yes
namespace inbox {
  inbox = yes
  mailbox Junk {
    auto = create
    special_use = \\Junk
  }
  mailbox Receipts {
    auto = create
  }
}
`;

const configuration = (folder, port, lmtpPort, uid, gid, isOfUsers) => `
base_dir = ${folder}/run
state_dir = ${folder}/state
log_path = ${folder}/log
protocols = imap lmtp
postmaster_address = postmaster@reports.test
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
first_valid_uid = ${uid}
first_valid_gid = ${gid}
${isOfUsers ? ofUsers(folder) : `mail_location = maildir:${folder}/mail`}
service imap-login {
  chroot =
  inet_listener imap {
    port = ${port}
  }
  inet_listener imaps {
    port = 0
  }
}
service lmtp {
  inet_listener lmtp {
    address = 127.0.0.1
    port = ${lmtpPort}
  }
}
service anvil {
  chroot =
}
service stats {
  chroot =
}
passdb {
  driver = static
  args = password=secret
}
userdb {
  driver = static
  args = uid=${uid} gid=${gid} home=${folder}/mail allow_all_users=yes
}
`;

const idOf = (option) => Number(spawnSync('id', [option, MAIL_USER], { encoding: 'utf8' }).stdout);

export class Dovecot {
  #process;
  #count = 0;

  /** `isOfUsers`: each user has a mailbox of their own, otherwise all have the same. */
  static async start({ isOfUsers = false } = {}) {
    const server = new Dovecot();
    server.folder = mkdtempSync(join(tmpdir(), 'posthorn-dovecot-'));
    chmodSync(server.folder, 0o755);
    server.port = await freePort();
    server.lmtpPort = await freePort();
    const [uid, gid] = [idOf('-u'), idOf('-g')];
    for (const name of ['mail', 'mail/new', 'mail/cur', 'mail/tmp']) {
      mkdirSync(join(server.folder, name));
      chownSync(join(server.folder, name), uid, gid);
    }
    server.owner = [uid, gid];
    writeFileSync(join(server.folder, 'conf'), configuration(server.folder, server.port, server.lmtpPort, uid, gid, isOfUsers));
    server.#process = spawn(DOVECOT, ['-F', '-c', join(server.folder, 'conf')], { stdio: 'ignore' });
    const listens = (port) => new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => { socket.destroy(); resolve(true); });
      socket.on('error', () => resolve(false));
    });
    await until('Dovecot listens', async () => (await listens(server.port)) && listens(server.lmtpPort)).catch((problem) => { throw new Error(`${problem.message}: ${server.log()}`); });
    return server;
  }

  log() {
    const file = join(this.folder, 'log');
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  /** Puts a message into INBOX. */
  deliver(message) {
    const file = join(this.folder, 'mail/new', `${Date.now()}.${++this.#count}.test`);
    writeFileSync(file, message);
    chownSync(file, ...this.owner);
  }

  /** Delivers a message by LMTP. */
  async deliverTo(recipient, message) {
    const socket = connect(this.lmtpPort, '127.0.0.1');
    const replies = createInterface({ input: socket })[Symbol.asyncIterator]();
    const expect = async (code) => {
      for (;;) {
        const { value } = await replies.next();
        if (!value?.startsWith(code)) throw new Error(`LMTP: ${value}`);
        if (value[3] === ' ') return;
      }
    };
    await expect('220');
    for (const [line, code] of [['LHLO test', '250'], ['MAIL FROM:<>', '250'], [`RCPT TO:<${recipient}>`, '250'], ['DATA', '354']]) {
      socket.write(`${line}\r\n`);
      await expect(code);
    }
    socket.write(`${message.replace(/^\./gm, '..')}\r\n.\r\n`);
    await expect('250');
    socket.destroy();
  }

  /** The names of the messages in INBOX, flags included. */
  messages() {
    return ['new', 'cur'].flatMap((name) => readdirSync(join(this.folder, 'mail', name)));
  }

  async stop() {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGTERM');
    await ended;
    rmSync(this.folder, { recursive: true, force: true });
  }
}
