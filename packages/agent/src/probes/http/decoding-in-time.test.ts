import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { expect, onTestFinished, test } from 'vitest';
import { fixedResolver, httpCheck } from '../../../../../test/support/http-check.ts';
import { sendAndReset, startRawTarget } from '../../../../../test/support/raw-target.ts';
import { createHttpProbe } from './probe.ts';

/** Number of threads in libuv's pool: 4, unless UV_THREADPOOL_SIZE is set. */
const POOL_THREADS = Number(process.env.UV_THREADPOOL_SIZE ?? 4);

/** Blocks every thread of the pool in opening a pipe. The returned function releases them. */
function holdThreads(): () => Promise<void> {
  const path = join(tmpdir(), `svc-held-threads-${process.pid}`);
  execFileSync('mkfifo', [path]);
  const readers: Promise<FileHandle>[] = Array.from({ length: POOL_THREADS }, () => open(path, 'r'));
  return async () => {
    // A pipe that is opened for both directions does not block.
    const writer = openSync(path, 'r+');
    for (const reader of await Promise.all(readers)) await reader.close();
    closeSync(writer);
    execFileSync('rm', [path]);
  };
}

const BODY = gzipSync('up');
const HEAD = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${BODY.length}\r\n\r\n`,
);

function run(url: string, timeoutMs: number) {
  const probe = createHttpProbe({
    resolver: fixedResolver({}),
    egress: createEgressGuard({ base: 'agent', deny: [], allow: [] }),
  });
  return probe.run(httpCheck({ url, body_assertions: [{ comparator: 'contains', target: 'up' }] }), {
    timeoutMs,
    signal: new AbortController().signal,
  });
}

test('a time-out shows whether the whole answer had arrived and only the agent had not finished', async () => {
  const target = await startRawTarget((socket, request) => {
    if (request.startsWith('GET /all')) socket.write(Buffer.concat([HEAD, BODY]));
    else socket.write(Buffer.concat([HEAD, BODY.subarray(0, 5)]));
  });
  onTestFinished(target.close);
  onTestFinished(holdThreads());
  const [all, part] = await Promise.all([run(`${target.url}/all`, 1_000), run(`${target.url}/part`, 1_000)]);
  expect(all).toMatchObject({ outcome: 'failed', timedOut: true, hasWholeAnswer: true });
  expect(part).toMatchObject({ outcome: 'failed', timedOut: true });
  expect(part.hasWholeAnswer).toBeUndefined();
});

test('a connection that is reset behind the whole answer does not matter, however long the body is decoded', async () => {
  const target = await startRawTarget(sendAndReset(Buffer.concat([HEAD, BODY])));
  onTestFinished(target.close);
  const letGo = holdThreads();
  const found = run(target.url, 30_000);
  while (target.requests.length === 0) await nextTurn();
  // The target is idle only when the probe has closed its end of the connection too.
  await target.idle();
  await nextTurn();
  await letGo();
  expect(await found).toMatchObject({ outcome: 'passed' });
});
