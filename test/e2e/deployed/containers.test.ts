/**
 * The containers of `deploy/compose` and of `deploy/kubernetes`, from the images
 * of `deploy/container`, started as the files describe: command, variables,
 * user, mounts and a read-only root. The test needs no container engine.
 */
import { execFile, spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, cp, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseEnv, promisify } from 'node:util';
import { beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { parse } from 'yaml';
import { findNatsServer } from '../../../deploy/local/nats-server.mjs';
import { mergedServices } from '../../support/deployed/compose.ts';
import {
  type Confinement,
  type Mount,
  startConfined,
  whyNotConfined,
} from '../../support/deployed/confined.ts';
import { type Dist, sharedDist } from '../../support/deployed/dist.ts';
import { buildImages, containerfileIn, containerOf, type Image } from '../../support/deployed/image.ts';
import { type Container, listedObjects, podOf } from '../../support/deployed/kubernetes.ts';
import { BY_A_PROCESS, LoopbackNetwork } from '../../support/deployed/machine.ts';
import { LoggedProcess, ROOT } from '../../support/process.ts';

const run = promisify(execFile);
const reason = whyNotConfined();
const isSkipped = reason !== null && process.env.CI !== 'true';
if (isSkipped) process.stdout.write(`skipped: the containers of compose and Kubernetes: ${reason}\n`);

const USER = { uid: 65_532, gid: 65_532 };
const REGIONS = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];

let folder: string;
let dist: Dist;
let images: ReadonlyMap<string, Image>;

beforeAll(async () => {
  if (isSkipped) return;
  dist = await sharedDist();
  folder = await mkdtemp(join(tmpdir(), 'svc-containers-'));
  const context = { context: ROOT, dist: dist.folder, out: join(folder, 'images'), node: process.execPath };
  images = await buildImages({ containerfile: containerfileIn(ROOT), ...context });
  return async () => {
    await rm(folder, { recursive: true });
  };
});

/**
 * A container, as a compose file or a manifest describes it. Its mounts are already folders of this machine.
 */
type Described = {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment: Record<string, string>;
  readonly mounts: readonly Mount[];
  /** The user of a service that only prepares something and ends before the others are started. */
  readonly preparesAs?: { readonly uid: number; readonly gid: number };
};

/** A hosts file with the names under which the containers find each other. */
async function hostsFile(): Promise<string> {
  const file = join(folder, 'hosts');
  const others = SERVERS.map(([name, address]) => `${address} ${name}\n`).join('');
  await writeFile(file, `127.0.0.1 localhost svc-nats nats.example.com postgres\n${others}`);
  return file;
}

/**
 * The NATS servers of compose. The containers of the test share one network, so the servers
 * of a cluster listen on addresses of their own there. A single one listens on all.
 */
const SERVERS = [
  ['nats', '127.0.0.11'],
  ['nats-2', '127.0.0.12'],
  ['nats-3', '127.0.0.13'],
] as const;

/**
 * Runs the whole service from containers: a monitor is checked from three regions, and every part ends
 * cleanly.
 */
async function checkService(
  context: TestContext,
  containers: ReadonlyMap<string, Described>,
  network: LoopbackNetwork,
) {
  const hosts = await hostsFile();
  const confinementOf = async ({ image, mounts, environment, command }: Described): Promise<Confinement> => {
    const more = { environment, mounts, temporary: ['/tmp'], networkOf: network.pid, ...USER };
    return containerOf(
      await imageOf(image),
      { ...more, ...(command === undefined ? {} : { command }) },
      hosts,
    );
  };
  // Services that only prepare something run as the user that the file gives to them.
  for (const [name, described] of containers) {
    if (described.preparesAs === undefined) continue;
    const child = startConfined({ ...(await confinementOf(described)), ...described.preparesAs });
    const [said, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')]);
    expect(`${name} ended with ${code}${said}`).toBe(`${name} ended with 0`);
  }
  const isNats = (name: string) => SERVERS.some(([server]) => server === name);
  for (const [name, described] of containers) {
    if (!isNats(name)) continue;
    const nats = startConfined(await confinementOf(described));
    context.onTestFinished(() => void nats.kill('SIGKILL'));
    nats.stderr?.resume();
  }
  const services: LoggedProcess[] = [];
  for (const [name, described] of containers) {
    if (isNats(name) || described.preparesAs !== undefined) continue;
    // The containers of the test share one network, so each agent and coordinator has a port of its own.
    const own = {
      ...(name.startsWith('agent') ? { SVC_AGENT_LISTEN: `127.0.0.1:${8_090 + services.length}` } : {}),
      ...(name === 'coordinator-2' ? { SVC_LISTEN: '127.0.0.1:8081' } : {}),
    };
    const environment = { ...described.environment, ...own };
    const confinement = await confinementOf({ ...described, environment });
    const service = new LoggedProcess(name, () => startConfined(confinement));
    context.onTestFinished(async () => {
      await service.end('SIGKILL');
    });
    services.push(service);
  }
  await Promise.all(services.map((service) => service.start()));

  const data = containers.get('coordinator')?.mounts.find(({ to }) => to === '/data')?.from ?? '';
  const token = (await readFile(join(data, 'api-token'), 'utf8')).trim();
  const ask = async (...args: readonly string[]) =>
    JSON.parse(
      await network.run(
        'curl',
        ...['--silent', '--show-error', '--fail-with-body', '--header', `Authorization: Bearer ${token}`],
        ...['--header', 'Content-Type: application/json', ...args],
      ),
    );
  const monitor = {
    type: 'tcp',
    name: 'NATS',
    uri: 'nats:4222',
    periodicity: '30s',
    active: true,
    regions: REGIONS,
  };
  await ask('--data', JSON.stringify(monitor), 'http://127.0.0.1:8080/v1/monitors');
  const outcomes = async () => {
    const { data } = await ask('http://127.0.0.1:8080/v1/monitors/1/results');
    // On a busy machine an agent may abstain for a while, because it is short of CPU.
    const judged = (data as { region: string; outcome: string; reason: string | null }[]).filter(
      ({ reason }) => reason !== 'agent-starved',
    );
    return [...new Set(judged.map(({ region, outcome }) => `${region} ${outcome}`))].sort();
  };
  await expect.poll(outcomes, BY_A_PROCESS).toEqual(REGIONS.map((region) => `${region} passed`));
  const coordinator = containers.get('coordinator') ?? never('coordinator');
  const command = ['/usr/local/bin/node', '/svc/svc.mjs', 'status'];
  const status = async () => {
    const child = startConfined(await confinementOf({ ...coordinator, command }));
    const [told, [code]] = await Promise.all([text(child.stdout!), once(child, 'exit')]);
    return { told, code };
  };
  await expect.poll(status, BY_A_PROCESS).toEqual({ told: expect.stringContaining('hosta-fra'), code: 0 });
  for (const service of services.reverse()) {
    expect(await service.end('SIGTERM')).toBe(0);
    expect(service.noise).toEqual([]);
  }
}

function never(name: string): never {
  throw new Error(`there is no container ${name}`);
}

/** An image by its name. The image of NATS is a root folder with the NATS server of this machine. */
async function imageOf(name: string): Promise<Image> {
  if (!name.includes('/nats:')) return images.get(name.replace(/^svc-/, '')) ?? never(name);
  natsImage ??= makeNatsImage();
  return natsImage;
}

/**
 * The image is made only once, because a program cannot be executed while it is written for another
 * container.
 */
let natsImage: Promise<Image> | undefined;

async function makeNatsImage(): Promise<Image> {
  const root = join(folder, 'images', 'nats');
  await mkdir(join(root, 'usr/local/bin'), { recursive: true });
  await cp((await findNatsServer()).path, join(root, 'usr/local/bin/nats-server'));
  await cp('/bin/chown', join(root, 'usr/local/bin/chown'), { dereference: true });
  // Debian's programs need the C library.
  const programs = ['nats-server', 'chown'].map((program) => join(root, 'usr/local/bin', program));
  const { stdout } = spawnSync('ldd', programs, { encoding: 'utf8' });
  for (const [, library = ''] of stdout.matchAll(/(?:=> |^\t)(\/\S+) \(/gm))
    await cp(library, join(root, library), { dereference: true });
  return { root, environment: {}, uid: 0, gid: 0, entrypoint: [], healthcheck: [] };
}

/** A volume that the user of the containers may write to, as `fsGroup` makes it. */
async function volume(name: string): Promise<string> {
  const path = await mkdtemp(join(folder, `${name}-`));
  await run('chown', ['65532:65532', path]);
  return path;
}

/**
 * A new named volume as a container engine makes it: with the owner and the mode of the folder that the image
 * has at the place of the mount. If the image has none, it belongs to root.
 */
async function namedVolume(name: string, { root }: Image, place: string): Promise<string> {
  const path = await mkdtemp(join(folder, `${name}-`));
  const found = await stat(join(root, place)).catch(() => null);
  await chmod(path, found === null ? 0o755 : found.mode & 0o7777);
  if (found !== null) await chown(path, found.uid, found.gid);
  return path;
}

async function prepared(kind: 'compose' | 'kubernetes', form: 'small' | 'large' = 'small'): Promise<string> {
  const deploy = join(folder, `${kind}-${form}`);
  await cp(join(ROOT, 'deploy'), deploy, { recursive: true });
  const place = join(deploy, kind);
  const prepare = (...options: string[]) =>
    run('sh', [join(place, 'prepare.sh'), ...options, 'nats.example.com'], {
      env: { ...process.env, SVC_DIST: dist.folder },
    });
  await prepare();
  const kept = [kind === 'compose' ? 'coordinator.env' : 'service/secrets/coordinator.env'];
  const { SVC_NATS_NKEY: key } = await settingsIn(join(place, kept[0] ?? ''));
  // When `prepare.sh` is called again, it keeps the keys. It does so, too, when the small form becomes the
  // large one.
  const options = form === 'large' ? ['--large'] : [];
  await prepare(...options);
  expect(await settingsIn(join(place, kept[0] ?? ''))).toMatchObject({ SVC_NATS_NKEY: key });
  if (form === 'large')
    kept.push(
      ...(kind === 'compose'
        ? ['database/url', 'nats/server.pem']
        : ['large/service/secrets/secret-key', 'large/service/secrets/api-token']),
    );
  const texts = () => Promise.all(kept.map((name) => readFile(join(place, name), 'utf8')));
  const before = await texts();
  await prepare(...options);
  expect(await texts()).toEqual(before);
  return place;
}

const settingsIn = async (path: string): Promise<Record<string, string>> =>
  parseEnv(await readFile(path, 'utf8')) as Record<string, string>;

test.skipIf(isSkipped)('the large form of Kubernetes gets keys, and names for all servers', async () => {
  const place = await prepared('kubernetes', 'large');
  const secrets = join(place, 'large/service/secrets');
  expect(Buffer.from(await readFile(join(secrets, 'secret-key'), 'utf8'), 'base64')).toHaveLength(32);
  const configuration = await readFile(join(secrets, 'nats-svc-nats-1.conf'), 'utf8');
  expect(configuration).toContain('server_name: "svc-nats-1"');
  expect(configuration).toContain('tls://svc-nats-2.svc-nats:6222');
  const certificate = new X509Certificate(await readFile(join(place, 'service/secrets/nats/server.pem')));
  for (const host of ['svc-nats', 'svc-nats-2.svc-nats', 'nats.example.com'])
    expect(certificate.checkHost(host)).toBe(host);
});

describe.skipIf(isSkipped)('the whole service', () => {
  test('runs from the compose file', async (context) => {
    const place = await prepared('compose');
    const services = await servicesIn(join(place, 'compose.yaml'));
    // One agent runs on a machine of its own, with the files that its page tells users to copy.
    await run('cp', [join(place, 'agent-hosta-fra.env'), join(place, 'agent.env')]);
    await run('cp', [join(place, 'nats/ca.pem'), join(place, 'ca.pem')]);
    const { agent } = await servicesIn(join(place, 'agent.yaml'));
    services['agent-hosta-fra'] = agent ?? never('agent');
    await checkService(context, await describedIn(place, services), await networkOf(context));
  });

  test('runs from the compose files of the large form', async (context) => {
    const place = await prepared('compose', 'large');
    const { SVC_NATS_URL } = await settingsIn(join(place, 'agent-hosta-fra.env'));
    expect(SVC_NATS_URL?.split(',')).toEqual(
      [4222, 4223, 4224].map((port) => `tls://nats.example.com:${port}`),
    );
    const network = await networkOf(context);
    for (const [name, address] of SERVERS) {
      const file = join(place, `nats/nats-${name}.conf`);
      await writeFile(file, (await readFile(file, 'utf8')).replaceAll('0.0.0.0', address));
    }
    const database = await network.start(
      process.execPath,
      ...[join(ROOT, 'test/support/deployed/postgres-process.ts'), join(place, 'database/url')],
    );
    context.onTestFinished(() => database.close());
    const services = mergedServices(join(place, 'compose.yaml'), join(place, 'large.yaml'));
    const { postgres: _, ...others } = services as Record<string, Service>;
    await checkService(context, await describedIn(place, others), network);
  });

  test('runs from the manifests', async (context) => {
    const place = await prepared('kubernetes');
    const containers = new Map<string, Described>();
    for (const object of ['service', 'agents'].flatMap((name) => listedObjects(join(place, name)))) {
      const pod = podOf(object);
      const [container] = pod?.containers ?? [];
      if (pod === null || container === undefined) continue;
      const name = object.metadata.name.replace(/^svc-/, '');
      const mounts = await mountsOf(container, pod.volumes, place);
      const command = container.command && [...container.command, ...(container.args ?? [])];
      containers.set(name, {
        image: container.image,
        ...(command === undefined ? {} : { command }),
        environment: await variablesOf(container, place),
        mounts,
      });
    }
    await checkService(context, containers, await networkOf(context));
  });
});

/** The containers of the services of a compose file in the folder `place`. */
async function describedIn(
  place: string,
  services: Readonly<Record<string, Service>>,
): Promise<ReadonlyMap<string, Described>> {
  const containers = new Map<string, Described>();
  const volumes = new Map<string, string>();
  for (const [name, service] of Object.entries(services)) {
    const mounts: Mount[] = [];
    for (const { from, to, isWritable } of (service.volumes ?? []).map(volumeIn)) {
      if (from.startsWith('.')) {
        mounts.push({ from: join(place, from), to, isWritable });
        continue;
      }
      const path = volumes.get(from) ?? (await namedVolume(from, await imageIn(service), to));
      volumes.set(from, path);
      mounts.push({ from: path, to, isWritable });
    }
    const files = await Promise.all((service.env_file ?? []).map((file) => settingsIn(join(place, file))));
    const environment = { ...Object.assign({}, ...files), ...service.environment };
    // A variable of the file gets its default.
    for (const [key, value] of Object.entries<string>(environment)) environment[key] = withDefault(value);
    const [uid = 0, gid = 0] = service.user.split(':').map(Number);
    const preparesAs = service.restart === 'no' ? { preparesAs: { uid, gid } } : {};
    const { image, command } = service;
    containers.set(name, {
      image: withDefault(image),
      ...(command === undefined ? {} : { command }),
      environment,
      mounts,
      ...preparesAs,
    });
  }
  return containers;
}

async function networkOf(context: TestContext): Promise<LoopbackNetwork> {
  const network = await LoopbackNetwork.create();
  context.onTestFinished(() => network.close());
  return network;
}

/** The members of a compose file's service that say how its container is started. */
type Service = {
  readonly image: string;
  readonly user: string;
  readonly restart: string;
  readonly command?: readonly string[];
  readonly environment?: Record<string, string>;
  readonly env_file?: readonly string[];
  readonly volumes?: readonly (string | { source: string; target: string; read_only?: boolean })[];
};

async function servicesIn(file: string): Promise<Record<string, Service>> {
  return (parse(await readFile(file, 'utf8'), { merge: true }) as { services: Record<string, Service> })
    .services;
}

function volumeIn(volume: NonNullable<Service['volumes']>[number]) {
  if (typeof volume !== 'string')
    return { from: volume.source, to: volume.target, isWritable: volume.read_only !== true };
  const [from = '', to = '', mode] = volume.split(':');
  return { from, to, isWritable: mode !== 'ro' };
}

/** Replaces a variable of a compose file by its default, as if it were not set. */
const withDefault = (value: string): string => value.replace(/^\$\{\w+:-(.*)\}$/, '$1');

const imageIn = ({ image }: Service): Promise<Image> => imageOf(withDefault(image));

async function variablesOf(
  { env = [], envFrom = [] }: Container,
  place: string,
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const { secretRef } of envFrom) {
    const name = secretRef.name.replace(/^svc-/, '');
    const folder = name === 'coordinator' ? 'service' : 'agents';
    Object.assign(found, await settingsIn(join(place, folder, 'secrets', `${name}.env`)));
  }
  return { ...found, ...Object.fromEntries(env.map(({ name, value }) => [name, value])) };
}

async function mountsOf(
  { volumeMounts }: Container,
  volumes: readonly { readonly name: string }[],
  place: string,
): Promise<Mount[]> {
  const mounts: Mount[] = [];
  for (const { name, mountPath, subPath } of volumeMounts) {
    if (mountPath === '/tmp') continue;
    const isSecret = volumes.some((one) => one.name === name && 'secret' in one);
    if (!isSecret) {
      mounts.push({ from: await volume(name), to: mountPath, isWritable: true });
      continue;
    }
    // The pod's group may read its secrets.
    const secrets = join(place, 'service/secrets/nats');
    await run('chgrp', ['-R', '65532', secrets]);
    await run('chmod', ['-R', 'g+rX', secrets]);
    mounts.push({ from: subPath === undefined ? secrets : join(secrets, subPath), to: mountPath });
  }
  return mounts;
}
