/**
 * The images of `deploy/container`, built as folders by their own instructions, and started by what they say of
 * themselves: command, user, variables, a read-only root. A container engine is not needed.
 */
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { startConfined, whyNotConfined } from '../../support/deployed/confined.ts';
import { buildDist } from '../../support/deployed/dist.ts';
import {
  buildImages,
  containerfileIn,
  containerOf,
  type Image,
  sizeOf,
} from '../../support/deployed/image.ts';
import { LoopbackNetwork } from '../../support/deployed/machine.ts';
import { ROOT } from '../../support/process.ts';

const reason = whyNotConfined();
const isSkipped = reason !== null && process.env.CI !== 'true';
if (isSkipped) process.stdout.write(`skipped: container images as folders: ${reason}\n`);

let images: ReadonlyMap<string, Image>;
let folder: string;

beforeAll(async () => {
  if (isSkipped) return;
  const dist = await buildDist();
  folder = await mkdtemp(join(tmpdir(), 'svc-images-'));
  images = await buildImages({
    containerfile: containerfileIn(ROOT),
    context: ROOT,
    dist: dist.folder,
    out: folder,
    node: process.execPath,
  });
  return async () => {
    await dist.remove();
    await rm(folder, { recursive: true });
  };
}, 180_000);

function imageOf(name: string): Image {
  const image = images.get(name);
  if (image === undefined) throw new Error(`there is no image ${name}`);
  return image;
}

/** A container of the image; `command` in place of its own. */
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
    expect(sizeOf(root) / 1e6).toBeLessThan(120);
  });

  test.each(['coordinator', 'agent'])('of the %s explains its settings', async (name) => {
    const command = [...imageOf(name).entrypoint, '--help'];
    expect(await outputOf(container(name, { command }))).toMatchObject({
      out: expect.stringContaining('SVC_NATS_URL'),
      errors: '',
      code: 0,
    });
  });

  test('has Node, names, and the authorities of the system', async () => {
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

  test('of the coordinator becomes healthy, and not before', async (context: TestContext) => {
    const network = await LoopbackNetwork.create();
    context.onTestFinished(() => network.close());
    const check = () =>
      outputOf(
        container('coordinator', { command: imageOf('coordinator').healthcheck, networkOf: network.pid }),
      );
    expect(await check()).toMatchObject({ code: 1, errors: expect.stringContaining('ECONNREFUSED') });
  });
});
