import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, linkSync, lstatSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { guardProcess } from '../../../deploy/local/guard.ts';
import { LoggedProcess, ROOT } from '../process.ts';
import { type Confinement, type Mount, startConfined } from './confined.ts';
import { confinementOf } from './unit.ts';

/** Interval of `expect.poll` when each poll starts programs, which take CPU time from the awaited work. */
export const BY_A_PROCESS = { interval: 500 };

/** An isolated network, for programs that use fixed ports. It ends with `close`. */
export class LoopbackNetwork {
  readonly pid: number;
  readonly #end: () => Promise<void>;

  private constructor(pid: number, end: () => Promise<void>) {
    this.pid = pid;
    this.#end = end;
  }

  static async create(): Promise<LoopbackNetwork> {
    const child = spawn('unshare', ['--net', 'sh', '-c', 'ip link set lo up && echo up && exec sleep 3600'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    if (child.pid === undefined) throw new Error('unshare did not start');
    child.once('exit', guardProcess(child.pid));
    await once(child.stdout, 'data');
    return new LoopbackNetwork(child.pid, async () => {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    });
  }

  /**
   * Runs a program in this network. Returns its standard output.
   *
   * @throws Error with the program's output when it fails
   */
  async run(command: string, ...args: readonly string[]): Promise<string> {
    const child = spawn('nsenter', [`--net=/proc/${this.pid}/ns/net`, '--', command, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [out, errors, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${errors}${out}`);
    return out;
  }

  /**
   * Starts a program in this network. Resolves when the
   * program has written a line, which means that it is ready.
   */
  async start(command: string, ...args: readonly string[]): Promise<{ close(): Promise<void> }> {
    const child = spawn('nsenter', [`--net=/proc/${this.pid}/ns/net`, '--', command, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (child.pid !== undefined) child.once('exit', guardProcess(child.pid));
    await once(child.stdout, 'data');
    return {
      async close() {
        const ended = once(child, 'exit');
        child.kill('SIGTERM');
        await ended;
      },
    };
  }

  close(): Promise<void> {
    return this.#end();
  }
}

const SYSTEM_FOLDERS: readonly Mount[] = ['bin', 'sbin', 'lib', 'lib64'].map((path) => ({
  from: `/${path}`,
  to: `/${path}`,
}));

/** Path of the repository on a machine. */
const REPOSITORY = '/srv/svc';

/** Folders of a machine that the commands of a page may write to. */
const WRITABLE = ['etc', 'usr/lib/svc', 'usr/lib/sysusers.d', 'usr/local/bin', 'var/lib', 'run', 'tmp'];

/**
 * A machine to install svc on, made of folders over this machine. It has this machine's programs,
 * and Node 24 as `/usr/bin/node`. Writes to `/etc`, `/var/lib`, `/run` and `/usr/lib/svc` stay in
 * a folder of its own. systemd does not run on it; {@link Machine.start} does its work.
 */
export class Machine {
  /** Folder with the machine's own files. */
  readonly root: string;
  readonly #folder: string;
  /** The root for commands, which write to folders of the root. */
  readonly #shellRoot: string;
  readonly #network: LoopbackNetwork;
  readonly #dist: string;

  /** @param dist output of `npm run build` */
  constructor(network: LoopbackNetwork, dist: string) {
    this.#network = network;
    this.#dist = dist;
    this.#folder = mkdtempSync(join(tmpdir(), 'svc-machine-'));
    this.root = join(this.#folder, 'root');
    for (const folder of [...WRITABLE, 'usr/bin']) mkdirSync(join(this.root, folder), { recursive: true });
    cpSync('/etc', join(this.root, 'etc'), { recursive: true, verbatimSymlinks: true, filter: isPlain });
    for (const folder of ['etc/svc', 'etc/systemd/system'])
      rmSync(join(this.root, folder), { recursive: true, force: true });
    placeProgram(process.execPath, join(this.root, 'usr/bin/node'));
    this.#shellRoot = join(this.#folder, 'shell');
    mkdirSync(join(this.#shellRoot, 'usr/bin'), { recursive: true });
    placeProgram(process.execPath, join(this.#shellRoot, 'usr/bin/node'));
  }

  /**
   * Runs a line of a page as root, in the repository, with the network of the machine.
   *
   * @returns standard output of the line
   * @throws Error with the output when the line fails
   */
  async shell(line: string): Promise<string> {
    const child = startConfined({
      command: ['/bin/sh', '-c', `cd ${REPOSITORY} && ${line}`],
      environment: { HOME: '/tmp' },
      uid: 0,
      gid: 0,
      root: this.#shellRoot,
      overMachine: ['usr'],
      mounts: [
        ...SYSTEM_FOLDERS,
        { from: join(ROOT, 'deploy'), to: `${REPOSITORY}/deploy` },
        { from: this.#dist, to: `${REPOSITORY}/dist` },
        ...WRITABLE.map((path) => ({ from: join(this.root, path), to: `/${path}`, isWritable: true })),
      ],
      networkOf: this.#network.pid,
    });
    const [out, errors, [code]] = await Promise.all([
      text(child.stdout!),
      text(child.stderr!),
      once(child, 'exit'),
    ]);
    if (code !== 0) throw new Error(`"${line}" ended with ${code}:\n${errors}${out}`);
    return out;
  }

  /** The process that systemd would start for the unit. */
  confinementOf(unit: string): Confinement {
    return { ...confinementOf(this.root, unit), networkOf: this.#network.pid };
  }

  /** The service of a unit that logs in the way of svc; `start()` resolves when it is ready. */
  service(unit: string): LoggedProcess {
    const confinement = this.confinementOf(unit);
    return new LoggedProcess(unit, () => startConfined(confinement));
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Whether the file is a plain file or folder. Sockets and pipes of this machine are no settings. */
function isPlain(path: string): boolean {
  const found = lstatSync(path);
  return found.isFile() || found.isDirectory() || found.isSymbolicLink();
}

function placeProgram(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    cpSync(from, to);
  }
}
