import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../support/free-port.ts';
import type { Client, Observation } from './client.ts';

const BINARY = 'prometheus-blackbox-exporter';
const STATUSES = Array.from({ length: 900 }, (_, index) => index + 100).join(', ');
const moduleOf = (method: string): string =>
  `{ prober: http, timeout: 5s, http: { method: ${method}, preferred_ip_protocol: ip4, valid_status_codes: [${STATUSES}] } }`;

/** Any status counts as success, so that only what the client itself refuses fails. */
export async function startBlackbox(): Promise<Client> {
  const { stdout, stderr } = spawnSync(BINARY, ['--version'], { encoding: 'utf8' });
  const folder = mkdtempSync(join(tmpdir(), 'svc-answers-'));
  const file = join(folder, 'blackbox.yml');
  writeFileSync(file, `modules:\n  GET: ${moduleOf('GET')}\n  HEAD: ${moduleOf('HEAD')}\n`);
  const port = await freePort();
  const child = spawn(BINARY, [`--config.file=${file}`, `--web.listen-address=127.0.0.1:${port}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  child.stderr.setEncoding('utf8');
  for (let said = ''; !said.includes('Listening'); said += await once(child.stderr, 'data'));
  // Its log is read on: with a closed pipe it would end at the next line.
  child.stderr.resume();
  return {
    version: /version [\d.]+/.exec(stdout + stderr)?.[0].replace('version', 'blackbox_exporter') ?? BINARY,
    async ask(url, { method }): Promise<Observation> {
      const query = new URLSearchParams({ module: method, target: url, debug: 'true' });
      const text = await (await fetch(`http://127.0.0.1:${port}/probe?${query}`)).text();
      const metric = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
      if (metric('probe_success') === 1) {
        return {
          status: metric('probe_http_status_code'),
          bytes: metric('probe_http_uncompressed_body_length'),
        };
      }
      const errors = [...text.matchAll(/ err="((?:[^"\\]|\\.)*)"/g)];
      return { refused: errors.at(-1)?.[1]?.replaceAll('\\"', '"') ?? 'probe_success 0' };
    },
    async close() {
      child.kill();
      await once(child, 'exit');
      rmSync(folder, { recursive: true });
    },
  };
}
