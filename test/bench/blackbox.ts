import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { settle } from './agent-round.ts';
import type { Children } from './children.ts';
import { pace } from './pace.ts';
import { cpuMs } from './process-usage.ts';

const BINARY = 'prometheus-blackbox-exporter';

/** Modules of blackbox_exporter by name, in its own notation. */
export type BlackboxModules = Readonly<Record<string, object>>;

const MODULES: BlackboxModules = {
  http: { prober: 'http', timeout: '5s', http: { preferred_ip_protocol: 'ip4' } },
  tcp: { prober: 'tcp', timeout: '5s', tcp: { preferred_ip_protocol: 'ip4' } },
};

export function hasBlackbox(): boolean {
  return spawnSync(BINARY, ['--version']).status === 0;
}

/**
 * Starts blackbox_exporter.
 *
 * @param more modules beside `http` and `tcp`
 */
export async function startBlackbox(children: Children, more: BlackboxModules = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'svc-blackbox-'));
  const configFile = join(directory, 'blackbox.yml');
  // JSON is YAML.
  writeFileSync(configFile, JSON.stringify({ modules: { ...MODULES, ...more } }));
  const port = await freePort();
  const pid = children.program(BINARY, [
    `--config.file=${configFile}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=error',
  ]);
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  await untilAnswers(port);
  return {
    pid,
    /**
     * @returns a function that requests one probe over a connection that stays open, and calls `onDone` with
     *   whether the probe succeeded
     */
    prober(module: string, target: string, onDone: (succeeded: boolean) => void) {
      const path = `/probe?module=${module}&target=${encodeURIComponent(target)}`;
      return () => {
        get({ host: '127.0.0.1', port, path, agent }, (response) => {
          let text = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            text += chunk;
          });
          response.on('end', () => onDone(text.includes('probe_success 1')));
        }).on('error', () => onDone(false));
      };
    },
  };
}

/** Measures the CPU time of blackbox_exporter per successful probe over one round, ms. */
export async function blackboxRound(
  blackbox: Awaited<ReturnType<typeof startBlackbox>>,
  [module, target]: readonly [module: string, target: string],
  { rate, seconds }: { rate: number; seconds: number },
): Promise<number> {
  let succeeded = 0;
  const before = cpuMs(blackbox.pid);
  await pace(
    rate,
    seconds,
    blackbox.prober(module, target, (success) => {
      if (success) succeeded += 1;
    }),
  );
  await settle();
  return (cpuMs(blackbox.pid) - before) / succeeded;
}

async function untilAnswers(port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    const isUp = await new Promise<boolean>((resolve) => {
      get({ host: '127.0.0.1', port, path: '/-/healthy' }, (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      }).on('error', () => resolve(false));
    });
    if (isUp) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('blackbox_exporter did not come up');
}
