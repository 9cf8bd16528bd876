import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { SystemFiles } from './system-files.ts';

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function files() {
  const folder = mkdtempSync(join(tmpdir(), 'svc-resolve-'));
  folders.push(folder);
  const paths = { hosts: join(folder, 'hosts'), resolvConf: join(folder, 'resolv.conf') };
  let now = 0;
  return { paths, system: new SystemFiles(paths, () => now), pass: (ms: number) => (now += ms) };
}

test('missing files count as empty, and are found when they appear', () => {
  const { paths, system, pass } = files();
  expect(system.hosts.size).toBe(0);
  expect(system.resolvConf.servers).toEqual([{ host: '127.0.0.1', port: 53 }]);
  writeFileSync(paths.hosts, '10.0.0.1 db');
  writeFileSync(paths.resolvConf, 'nameserver 10.0.0.53');
  pass(1_000);
  expect(system.hosts.get('db')).toEqual([{ address: '10.0.0.1', family: 4 }]);
  expect(system.resolvConf.servers).toEqual([{ host: '10.0.0.53', port: 53 }]);
});

test('a change is seen after a second, written in place or put in its place', () => {
  const { paths, system, pass } = files();
  writeFileSync(paths.resolvConf, 'nameserver 10.0.0.1');
  expect(system.resolvConf.servers[0]?.host).toBe('10.0.0.1');
  writeFileSync(paths.resolvConf, 'nameserver 10.0.0.2');
  pass(999);
  expect(system.resolvConf.servers[0]?.host).toBe('10.0.0.1');
  pass(1);
  expect(system.resolvConf.servers[0]?.host).toBe('10.0.0.2');
  writeFileSync(`${paths.resolvConf}.new`, 'nameserver 10.0.0.3');
  renameSync(`${paths.resolvConf}.new`, paths.resolvConf);
  pass(1_000);
  expect(system.resolvConf.servers[0]?.host).toBe('10.0.0.3');
});
