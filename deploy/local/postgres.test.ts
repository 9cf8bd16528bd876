import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { untilServerEnded } from './postgres.ts';

async function folderIn(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-postgres-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

test('a start waits for the server of an earlier start, whose clients may still be connected', async () => {
  const data = await folderIn();
  const server = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1_000)'], { stdio: 'ignore' });
  await once(server, 'spawn');
  await writeFile(join(data, 'postmaster.pid'), `${server.pid}\n${data}\n`);
  const order: string[] = [];
  const waiting = untilServerEnded(data).then(() => order.push('start'));
  const ended = once(server, 'exit').then(() => order.push('end'));
  await new Promise((resolve) => setImmediate(resolve));
  server.kill('SIGKILL');
  await Promise.all([waiting, ended]);
  expect(order).toEqual(['end', 'start']);
});

test.each(['', '0\n', '-1\n'])(
  'the file of a server that has ended does not hold a start up: %j',
  async (text) => {
    const data = await folderIn();
    await untilServerEnded(data);
    await writeFile(join(data, 'postmaster.pid'), text);
    await untilServerEnded(data);
  },
);
