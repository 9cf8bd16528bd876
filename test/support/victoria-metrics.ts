import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { guardProcess } from '../../deploy/local/guard.ts';
import { freePort } from './free-port.ts';
import type { Opened } from './opened.ts';
import { endChild } from './process.ts';
import { findProgram } from './real-dns-server.ts';

const PROGRAM = findProgram('victoria-metrics');

/**
 * For `test.skipIf`: this machine has no VictoriaMetrics. Debian 12 has version 1.79,
 * which does not know OTLP, so the tests run only if a newer program is on the PATH.
 */
export const skipsVictoriaMetrics = PROGRAM === null;
if (PROGRAM === null) console.warn('SKIPPED: victoria-metrics is not installed');

export type VictoriaMetrics = {
  /** The URL for OTLP. */
  readonly endpoint: string;
  /** Whether the program takes OTLP. Versions before 1.92 do not. */
  takesOtlp(): Promise<boolean>;
  /** The values of a query of PromQL at this moment, by their labels as JSON. */
  query(text: string): Promise<{ labels: Record<string, string>; value: number }[]>;
  stop(): Promise<void>;
};

/** Starts a VictoriaMetrics for one test. The test is skipped if the program does not take OTLP. */
export async function victoriaMetricsIn(opened: Opened, context: TestContext): Promise<VictoriaMetrics> {
  const database = await startVictoriaMetrics(PROGRAM ?? '');
  opened.push({ close: () => database.stop() });
  if (!(await database.takesOtlp())) {
    console.warn('SKIPPED: victoria-metrics is older than 1.92 and does not take OTLP');
    context.skip();
  }
  return database;
}

/** Starts the program on a free loopback port. */
async function startVictoriaMetrics(program: string): Promise<VictoriaMetrics> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-victoria-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(
    program,
    [
      `-httpListenAddr=127.0.0.1:${port}`,
      `-storageDataPath=${folder}`,
      '-search.latencyOffset=0s',
      '-search.disableCache',
      '-opentelemetry.usePrometheusNaming',
      '-memory.allowedBytes=64MB',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  if (child.pid !== undefined) child.once('exit', guardProcess(child.pid));
  let said = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (/(?:started|starting) (?:http )?server at/.test(said)) resolve();
    });
    child.once('exit', () => reject(new Error(`VictoriaMetrics has ended:\n${said}`)));
  });
  return {
    endpoint: `${url}/opentelemetry/v1/metrics`,
    async takesOtlp() {
      const headers = { 'content-type': 'application/x-protobuf' };
      return (await fetch(`${url}/opentelemetry/v1/metrics`, { method: 'POST', headers })).ok;
    },
    async query(text) {
      // Received points can be queried after a flush.
      await fetch(`${url}/internal/force_flush`);
      const answer = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(text)}`);
      const { data, error } = (await answer.json()) as {
        data?: { result: { metric: Record<string, string>; value: [number, string] }[] };
        error?: string;
      };
      if (data === undefined) throw new Error(error ?? 'VictoriaMetrics has not answered');
      return data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
    },
    async stop() {
      await endChild(child, 'SIGTERM');
      await rm(folder, { recursive: true, force: true });
    },
  };
}
