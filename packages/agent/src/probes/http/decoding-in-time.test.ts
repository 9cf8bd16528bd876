import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { expect, onTestFinished, test } from 'vitest';
import { fixedResolver, httpCheck } from '../../../../../test/support/http-check.ts';
import { startRawTarget } from '../../../../../test/support/raw-target.ts';
import { createHttpProbe } from './probe.ts';

/** Of libuv, unless UV_THREADPOOL_SIZE says otherwise. */
const POOL_THREADS = Number(process.env.UV_THREADPOOL_SIZE ?? 4);

/** Keeps every thread of the pool waiting for somebody to write. The result lets them go on. */
function holdThreads(): () => Promise<void> {
  const path = join(tmpdir(), `svc-held-threads-${process.pid}`);
  execFileSync('mkfifo', [path]);
  const readers: Promise<FileHandle>[] = Array.from({ length: POOL_THREADS }, () => open(path, 'r'));
  return async () => {
    // Opened for both, it does not wait for anybody.
    const writer = openSync(path, 'r+');
    for (const reader of await Promise.all(readers)) await reader.close();
    closeSync(writer);
    execFileSync('rm', [path]);
  };
}

test('a time-out tells whether the whole answer had come, and only the agent was not through with it', async () => {
  const body = gzipSync('up');
  const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`;
  const target = await startRawTarget((socket, request) => {
    if (request.startsWith('GET /all')) socket.write(Buffer.concat([Buffer.from(head), body]));
    else socket.write(Buffer.concat([Buffer.from(head), body.subarray(0, 5)]));
  });
  onTestFinished(target.close);
  onTestFinished(holdThreads());
  const probe = createHttpProbe({
    resolver: fixedResolver({}),
    egress: createEgressGuard({ base: 'agent', deny: [], allow: [] }),
  });
  const run = (path: string) =>
    probe.run(
      httpCheck({
        url: `${target.url}${path}`,
        body_assertions: [{ comparator: 'contains', target: 'up' }],
      }),
      { timeoutMs: 1_000, signal: new AbortController().signal },
    );
  const [all, part] = await Promise.all([run('/all'), run('/part')]);
  expect(all).toMatchObject({ outcome: 'failed', timedOut: true, hasWholeAnswer: true });
  expect(part).toMatchObject({ outcome: 'failed', timedOut: true });
  expect(part.hasWholeAnswer).toBeUndefined();
});
