import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { runCommandLine } from '@svc/cli/command-line.ts';
import { localNames } from '@svc/cli/export/names.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { declare, declaredNames, liveResources, storedByName } from '../support/declare.ts';
import { compileCacheOf, ROOT } from '../support/process.ts';
import { VALID } from '../support/resources.ts';
import { asDeclaredFile, WHOLE_CONFIGURATION } from '../support/whole-configuration.ts';

const SECRETS = [
  'pass%20word',
  'hook%20word',
  'Bearer of the monitor',
  'Bearer of the collector',
  'the hook',
  'secret-key',
  'chat.example.com/a',
  'pass $',
];

let source: RunningApi;
let folder: string;
const started: RunningApi[] = [];

beforeAll(async () => {
  source = await startApi();
  await declare(source, asDeclaredFile(WHOLE_CONFIGURATION));
});
afterAll(() => source.dispose());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-export-'));
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((api) => api.dispose()));
  await rm(folder, { recursive: true });
});

type Ran = { code: number; out: string; err: string };

async function svc(args: readonly string[], environment: Record<string, string> = {}): Promise<Ran> {
  const written = { out: '', err: '' };
  const code = await runCommandLine(args, {
    environment: { SVC_BASE_URL: source.url, SVC_API_TOKEN: source.operator, ...environment },
    out: { write: (text) => (written.out += text) },
    err: { write: (text) => (written.err += text) },
  });
  return { code, ...written };
}

async function emptyApi(): Promise<RunningApi> {
  const api = await startApi();
  started.push(api);
  return api;
}

/** The stored resources, by the names that an export gives them. */
async function exportedNames(api: RunningApi) {
  const nameOf = localNames(await liveResources(api));
  return storedByName(api, (kind, id) => `${kind}.${nameOf(kind, id)}`);
}

/** The variables that a shell reads from a file of secrets. */
function assignments(path: string): Record<string, string> {
  const script = 'set -a; . "$0"; env -0';
  const printed = execFileSync('/bin/sh', ['-c', script, path], { encoding: 'utf8', env: {} });
  const entries = printed.split('\0').filter((entry) => entry !== '');
  return Object.fromEntries(entries.map((entry) => entry.split(/=(.*)/s, 2)));
}

describe.each(['yaml', 'json'])('an export as %s', (format) => {
  test('creates the same resources in an empty installation, with secrets in plain text', async () => {
    const exported = await svc(['export', '--format', format, '--secrets', 'inline']);
    expect(exported.code, exported.err).toBe(0);
    const copy = await emptyApi();
    await declare(copy, exported.out);
    const stored = await storedByName(copy, await declaredNames(copy));
    expect(stored).toEqual(await exportedNames(source));
    expect(Object.keys(stored)).toHaveLength(Object.values(WHOLE_CONFIGURATION).flatMap(Object.keys).length);
  });

  test('creates the same resources, with secrets in variables', async () => {
    const secrets = join(folder, 'secrets.env');
    const exported = await svc(['export', '--format', format, '--secrets-file', secrets]);
    expect(exported.code, exported.err).toBe(0);
    for (const secret of SECRETS) expect(exported.out).not.toContain(secret);
    const copy = await emptyApi();
    await declare(copy, exported.out, assignments(secrets));
    expect(await storedByName(copy, await declaredNames(copy))).toEqual(await exportedNames(source));
  });
});

test('an export is the same every time', async () => {
  for (const format of ['yaml', 'json', 'hcl']) {
    const first = await svc(['export', '--format', format]);
    expect(await svc(['export', '--format', format])).toEqual(first);
  }
});

describe('secrets', () => {
  test.each(['yaml', 'json', 'hcl'])('are left out of %s unless asked for, and named', async (format) => {
    const { out, err } = await svc(['export', '--format', format]);
    for (const secret of SECRETS) expect(out + err).not.toContain(secret);
    expect(err).toContain('set these variables before you use it:');
    expect(err).toContain(
      `  ${format === 'hcl' ? 'TF_VAR_http_monitor_api_headers_authorization' : 'HTTP_MONITOR_API_HEADERS_AUTHORIZATION'} (svc_http_monitor.api.headers.0.value)\n`,
    );
  });

  test('can be left out with a read token, which may not export them in plain text', async () => {
    const asReader = { SVC_API_TOKEN: source.reader };
    const written = await svc(['export']);
    expect((await svc(['export'], asReader)).out).toBe(written.out);
    const refused = await svc(['export', '--secrets', 'inline'], asReader);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toMatch(
      /^svc: the token of SVC_API_TOKEN may not read \d+ secrets: use a token of scope write/,
    );
    const file = join(folder, 'a');
    expect((await svc(['export', '--secrets-file', file], asReader)).code).toBe(1);
    await expect(stat(file)).rejects.toThrow('ENOENT');
  });

  test('are written to a file that only its owner may read, even if the file existed', async () => {
    const file = join(folder, 'svc.yaml');
    await writeFile(file, '', { mode: 0o644 });
    expect((await svc(['export', '--secrets', 'inline', '--output', file, '--force'])).code).toBe(0);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });
});

describe('the file', () => {
  test('is replaced only on request', async () => {
    const file = join(folder, 'svc.yaml');
    const { out } = await svc(['export']);
    expect(await svc(['export', '--output', file])).toMatchObject({ code: 0, out: '' });
    expect(await readFile(file, 'utf8')).toBe(out);
    const again = await svc(['export', '--output', file, '--format', 'json']);
    expect(again).toMatchObject({ code: 1 });
    expect(again.err).toContain(`cannot write ${file}: the file exists; --force replaces it`);
    expect(await readFile(file, 'utf8')).toBe(out);
  });

  test('leaves no file of secrets behind when it cannot be written', async () => {
    const [file, secrets] = [join(folder, 'taken.yaml'), join(folder, 'left.env')];
    await writeFile(file, 'mine');
    const refused = await svc(['export', '--output', file, '--secrets-file', secrets]);
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringContaining(`cannot write ${file}: the file exists`),
    });
    await expect(stat(secrets)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('is not written when the file of secrets cannot be', async () => {
    const [file, secrets] = [join(folder, 'svc.yaml'), join(folder, 'taken.env')];
    await writeFile(secrets, 'mine');
    for (const output of [['--output', file], []]) {
      const refused = await svc(['export', ...output, '--secrets-file', secrets]);
      expect(refused).toMatchObject({ code: 1, out: '' });
      expect(refused.err).toContain(`cannot write ${secrets}: the file exists; --force replaces it`);
      await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' });
    }
    expect(await readFile(secrets, 'utf8')).toBe('mine');
    for (const [path, force] of [
      [join(folder, 'nowhere/s.env'), []],
      [folder, ['--force']],
    ] as const) {
      const lost = await svc(['export', '--output', file, '--secrets-file', path, ...force]);
      expect(lost).toMatchObject({ code: 1, err: expect.stringContaining(`cannot write ${path}`) });
      await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' });
    }
  });

  test('must not be the file for the secrets', async () => {
    const file = join(folder, 'both.yaml');
    const refused = await svc(['export', '--output', file, '--secrets-file', file, '--force']);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('the same file') });
  });
});

describe('the token', () => {
  test('is the one that npm start generated, when no other is given', async () => {
    await writeFile(join(folder, 'api-token'), `${source.operator}\n`);
    const { code, err } = await svc(['export'], { SVC_API_TOKEN: '', SVC_DATA_DIR: folder });
    expect(code, err).toBe(0);
    expect(err).toContain(`read with the token of ${join(folder, 'api-token')}\n`);
  });

  test('that is refused is named by its origin', async () => {
    const { code, err } = await svc(['export'], { SVC_API_TOKEN: 'not-the-token-of-this' });
    expect(code).toBe(1);
    expect(err).toContain('the token is unknown or revoked');
    expect(err).toContain('the token comes from SVC_API_TOKEN');
    expect(err).not.toContain('not-the-token-of-this');
  });
});

test('warns of what a declaration cannot express', async () => {
  const api = await emptyApi();
  await declare(api, '{ svc_status_page: { p: { title: p, slug: p } } }');
  const environment = { SVC_BASE_URL: api.url, SVC_API_TOKEN: api.operator };
  expect((await svc(['export'], environment)).err).not.toContain('published');
  await api.call('PATCH', '/v1/status-pages/1/appearance', { published: false, theme: 'dark' });
  expect((await svc(['export'], environment)).err).toContain(
    'svc_status_page.p: published is false, theme is dark, latency is none; a declaration cannot contain this',
  );
});

test("the header says which regions of one's own the target needs", async () => {
  const names = ['office-berlin', 'dc-2', 'unused'];
  const api = await startApi({ ownRegions: names.map((id) => ({ id, name: null })) });
  started.push(api);
  const environment = { SVC_BASE_URL: api.url, SVC_API_TOKEN: api.operator };
  expect((await svc(['export'], environment)).out).not.toContain('SVC_EXTRA_REGIONS');
  const regions = ['office-berlin', 'hosta-fra'];
  for (const own of [regions, [...regions, 'dc-2']])
    await api.create('/v1/monitors', { type: 'tcp', ...VALID.svc_tcp_monitor, regions: own });
  const needs = 'the coordinators that take this need in SVC_EXTRA_REGIONS: dc-2, office-berlin';
  for (const format of ['yaml', 'hcl']) {
    const { out } = await svc(['export', '--format', format], environment);
    expect(out.split('\n').slice(0, 2)).toEqual([`# Exported by svc from ${api.url}`, `# ${needs}`]);
  }
  const json = await svc(['export', '--format', 'json'], environment);
  expect(json.err).toContain(`svc: ${needs}\n`);
  expect(JSON.parse(json.out)).toHaveProperty('svc_tcp_monitor');
});

describe('a file that was exported', () => {
  async function exported(api: RunningApi): Promise<string> {
    return (await svc(['export'], { SVC_BASE_URL: api.url, SVC_API_TOKEN: api.operator })).out;
  }

  test('does not take over the resources that it was made from', async () => {
    const api = await emptyApi();
    await api.call('POST', '/v1/monitors', { type: 'tcp', ...VALID.svc_tcp_monitor });
    await declare(api, await exported(api));
    expect((await liveResources(api)).map(({ id }) => id)).toEqual(['1', '2']);
  });

  test('creates a page again once the old one is gone', async () => {
    const api = await emptyApi();
    await api.call('POST', '/v1/status-pages', { title: 'p', slug: 'p' });
    const yaml = await exported(api);
    await expect(declare(api, yaml)).rejects.toMatchObject({
      errors: [{ message: 'svc_status_page.p.slug: another status page has this slug' }],
    });
    await api.call('DELETE', '/v1/status-pages/1');
    await declare(api, yaml);
    expect(await liveResources(api)).toMatchObject([{ answered: { slug: 'p' } }]);
  });
});

describe('as a program', () => {
  const MAIN = join(ROOT, 'packages/cli/src/main.ts');

  async function program(shell: string): Promise<Ran> {
    const child = spawn('/bin/sh', ['-c', shell], {
      env: {
        ...compileCacheOf(ROOT),
        SVC_BASE_URL: source.url,
        SVC_API_TOKEN: source.operator,
        SVC: `${process.execPath} ${MAIN}`,
      },
    });
    const [out, err, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    return { code: code as number, out, err };
  }

  test('writes the same to standard output, and nothing else', async () => {
    const args = ['export', '--format', 'hcl'];
    expect(await program(`$SVC ${args.join(' ')}`)).toEqual(await svc(args));
  });

  test('ends without a message when its output is closed', async () => {
    // `:` ends long before the first output.
    const { err } = await program('{ $SVC export; echo "code $?" >&2; } | :');
    expect(err).not.toContain('EPIPE');
    expect(err).toMatch(/code 0\n$/);
  });

  test('has a special exit code for wrong usage', async () => {
    const { code, out, err } = await program('$SVC export --fromat hcl');
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('did you mean --format?');
  });
});

test('an empty workspace is an empty declaration', async () => {
  const api = await emptyApi();
  const environment = { SVC_BASE_URL: api.url, SVC_API_TOKEN: api.operator };
  const { out, err } = await svc(['export'], environment);
  expect(err).toContain('svc: 0 resources of ');
  await declare(api, out);
});
