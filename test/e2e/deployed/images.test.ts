/**
 * The images of `deploy/container`, built as folders by their own instructions, and started as they describe
 * themselves: command, user, variables, a read-only root. The test needs no container engine.
 */
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { findNatsServer } from '../../../deploy/local/nats-server.mjs';
import { startConfined, whyNotConfined } from '../../support/deployed/confined.ts';
import { sharedDist } from '../../support/deployed/dist.ts';
import {
  buildImages,
  containerfileIn,
  containerOf,
  type Image,
  sizeOf,
} from '../../support/deployed/image.ts';
import { LoopbackNetwork } from '../../support/deployed/machine.ts';
import { LoggedProcess, ROOT } from '../../support/process.ts';

const reason = whyNotConfined();
const isSkipped = reason !== null && process.env.CI !== 'true';
if (isSkipped) process.stdout.write(`skipped: container images as folders: ${reason}\n`);

let images: ReadonlyMap<string, Image>;
let folder: string;

beforeAll(async () => {
  if (isSkipped) return;
  const dist = await sharedDist();
  folder = await mkdtemp(join(tmpdir(), 'svc-images-'));
  images = await buildImages({
    containerfile: containerfileIn(ROOT),
    context: ROOT,
    dist: dist.folder,
    out: folder,
    node: process.execPath,
  });
  return async () => {
    await rm(folder, { recursive: true });
  };
});

function imageOf(name: string): Image {
  const image = images.get(name);
  if (image === undefined) throw new Error(`there is no image ${name}`);
  return image;
}

/** A container of the image. `command` replaces the image's own command. */
function container(
  name: string,
  options: { environment?: Record<string, string>; command?: readonly string[]; networkOf?: number },
) {
  const image = imageOf(name);
  const { uid, gid } = image;
  return containerOf(
    image,
    { environment: {}, ...options, uid, gid, mounts: [], temporary: ['/tmp', '/data'] },
    '/etc/hosts',
  );
}

async function outputOf(confinement: Parameters<typeof startConfined>[0]) {
  const child = startConfined(confinement);
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    once(child, 'exit'),
  ]);
  return { out, errors, code };
}

describe.skipIf(isSkipped)('an image', () => {
  test.each(['coordinator', 'agent'])('of the %s has no shell, and is small', async (name) => {
    const { root } = imageOf(name);
    expect(await readdir(join(root, 'usr'))).toEqual(['local']);
    await expect(stat(join(root, 'bin'))).rejects.toThrow('ENOENT');
    const megabytes = sizeOf(root) / 1e6;
    process.stdout.write(`image of the ${name}: ${megabytes.toFixed(1)} MB\n`);
    expect(megabytes).toBeLessThan(125);
  });

  test.each(['coordinator', 'agent'])('of the %s explains its settings', async (name) => {
    const command = [...imageOf(name).entrypoint, '--help'];
    expect(await outputOf(container(name, { command }))).toMatchObject({
      out: expect.stringContaining('SVC_NATS_URL'),
      errors: '',
      code: 0,
    });
  });

  test('has Node, resolves names, and has the certificate authorities of the system', async () => {
    const script = `
      const { lookup } = require('node:dns/promises');
      const { getCACertificates } = require('node:tls');
      const fs = require('node:fs');
      lookup('localhost').then(({ address }) => console.log(JSON.stringify({
        address, authorities: getCACertificates('system').length, uid: process.getuid(), groups: process.getgroups(),
        zone: new Date(0).toLocaleString('en', { timeZone: 'Asia/Tokyo', hour: 'numeric' }),
        written: ['/svc/x', '/x', '/tmp/x'].map((path) => { try { fs.writeFileSync(path, ''); return true } catch (e) { return e.code } }),
      })));`;
    const { out, errors } = await outputOf(
      container('agent', { command: ['/usr/local/bin/node', '--use-system-ca', '-e', script] }),
    );
    expect(errors).toBe('');
    const told = JSON.parse(out);
    expect(told).toMatchObject({
      address: expect.stringMatching(/^(?:127\.0\.0\.1|::1)$/),
      uid: 65_532,
      groups: [65_532],
      zone: '9 AM',
      written: ['EROFS', 'EROFS', true],
    });
    expect(told.authorities).toBeGreaterThan(100);
  });

  test.for<Record<string, string>>([
    // A setting of the agent, which is present where both processes share a file of settings.
    { SVC_AGENT_LISTEN: '127.0.0.1:8081' },
    { SVC_LISTEN: '[::]:8080' },
    { SVC_LISTEN: '' },
  ])('of the coordinator becomes healthy with %j, and not before', async (settings, context) => {
    const network = await LoopbackNetwork.create();
    context.onTestFinished(() => network.close());
    const environment = { SVC_NATS_URL: 'nats://127.0.0.1:4222', ...settings };
    const shared = { environment, networkOf: network.pid };
    const check = () =>
      outputOf(container('coordinator', { ...shared, command: imageOf('coordinator').healthcheck }));
    expect(await check()).toMatchObject({ code: 1, errors: expect.stringContaining('ECONNREFUSED') });
    const { path } = await findNatsServer();
    const store = join(folder, `nats-${network.pid}`);
    const nats = await network.start(
      'sh',
      '-c',
      'exec "$0" --addr 127.0.0.1 --jetstream --store_dir "$1" 2>&1',
      path,
      store,
    );
    context.onTestFinished(() => nats.close());
    const coordinator = new LoggedProcess('coordinator', () =>
      startConfined(container('coordinator', shared)),
    );
    context.onTestFinished(async () => {
      await coordinator.end('SIGKILL');
    });
    await coordinator.start();
    await expect.poll(check).toEqual({ code: 0, errors: '', out: '' });
  });

  test('of the agent is healthy where the agent listens nowhere', async () => {
    const command = imageOf('agent').healthcheck;
    const checked = await outputOf(container('agent', { command, environment: { SVC_AGENT_LISTEN: '' } }));
    expect(checked).toEqual({ code: 0, errors: '', out: '' });
  });
});
