import { execFileSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { parseHostsFile, SystemFiles } from './system-files.ts';

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

test('a change is seen after a second, whether the file was rewritten or replaced', () => {
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

/**
 * A script that reads a file while no descriptor is left, and again when one is free. It prints the
 * first server after each reading.
 */
const WITHOUT_DESCRIPTORS = `
  const { closeSync, openSync } = await import('node:fs');
  const [module, resolvConf] = process.argv.slice(1);
  const { SystemFiles } = await import(module);
  let now = 0;
  const system = new SystemFiles({ hosts: '/nonexistent', resolvConf }, () => now);
  const open = [];
  try {
    for (;;) open.push(openSync('/dev/null'));
  } catch (error) {
    if (error.code !== 'EMFILE') throw error;
  }
  const first = system.resolvConf.servers[0].host;
  for (const file of open) closeSync(file);
  now += 1_000;
  console.log(first, system.resolvConf.servers[0].host);
`;

test.skipIf(process.platform === 'win32')(
  'a file that cannot be read for want of descriptors is read later',
  () => {
    const { paths } = files();
    writeFileSync(paths.resolvConf, 'nameserver 10.0.0.1');
    const shell = ['-c', 'ulimit -n 100 && exec "$@"', 'sh', process.execPath, '--input-type=module'];
    const module = new URL('./system-files.ts', import.meta.url).href;
    const printed = execFileSync('sh', [...shell, '--eval', WITHOUT_DESCRIPTORS, module, paths.resolvConf], {
      encoding: 'utf8',
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    expect(printed.trim()).toBe('127.0.0.1 10.0.0.1');
  },
);

test('names and aliases of all lines, whatever their case', () => {
  const hosts = parseHostsFile(`
127.0.0.1\tlocalhost
::1       localhost ip6-localhost # comment
10.0.0.1  Db.Example.com db
10.0.0.2  db
10.0.0.1  db
#10.0.0.3 db
nonsense  db
10.0.0.4
`);
  expect(Object.fromEntries(hosts)).toEqual({
    localhost: [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ],
    'ip6-localhost': [{ address: '::1', family: 6 }],
    'db.example.com': [{ address: '10.0.0.1', family: 4 }],
    db: [
      { address: '10.0.0.1', family: 4 },
      { address: '10.0.0.2', family: 4 },
    ],
  });
});

test('names of object members are names like others', () => {
  expect(parseHostsFile('10.0.0.1 constructor __proto__').get('constructor')).toEqual([
    { address: '10.0.0.1', family: 4 },
  ]);
  expect(parseHostsFile('').get('toString')).toBeUndefined();
});

test('comments of lines that end with CR LF are not names', () => {
  expect([...parseHostsFile('10.0.0.1 a # b\r\n#10.0.0.2 c\r\n').keys()]).toEqual(['a']);
});
