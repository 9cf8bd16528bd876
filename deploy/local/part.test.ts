import { afterEach, describe, expect, test } from 'vitest';
import { type End, Part, type PartCommand } from './part.ts';

/** Reports that it is ready, and then runs until a signal ends it. */
const WELL = "process.stderr.write('ready\\n'); setInterval(() => {}, 1000)";

type Happening =
  | { what: 'started'; pid: number | undefined }
  | { what: 'ready'; isAgain: boolean }
  | { what: 'line'; line: string }
  | { what: 'ended'; end: End; delayMs: number }
  | { what: 'gaveUp'; end: End };

/** Records the events of parts; `next` waits for the next event of a kind. */
function journal() {
  const seen: Happening[] = [];
  let cursor = 0;
  let wake: () => void = () => {};
  const add = (happening: Happening) => {
    seen.push(happening);
    wake();
  };
  return {
    events: {
      started: (part: Part) => add({ what: 'started', pid: part.pid }),
      ready: (_part: Part, isAgain: boolean) => add({ what: 'ready', isAgain }),
      line: (_part: Part, line: string) => add({ what: 'line', line }),
      ended: (_part: Part, end: End, delayMs: number) => add({ what: 'ended', end, delayMs }),
      gaveUp: (_part: Part, end: End) => add({ what: 'gaveUp', end }),
    },
    async next<W extends Happening['what']>(what: W): Promise<Extract<Happening, { what: W }>> {
      for (;;) {
        const happening = seen[cursor];
        if (happening === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          continue;
        }
        cursor += 1;
        if (happening.what === what) return happening as Extract<Happening, { what: W }>;
      }
    },
  };
}

function commandOf(script: string, over: Partial<PartCommand> = {}): PartCommand {
  return {
    name: 'part',
    command: process.execPath,
    args: ['-e', script],
    env: {},
    hasChannel: false,
    isReadyLine: (line) => line === 'ready',
    stopWithinMs: 5_000,
    ...over,
  };
}

const parts: Part[] = [];
afterEach(() => Promise.all(parts.splice(0).map((part) => part.stop())));

function partOf(command: PartCommand, happenings: ReturnType<typeof journal>): Part {
  const part = new Part(command, happenings.events);
  parts.push(part);
  return part;
}

describe('a part', () => {
  test('that is killed is started again, and says how it ended', async () => {
    const happenings = journal();
    const part = partOf(commandOf(WELL), happenings);
    await part.start();
    const first = await happenings.next('started');
    expect((await happenings.next('ready')).isAgain).toBe(false);
    process.kill(first.pid ?? 0, 'SIGKILL');
    expect(await happenings.next('ended')).toEqual({
      what: 'ended',
      end: { why: 'signal SIGKILL', code: null },
      delayMs: 250,
    });
    const second = await happenings.next('started');
    expect(second.pid).not.toBe(first.pid);
    expect((await happenings.next('ready')).isAgain).toBe(true);
    process.kill(second.pid ?? 0, 'SIGKILL');
    expect((await happenings.next('ended')).delayMs).toBe(500);
  });

  test('with a channel reports over it that it is ready, whatever its log leaves out', async () => {
    const happenings = journal();
    const script = "process.send({ event: 'ready' }); process.on('disconnect', () => process.exit(0))";
    const command = commandOf(script, { hasChannel: true });
    delete command.isReadyLine;
    await partOf(command, happenings).start();
    expect((await happenings.next('ready')).isAgain).toBe(false);
  });

  test('that fails before it was ever ready is not tried again', async () => {
    const happenings = journal();
    void partOf(commandOf("console.error('no such file'); process.exit(1)"), happenings).start();
    expect((await happenings.next('line')).line).toBe('no such file');
    expect(await happenings.next('gaveUp')).toEqual({ what: 'gaveUp', end: { why: 'exit code 1', code: 1 } });
  });

  test('whose program is missing is given up with the reason', async () => {
    const happenings = journal();
    void partOf(commandOf('', { command: '/nowhere/nats-server' }), happenings).start();
    expect((await happenings.next('gaveUp')).end.why).toContain('ENOENT');
  });

  test('that does not end on SIGTERM is killed', async () => {
    const happenings = journal();
    const part = partOf(
      commandOf(`process.on('SIGTERM', () => {}); ${WELL}`, { stopWithinMs: 50 }),
      happenings,
    );
    await part.start();
    await part.stop();
    expect(() => process.kill(part.pid ?? 0, 0)).toThrow('ESRCH');
  });

  test('ends by itself when its channel to the supervisor closes', async () => {
    const supervisor = [
      "const { spawn } = require('node:child_process');",
      `const child = spawn(process.execPath, ['-e', "process.on('disconnect', () => process.exit(0))"], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], detached: true });`,
      "process.stderr.write('child ' + child.pid + '\\n');",
      "process.stderr.write('ready\\n'); setInterval(() => {}, 1000)",
    ].join('\n');
    const happenings = journal();
    const part = partOf(commandOf(supervisor), happenings);
    await part.start();
    const child = Number((await happenings.next('line')).line.split(' ')[1]);
    part.kill();
    await expect.poll(() => isAlive(child)).toBe(false);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
