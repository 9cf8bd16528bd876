/**
 * The Terraform provider as `npm run build` releases it: its files, and its behaviour when it is installed from
 * them.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { stop } from 'esbuild';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { buildAll } from '../../deploy/build/build-all.ts';
import { sharedBuild } from '../support/built-services.ts';
import { startForwardProxy } from '../support/forward-proxy.ts';
import { openedIn, receiverIn } from '../support/opened.ts';
import { decodedBody } from '../support/terraform/configuration.ts';
import { TERRAFORM, WITHOUT_TERRAFORM } from '../support/terraform/describe-terraform.ts';
import { type PluginCommand, startClient } from '../support/terraform/plugin-process.ts';
import { byDevOverrides, byMirror, TerraformWorkspace } from '../support/terraform/terraform-workspace.ts';
import type { ResourceSchema } from '../support/terraform/wire-schema.ts';
import { TEST_AUTHORITY, TRUSTED } from '../support/tls/certificates.ts';
import { unzip } from '../support/unzip.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const EXECUTABLE = 'terraform-provider-svc_v0.1.0';
const PLATFORMS = ['darwin_amd64', 'darwin_arm64', 'linux_amd64', 'linux_arm64'];
const ZIPS = PLATFORMS.map((platform) => `terraform-provider-svc_0.1.0_${platform}.zip`);

const makesStandalone = process.platform === 'linux' && process.arch === 'x64';
if (!makesStandalone)
  console.warn('standalone provider: it is made on linux-x64 only, its tests are skipped');
if (TERRAFORM === null) console.warn(`installation by Terraform: ${WITHOUT_TERRAFORM}, skipped`);

let dist: string;
const reported: string[] = [];

beforeAll(async () => {
  dist = await mkdtemp(join(tmpdir(), 'svc dist '));
  await buildAll({ root: ROOT, outDir: dist, withStandalone: true, report: (line) => reported.push(line) });
});
// esbuild runs in a process of its own.
afterAll(() => stop());
afterAll(() => rm(dist, { recursive: true }));

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc release '));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

describe('the files', () => {
  test('a release has a zip for each platform, correct checksums, and the manifest of protocol 6', async () => {
    const release = join(dist, 'release');
    const sums = 'terraform-provider-svc_0.1.0_SHA256SUMS';
    const manifest = 'terraform-provider-svc_0.1.0_manifest.json';
    expect((await readdir(release)).sort()).toEqual(['docs', ...ZIPS, manifest, sums].sort());
    const { stdout } = await run('sha256sum', ['--check', '--strict', sums], { cwd: release });
    expect(stdout.match(/: OK$/gm)).toHaveLength(ZIPS.length + 1);
    expect(JSON.parse(await readFile(join(release, manifest), 'utf8'))).toEqual({
      version: 1,
      metadata: { protocol_versions: ['6.0'] },
    });
  });

  test('the release has the pages in the layout of a registry', async () => {
    const docs = join(dist, 'release', 'docs');
    expect((await readdir(docs)).sort()).toEqual(['data-sources', 'guides', 'index.md', 'resources']);
    expect((await readdir(join(docs, 'resources'))).length).toBe(7);
    expect((await readdir(join(docs, 'data-sources'))).length).toBe(4);
  });

  test('the mirror serves Terraform and OpenTofu', async () => {
    for (const host of ['registry.terraform.io', 'registry.opentofu.org']) {
      expect((await readdir(join(dist, 'terraform-mirror', host, 'svc', 'svc'))).sort()).toEqual(ZIPS);
    }
  });

  test('another build makes the same bytes, without the paths of this machine', async () => {
    const { folder: again, said } = await sharedBuild();
    expect(said).toContain('no standalone provider: it was not requested');
    const files = [
      'coordinator.mjs',
      'agent.mjs',
      'svc.mjs',
      'THIRD-PARTY-LICENSES.txt',
      `release/${ZIPS[0]}`,
    ];
    for (const file of [...files, 'terraform-provider/provider.cjs']) {
      const first = await readFile(join(dist, file));
      expect(first.equals(await readFile(join(again, file))), file).toBe(true);
      expect(first.includes(ROOT), file).toBe(false);
    }
  });

  test('the licences of bundled packages are included', async () => {
    const all = await readFile(join(dist, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
    const provider = await readFile(join(dist, 'terraform-provider', 'THIRD-PARTY-LICENSES.txt'), 'utf8');
    expect(all).toMatch(/^undici \S+ \(MIT\)$/m);
    expect(provider).toMatch(/^@grpc\/grpc-js \S+ \(Apache-2\.0\)$/m);
    expect(provider).not.toMatch(/^undici /m);
  });
});

/** An environment without Node: an empty PATH, and an option with which Node would refuse to start. */
const WITHOUT_NODE = { PATH: '/nowhere', NODE_OPTIONS: '--no-such-flag' };

const PACKAGES: {
  name: string;
  isMade: boolean;
  environment: Record<string, string>;
  command(): Promise<PluginCommand>;
}[] = [
  {
    name: 'launcher and bundle',
    isMade: true,
    environment: { SVC_TERRAFORM_NODE: process.execPath, NODE_OPTIONS: '--no-such-flag' },
    command: async () => ({ file: join(dist, 'terraform-provider', EXECUTABLE), args: [] }),
  },
  {
    name: 'standalone',
    isMade: makesStandalone,
    environment: WITHOUT_NODE,
    command: async () => ({ file: await unpackedStandalone(), args: [] }),
  },
];

let unpacking: Promise<string> | null = null;

function unpackedStandalone(): Promise<string> {
  unpacking ??= (async () => {
    const [zip] = (await readdir(join(dist, 'release-standalone'))).filter((name) => name.endsWith('.zip'));
    const folder = join(dist, 'standalone');
    await mkdir(folder);
    for (const { name, content, mode } of unzip(await readFile(join(dist, 'release-standalone', zip!)))) {
      await writeFile(join(folder, name), content, { mode: Number.parseInt(mode.slice(-3), 8) });
    }
    return join(folder, EXECUTABLE);
  })();
  return unpacking;
}

describe.each(PACKAGES.filter(({ isMade }) => isMade))('$name', ({ environment, command }) => {
  /** The provider's diagnostics when it reads a monitor. */
  async function readMonitor(baseUrl: string, further: Record<string, string> = {}) {
    const client = await startClient(await command(), { ...environment, ...further });
    onTestFinished(() => client.close());
    const { provider, dataSources } = await client.schema();
    await client.configure(decodedBody({ base_url: baseUrl, api_token: 'token' }, provider));
    const monitor = decodedBody({ id: '1' }, dataSources.svc_monitor as ResourceSchema);
    const diagnostics = await client.readData('svc_monitor', monitor);
    return diagnostics.map(({ summary, detail }) => `${summary}\n${detail}`).join('\n');
  }

  test('reaches the API through the proxy that HTTP_PROXY names, except hosts that NO_PROXY names and this machine', async (context) => {
    const opened = openedIn(context);
    const api = await receiverIn(opened);
    api.answerWith((_request, response) => response.writeHead(401).end());
    const proxy = await startForwardProxy(Number(new URL(api.url).port));
    opened.push(proxy);
    const settings = { HTTP_PROXY: proxy.url, NO_PROXY: '0.0.0.0' };

    await readMonitor('http://svc.example', settings);
    expect(proxy.asked).toEqual(['http://svc.example/v1/monitors/1']);
    expect(api.requests.map(({ headers }) => headers.host)).toEqual(['svc.example']);

    // This address is not in the loopback range, but leads to this machine.
    const named = api.url.replace('127.0.0.1', '0.0.0.0');
    for (const direct of [named, api.url]) await readMonitor(direct, settings);
    expect(api.requests.map(({ headers }) => `http://${headers.host}`).slice(1)).toEqual([named, api.url]);
    expect(proxy.asked).toHaveLength(1);
  });

  /** An API that answers 401 over TLS, and the requests that it got. */
  async function startSecureApi() {
    const asked: (string | undefined)[] = [];
    const api = createServer(TRUSTED, (request, response) => {
      asked.push(request.url);
      response.writeHead(401).end();
    });
    await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void api.close());
    return { port: (api.address() as AddressInfo).port, asked };
  }

  async function trustedFile(): Promise<string> {
    const file = join(await temporaryFolder(), 'trusted.pem');
    await writeFile(file, TEST_AUTHORITY);
    return file;
  }

  test('reaches an API with TLS through a tunnel of the proxy that HTTPS_PROXY names', async (context) => {
    const opened = openedIn(context);
    const { port, asked } = await startSecureApi();
    const proxy = await startForwardProxy(port);
    opened.push(proxy);
    const settings = { HTTPS_PROXY: proxy.url, SSL_CERT_FILE: await trustedFile() };
    await readMonitor(`https://secure.test:${port}`, settings);
    expect(asked).toEqual(['/v1/monitors/1']);
    await readMonitor(`https://localhost:${port}`, settings);
    expect(asked).toHaveLength(2);
    expect(proxy.asked).toEqual([`secure.test:${port}`]);
  });

  test('trusts the certificates that the system trusts, and no others', async () => {
    const { port, asked } = await startSecureApi();
    const url = `https://localhost:${port}`;

    expect(await readMonitor(url)).toContain('certificate');
    expect(asked).toEqual([]);
    await readMonitor(url, { SSL_CERT_FILE: await trustedFile() });
    expect(asked).toEqual(['/v1/monitors/1']);
  });
});

describe.skipIf(TERRAFORM === null)('installed by Terraform', () => {
  async function workspaceOf(
    installation: Parameters<typeof TerraformWorkspace.open>[1],
    environment: Record<string, string> = {},
  ): Promise<TerraformWorkspace> {
    const provider = { base_url: 'http://127.0.0.1:1', api_token: 'token' };
    const workspace = await TerraformWorkspace.open(TERRAFORM ?? '', installation, { provider, environment });
    onTestFinished(() => workspace.dispose());
    await workspace.configure({});
    return workspace;
  }

  async function resourcesOf(workspace: TerraformWorkspace): Promise<string[]> {
    const { stdout, stderr } = await workspace.run('providers', 'schema', '-json', '-no-color');
    if (stdout === '') throw new Error(stderr);
    const { provider_schemas: schemas } = JSON.parse(stdout);
    return Object.keys(schemas['registry.terraform.io/svc/svc'].resource_schemas).sort();
  }

  const RESOURCES = [
    'svc_dns_monitor',
    'svc_http_monitor',
    'svc_notification',
    'svc_status_page',
    'svc_status_page_component',
    'svc_status_page_component_group',
    'svc_tcp_monitor',
  ];

  test('from the mirror with "~> 0.1", under the checksum that the build printed', async () => {
    const workspace = await workspaceOf(byMirror(join(dist, 'terraform-mirror'), '~> 0.1'));
    expect(await workspace.run('init')).toMatchObject({ code: 0 });
    const lock = await readFile(join(workspace.folder, '.terraform.lock.hcl'), 'utf8');
    const [h1 = 'none'] =
      /h1:\S+=/.exec(reported.find((line) => line.startsWith('terraform-mirror/')) ?? '') ?? [];
    expect(lock).toContain(`"${h1}"`);
    expect(await resourcesOf(workspace)).toEqual(RESOURCES);
  });

  test.each([
    ['no Node at all', async () => '/bin'],
    ['an older one', async () => [dirname(await olderNode()), '/bin'].join(delimiter)],
  ])('from the mirror on the machine that made it, with %s on PATH and nothing set', async (_, path) => {
    const installation = byMirror(join(dist, 'terraform-mirror'), '~> 0.1');
    const workspace = await workspaceOf(installation, { PATH: await path(), SVC_TERRAFORM_NODE: '' });
    expect(await workspace.run('init')).toMatchObject({ code: 0 });
    expect(await resourcesOf(workspace)).toEqual(RESOURCES);
  });

  test('a version that does not exist is refused', async () => {
    const workspace = await workspaceOf(byMirror(join(dist, 'terraform-mirror'), '~> 0.2'));
    expect(await workspace.run('init')).toMatchObject({ code: 1 });
  });

  test('from its folder by dev_overrides', async () => {
    const workspace = await workspaceOf(byDevOverrides(join(dist, 'terraform-provider')));
    expect(await resourcesOf(workspace)).toEqual(RESOURCES);
  });

  test.skipIf(!makesStandalone)('from the standalone mirror, where there is no Node', async () => {
    const installation = byMirror(join(dist, 'terraform-mirror-standalone'), '~> 0.1');
    const workspace = await workspaceOf(installation, { ...WITHOUT_NODE, SVC_TERRAFORM_NODE: '' });
    expect(await workspace.run('init')).toMatchObject({ code: 0 });
    expect(await resourcesOf(workspace)).toEqual(RESOURCES);
  });

  test.each([
    ['there is no Node', async () => '/nowhere/node', 'there is no "/nowhere/node"'],
    ['Node is too old', olderNode, 'is v20.19.0'],
  ])('says to its user that %s', async (_, node, complaint) => {
    const installation = byDevOverrides(join(dist, 'terraform-provider'));
    const workspace = await workspaceOf(installation, { SVC_TERRAFORM_NODE: await node() });
    const { stderr } = await workspace.run('providers', 'schema', '-json', '-no-color');
    expect(stderr.replaceAll(/[\s│]+/g, ' ')).toMatch(/The svc provider needs Node.js 24 or newer, .*/);
    expect(stderr.replaceAll(/[\s│]+/g, ' ')).toContain(complaint);
  });
});

/** A program that claims to be an older Node. */
async function olderNode(): Promise<string> {
  const folder = await temporaryFolder();
  const pretence = join(folder, 'pretence.cjs');
  await writeFile(
    pretence,
    `Object.defineProperty(process, 'versions', { value: { node: '20.19.0' } });
     Object.defineProperty(process, 'version', { value: 'v20.19.0' });`,
  );
  const node = join(folder, 'node');
  await writeFile(node, `#!/bin/sh\nexec "${process.execPath}" --require "${pretence}" "$@"\n`, {
    mode: 0o755,
  });
  return node;
}
