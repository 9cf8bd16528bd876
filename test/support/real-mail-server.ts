import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import { guardProcess } from '../../deploy/local/guard.ts';
import { freePort } from './free-port.ts';
import { TRUSTED } from './tls/certificates.ts';

const mail = z.object({
  headers: z.record(z.string(), z.string()),
  parts: z.array(z.object({ type: z.string(), text: z.string() })),
  /** The defects that Python's library finds in the mail. */
  defects: z.array(z.string()),
});
export type MailByPython = z.infer<typeof mail>;

export type RealMailServer = {
  readonly port: number;
  /** The mails of its mailbox, as Python's own library reads them. */
  mails(): Promise<MailByPython[]>;
  stop(): Promise<void>;
};

const READER = `
import email, email.policy, json, sys
message = email.message_from_binary_file(sys.stdin.buffer, policy=email.policy.default)
leaves = [part for part in message.walk() if not part.is_multipart()]
print(json.dumps({
  'headers': {name.lower(): str(value) for name, value in message.items()},
  'parts': [{'type': part.get_content_type(), 'text': part.get_content()} for part in leaves],
  'defects': [str(defect) for part in message.walk() for defect in part.defects]
    + [str(defect) for value in message.values() for defect in getattr(value, 'defects', [])],
}))
`;

/** Debian's `aiosmtpd` on loopback. It demands STARTTLS, and has a certificate of the test authority. */
export async function startAiosmtpd(program: string): Promise<RealMailServer> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-mail-'));
  const port = await freePort();
  const [cert, key, box] = ['cert.pem', 'key.pem', 'box'].map((name) => join(folder, name));
  if (cert === undefined || key === undefined || box === undefined) throw new TypeError('three names');
  await Promise.all([writeFile(cert, TRUSTED.cert), writeFile(key, TRUSTED.key)]);
  const child = spawn(
    program,
    [
      '--nosetuid',
      ...['--listen', `127.0.0.1:${port}`],
      ...['--tlscert', cert, '--tlskey', key],
      ...['--class', 'aiosmtpd.handlers.Mailbox', box],
    ],
    { stdio: 'ignore' },
  );
  if (child.pid !== undefined) child.once('exit', guardProcess(child.pid));
  while (!(await isOpen(port))) {
    if (child.exitCode !== null) throw new Error(`aiosmtpd has ended with exit code ${child.exitCode}`);
    await delay(50);
  }
  return {
    port,
    async mails() {
      const files = (await readdir(join(box, 'new'))).sort();
      return Promise.all(files.map(async (name) => readByPython(await readFile(join(box, 'new', name)))));
    },
    async stop() {
      if (child.exitCode === null) {
        child.kill();
        await once(child, 'exit');
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function readByPython(raw: Buffer): Promise<MailByPython> {
  const running = promisify(execFile)('python3', ['-c', READER]);
  running.child.stdin?.end(raw);
  return mail.parse(JSON.parse((await running).stdout));
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false; // Not yet.
  } finally {
    socket.destroy();
  }
}
