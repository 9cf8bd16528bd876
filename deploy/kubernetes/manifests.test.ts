/**
 * The manifests, by the schemas of Kubernetes and by kustomize as far as
 * kubectl is installed. `test/e2e/deployed/` starts the described pods.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { KNOWN_VARIABLES } from '@svc/shared/settings/setting-names.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import {
  type KubernetesObject,
  listedObjects,
  objectsIn,
  podOf,
} from '../../test/support/deployed/kubernetes.ts';
import { findProgram } from '../../test/support/real-dns-server.ts';
import { exampleSettings } from '../hosts/agent-settings.ts';
import { FORMS } from '../hosts/forms.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');

const OBJECTS: [name: string, KubernetesObject][] = [
  ...['service', 'agents'].flatMap((folder) => listedObjects(join(import.meta.dirname, folder))),
  ...objectsIn(readFileSync(join(import.meta.dirname, 'large/migrate-store.yaml'), 'utf8')),
  ...objectsIn(FORMS.kubernetes({ ...exampleSettings('hosta-ams'), ca: 'PEM\n' })),
].map((object) => [`${object.kind} ${object.metadata.name}`, object]);

/** The class of an object's kind, which validates by Kubernetes' own OpenAPI document. */
async function modelOf({ apiVersion, kind }: KubernetesObject) {
  const module = (await import(`kubernetes-models/${apiVersion}`)) as Record<
    string,
    new (
      data: object,
    ) => { validate(): void }
  >;
  const model = module[kind];
  if (model === undefined) throw new Error(`Kubernetes has no ${kind} in ${apiVersion}`);
  return model;
}

test('requests reach the coordinator even while its database or NATS is away', () => {
  const [, coordinator] = OBJECTS.find(([name]) => name === 'StatefulSet svc-coordinator') ?? [];
  const [container] = (coordinator && podOf(coordinator)?.containers) ?? [];
  expect(container).toMatchObject({ readinessProbe: { httpGet: { path: '/healthz' } } });
});

async function expectValid(object: KubernetesObject): Promise<void> {
  const Model = await modelOf(object);
  expect(() => new Model(object).validate()).not.toThrow();
}

function expectNoRights(object: KubernetesObject): void {
  const pod = podOf(object);
  if (pod === null) return;
  expect(pod).toMatchObject({
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 65_532,
      seccompProfile: { type: 'RuntimeDefault' },
    },
  });
  for (const container of pod.containers) {
    expect(container).toMatchObject({
      ...(object.kind === 'Job' ? {} : { livenessProbe: {}, readinessProbe: {} }),
      resources: { requests: {}, limits: { memory: expect.any(String) } },
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
    });
    // POD_NAME is no setting of svc: the command line of the NATS server contains the name of its pod.
    for (const { name } of container.env ?? [])
      if (name !== 'POD_NAME') expect(KNOWN_VARIABLES).toContain(name);
  }
}

describe.each(OBJECTS)('%s', (_, object) => {
  test('is valid by the schema of its kind', () => expectValid(object));
  test('runs its containers without rights', () => expectNoRights(object));
});

test('the schemas refuse a wrong type', async () => {
  const object = OBJECTS.map(([, one]) => one).find(({ kind }) => kind === 'Deployment')!;
  const Model = await modelOf(object);
  expect(() => new Model({ ...object, spec: { replicas: 'two' } }).validate()).toThrow();
});

/**
 * The validators accept unknown members. The API server also accepts them, with a warning. The types do not.
 */
test('no member is misspelt', async () => {
  const folder = await mkdtemp(join(ROOT, 'node_modules/.cache/svc-manifests-'));
  try {
    const check = (name: string, objects: readonly KubernetesObject[]) =>
      misspelt(folder, name, objects).then(
        () => '',
        (error: { stdout: string }) => error.stdout,
      );
    expect(
      await check(
        'all',
        OBJECTS.map(([, object]) => object),
      ),
    ).toBe('');
    const wrong = objectsIn('apiVersion: v1\nkind: Namespace\nmetadata: { name: a, lables: {} }');
    expect(await check('wrong', wrong)).toMatch(/lables.* does not exist/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

async function misspelt(folder: string, name: string, objects: readonly KubernetesObject[]): Promise<void> {
  const lines = objects.map(({ apiVersion, ...object }) => {
    const type = `import('kubernetes-models/${apiVersion}').I${object.kind}`;
    return `(${JSON.stringify({ apiVersion, ...object })}) satisfies ${type};`;
  });
  await writeFile(join(folder, `${name}.ts`), lines.join('\n'));
  const options = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--types',
    '',
    '--ignoreConfig',
  ];
  await run(process.execPath, [
    join(ROOT, 'node_modules/typescript/bin/tsc'),
    ...options,
    join(folder, `${name}.ts`),
  ]);
}

describe('names that belong together', () => {
  const objects = OBJECTS.map(([, object]) => object);
  const secrets = [
    'svc-nats',
    'svc-coordinator',
    // A command of README.md makes this secret.
    'svc-migrate-store',
    ...objects.filter(({ kind }) => kind === 'Secret').map(nameOf),
  ];

  test('the secrets that pods use are made by a kustomization or beside them', async () => {
    for (const folder of ['service', 'agents']) {
      const text = await readFile(join(import.meta.dirname, folder, 'kustomization.yaml'), 'utf8');
      for (const [, name] of text.matchAll(/- name: (\S+)/g)) secrets.push(name ?? '');
    }
    const used = objects.flatMap((object) => [
      ...JSON.stringify(object).matchAll(/"secret(?:Name|Ref)":(?:"([^"]+)"|\{"name":"([^"]+)"\})/g),
    ]);
    expect(used.length).toBeGreaterThan(5);
    for (const [, byVolume, byVariable] of used) expect(secrets).toContain(byVolume ?? byVariable);
  });

  test('services and policies select pods that there are', () => {
    const labels = objects.flatMap((object) =>
      podOf(object) === null ? [] : [object.metadata.labels?.['app.kubernetes.io/name']],
    );
    const selected = [
      ...JSON.stringify(objects).matchAll(
        /"(?:selector|matchLabels)":\{"app\.kubernetes\.io\/name":"([^"]+)"/g,
      ),
    ];
    expect(selected.length).toBeGreaterThan(8);
    for (const [, name] of selected) expect(labels).toContain(name);
  });
});

const nameOf = ({ metadata }: KubernetesObject): string => metadata.name;

const kubectl = findProgram('kubectl');
if (kubectl === null) process.stdout.write('skipped: kustomize by kubectl, which is not installed\n');

describe.skipIf(kubectl === null)('kustomize', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-kustomize-'));
    await cp(import.meta.dirname, folder, { recursive: true });
    const files = {
      'service/secrets/nats': ['nats.conf', 'accounts.conf', 'ca.pem', 'server.pem', 'server-key.pem'],
      'service/secrets': ['coordinator.env'],
      'large/service/secrets': [
        ...[0, 1, 2].map((number) => `nats-svc-nats-${number}.conf`),
        ...['database-url', 'secret-key', 'api-token'],
      ],
      'agents/secrets': ['hosta-fra', 'hostb-par', 'hostc-us-east4'].map((region) => `agent-${region}.env`),
    };
    for (const [path, names] of Object.entries(files)) {
      await mkdir(join(folder, path), { recursive: true });
      for (const name of names) await writeFile(join(folder, path, name), 'SVC_NATS_NKEY=key\n');
    }
    return () => rm(folder, { recursive: true });
  });

  test.each([
    ['service', 2],
    ['agents', 3],
  ])('makes everything of %s, in its namespace', async (name, generated) => {
    const made = await madeOf(name);
    const listed = listedObjects(join(import.meta.dirname, name));
    const secrets = made.filter(({ kind }) => kind === 'Secret');
    expect(made).toHaveLength(listed.length + secrets.length);
    expect(secrets).toHaveLength(generated);
    for (const { kind, metadata } of made) if (kind !== 'Namespace') expect(metadata.namespace).toBe('svc');
  });

  const madeOf = async (name: string): Promise<KubernetesObject[]> => {
    const { stdout } = await run(kubectl ?? '', ['kustomize', join(folder, name)]);
    return parseAllDocuments(stdout).map((document) => document.toJS() as KubernetesObject);
  };

  test('makes the large form, valid and without rights', async () => {
    const made = [...(await madeOf('large/service')), ...(await madeOf('large/agents'))];
    for (const object of made) {
      await expectValid(object);
      expectNoRights(object);
    }
    const named = (kind: string, name: string) =>
      made.find((object) => object.kind === kind && object.metadata.name === name);
    expect(Object.keys((named('Secret', 'svc-nats') as { data?: object } | undefined)?.data ?? {})).toEqual(
      expect.arrayContaining(['accounts.conf', 'nats-svc-nats-0.conf', 'nats-svc-nats-2.conf']),
    );
    expect(named('Service', 'svc-nats')).toMatchObject({ spec: { clusterIP: 'None' } });
    for (const [name, replicas] of [
      ['svc-coordinator', 2],
      ['svc-nats', 3],
    ] as const) {
      expect(named('StatefulSet', name)).toMatchObject({ spec: { replicas } });
      expect(named('PodDisruptionBudget', name)).toMatchObject({ spec: { maxUnavailable: 1 } });
    }
    const servers = [0, 1, 2].map((number) => `tls://svc-nats-${number}.svc-nats:4222`).join(',');
    const clients = made
      .flatMap((object) => podOf(object)?.containers ?? [])
      .filter(({ name }) => name !== 'nats');
    expect(clients).toHaveLength(4);
    for (const { env } of clients) expect(env).toContainEqual({ name: 'SVC_NATS_URL', value: servers });
  });
});
