import { spawn } from 'node:child_process';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { guardProcess } from '../../deploy/local/guard.ts';
import { freePort } from './free-port.ts';
import { endChild } from './process.ts';
import { findProgram } from './real-dns-server.ts';

/** Interval of the checks while a state is awaited, ms. */
const ASK_EVERY_MS = 100;

export type Sample = { readonly labels: Readonly<Record<string, string>>; readonly value: number };

export type Prometheus = {
  /** Scrapes `/metrics` at these base URLs from now on, and no others. */
  scrape(urls: readonly string[]): Promise<void>;
  /** The answer to a query of PromQL at this moment, or at another one, epoch s. */
  query(text: string, at?: number): Promise<Sample[]>;
  /** Names of the alerts that fired at any evaluation since `start`, epoch ms. */
  firedSince(start: number): Promise<ReadonlySet<string>>;
  /**
   * Resolves when the condition holds, which is checked again and again. Rejects when the signal is aborted.
   */
  until(isSo: () => Promise<boolean>, signal?: AbortSignal): Promise<void>;
  stop(): Promise<void>;
};

/** The programs of Debian's package; null: there are none, and a line says which tests are skipped. */
export function prometheusPrograms(what: string): { prometheus: string; promtool: string } | null {
  const [prometheus, promtool] = [findProgram('prometheus'), findProgram('promtool')];
  if (prometheus !== null && promtool !== null) return { prometheus, promtool };
  console.warn(`SKIPPED: prometheus and promtool are not installed (Debian: prometheus); ${what}`);
  return null;
}

/**
 * Starts a Prometheus on a free loopback port. It scrapes every two seconds,
 * because a process may be slow to answer, and evaluates every second.
 *
 * @param rules text of a file of rules; '': there are none
 */
export async function startPrometheus(program: string, rules = ''): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-prometheus-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const targets = join(folder, 'targets.json');
  await writeFile(targets, '[]');
  await writeFile(join(folder, 'rules.yaml'), rules === '' ? 'groups: []' : rules);
  await writeFile(join(folder, 'prometheus.yaml'), CONFIGURATION);
  const child = spawn(
    program,
    [
      `--config.file=${join(folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, GOMAXPROCS: '1' } },
  );
  if (child.pid !== undefined) child.once('exit', guardProcess(child.pid));
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const answer = async <T>(path: string): Promise<T> => {
    const { data, error } = (await (await fetch(`${url}${path}`)).json()) as { data?: T; error?: string };
    if (data === undefined) throw new Error(`Prometheus: ${error}`);
    return data;
  };
  const until: Prometheus['until'] = async (isSo, signal) => {
    while (!(await isSo())) await delay(ASK_EVERY_MS, undefined, { signal });
  };
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`Prometheus has ended:\n${said}`);
    // Nothing listens at the port before Prometheus has started.
    return await fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  });
  const query: Prometheus['query'] = async (text, at = Date.now() / 1_000) => {
    const { result } = await answer<{
      result: { metric: Record<string, string>; value: [number, string] }[];
    }>(`/api/v1/query?query=${encodeURIComponent(text)}&time=${at}`);
    return result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
  };
  return {
    until,
    query,
    async scrape(urls) {
      const hosts = urls.map((each) => new URL(each).host);
      // Prometheus reads the file when it changes, and must not find a part of it.
      await writeFile(`${targets}.new`, JSON.stringify([{ targets: hosts }]));
      await rename(`${targets}.new`, targets);
    },
    async firedSince(start) {
      const seconds = Math.max(1, Math.floor((Date.now() - start) / 1_000));
      const fired = await query(`last_over_time(ALERTS{alertstate="firing"}[${seconds}s])`);
      return new Set(fired.map(({ labels }) => labels.alertname ?? ''));
    },
    async stop() {
      await endChild(child, 'SIGTERM');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const CONFIGURATION = `
global: { scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 1s }
rule_files: [rules.yaml]
scrape_configs:
  - job_name: svc
    file_sd_configs: [{ files: [targets.json], refresh_interval: 1s }]
`;
