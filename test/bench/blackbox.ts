import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import type { Children } from './children.ts';

const BINARY = 'prometheus-blackbox-exporter';

const CONFIGURATION = `
modules:
  http: { prober: http, timeout: 5s, http: { preferred_ip_protocol: ip4 } }
  tcp: { prober: tcp, timeout: 5s, tcp: { preferred_ip_protocol: ip4 } }
`;

export function hasBlackbox(): boolean {
  return spawnSync(BINARY, ['--version']).status === 0;
}

/**
 * Starts blackbox_exporter. `probe` asks it for one probe of the target over a connection that stays open.
 */
export async function startBlackbox(children: Children, targetPort: number) {
  const directory = mkdtempSync(join(tmpdir(), 'svc-blackbox-'));
  const configFile = join(directory, 'blackbox.yml');
  writeFileSync(configFile, CONFIGURATION);
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
     * @returns a function that asks for one probe; it calls `onDone` with whether the probe succeeded
     */
    prober(kind: 'http' | 'tcp', onDone: (succeeded: boolean) => void) {
      const target = kind === 'http' ? `http://127.0.0.1:${targetPort}/` : `127.0.0.1:${targetPort}`;
      const path = `/probe?module=${kind}&target=${encodeURIComponent(target)}`;
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
