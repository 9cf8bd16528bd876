import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { guardProcess } from '../../deploy/local/guard.ts';
import { freePort } from './free-port.ts';

export type Alertmanager = {
  /** Sends Alertmanager an alert that fires, or the end of an alert. */
  tell(name: string, state: 'firing' | 'over'): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Starts Prometheus' Alertmanager on loopback, with one receiver for all alerts.
 *
 * @param receiver configuration of the receiver as JSON, which is
 *   YAML: https://prometheus.io/docs/alerting/latest/configuration/
 */
export async function startAlertmanager(program: string, receiver: object): Promise<Alertmanager> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-alertmanager-'));
  const port = await freePort();
  const configuration = {
    route: { receiver: 'it', group_by: ['alertname'], group_wait: '1ms', group_interval: '100ms' },
    receivers: [{ name: 'it', ...receiver }],
  };
  await writeFile(join(folder, 'configuration.yml'), JSON.stringify(configuration));
  const child = spawn(
    program,
    [
      `--config.file=${join(folder, 'configuration.yml')}`,
      `--storage.path=${folder}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--cluster.listen-address=',
    ],
    { stdio: 'ignore' },
  );
  if (child.pid !== undefined) child.once('exit', guardProcess(child.pid));
  const url = `http://127.0.0.1:${port}`;
  while (!(await isReady(url))) {
    if (child.exitCode !== null) throw new Error(`Alertmanager has ended with exit code ${child.exitCode}`);
    await delay(50);
  }
  return {
    async tell(name, state) {
      const now = Date.now();
      const alert = {
        labels: { alertname: name, severity: 'critical' },
        annotations: { summary: `${name} is down` },
        startsAt: new Date(now - 1_000).toISOString(),
        ...(state === 'over' ? { endsAt: new Date(now).toISOString() } : {}),
      };
      const answer = await fetch(`${url}/api/v2/alerts`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify([alert]),
      });
      if (!answer.ok) throw new Error(`Alertmanager answered ${answer.status}`);
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

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/-/ready`)).ok;
  } catch {
    return false; // Not yet.
  }
}
