/**
 * The compose files, by the schema of the Compose Specification. `test/e2e/deployed/` starts the described
 * containers.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KNOWN_VARIABLES } from '@svc/shared/settings/setting-names.ts';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { mergedServices } from '../../test/support/deployed/compose.ts';
import { exampleSettings } from '../hosts/agent-settings.ts';
import { FORMS } from '../hosts/forms.ts';

const ROOT = join(import.meta.dirname, '../..');
/** The schema of the Compose Specification, as a linter for compose files ships it. */
const schema = JSON.parse(
  readFileSync(join(ROOT, 'node_modules/dclint/schemas/compose.schema.json'), 'utf8'),
);
const ajv = new Ajv({ strict: false, allErrors: true });
addFormats.default(ajv);
const isValid = ajv.compile({ ...schema, $schema: undefined });

const textOf = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8');
const fileOf = (name: string): string => join(import.meta.dirname, name);
const OF_REGION = FORMS.compose({ ...exampleSettings('hosta-fra'), ca: 'PEM\n' });

type Service = Record<string, unknown> & { environment?: Record<string, string> };
const servicesOf = (text: string) =>
  (parse(text, { merge: true }) as { services: Record<string, Service> }).services;

test.each([
  ['compose.yaml', textOf('compose.yaml')],
  // The schema does not know the tags of Compose.
  ['large.yaml', textOf('large.yaml').replaceAll('!override ', '')],
  ['agent.yaml', textOf('agent.yaml')],
  ['the file of a region', OF_REGION],
])('%s is valid by the schema', (_, text) => {
  isValid(parse(text, { merge: true }));
  expect(isValid.errors ?? []).toEqual([]);
});

describe.each([
  ['compose.yaml', servicesOf(textOf('compose.yaml'))],
  ['compose.yaml with large.yaml', mergedServices(fileOf('compose.yaml'), fileOf('large.yaml'))],
  ['agent.yaml', servicesOf(textOf('agent.yaml'))],
  ['the file of a region', servicesOf(OF_REGION)],
] as [string, Record<string, Service>][])('%s', (_, services) => {
  test('gives no service a right that it does not need', () => {
    for (const [name, service] of Object.entries(services)) {
      // The preparing container gives the volumes to the user of the other containers, and ends.
      const preparing = { user: '0:0', cap_add: ['CHOWN'], network_mode: 'none', restart: 'no' };
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        ...(name === 'nats-volume' ? preparing : { user: '65532:65532', restart: 'unless-stopped' }),
      });
      if (name !== 'nats-volume') expect(service).not.toHaveProperty('cap_add');
      expect(service).toHaveProperty('mem_limit');
      expect(service).toHaveProperty('pids_limit');
    }
  });

  test('names settings that there are', () => {
    for (const [service, { environment = {} }] of Object.entries(services)) {
      if (service === 'postgres') continue;
      for (const name of Object.keys(environment)) expect(KNOWN_VARIABLES).toContain(name);
    }
  });
});

describe('the large form', () => {
  const services = mergedServices(fileOf('compose.yaml'), fileOf('large.yaml')) as Record<string, Service>;

  test('has parts that differ only where they must', () => {
    const { coordinator, 'coordinator-2': second, nats, 'nats-2': other } = services;
    expect(second).toEqual({ ...coordinator, ports: ['127.0.0.1:8081:8080'] });
    expect(other).toEqual({
      ...nats,
      command: ['nats-server', '--config', '/etc/nats/nats-nats-2.conf'],
      ports: ['4223:4222'],
      volumes: ['./nats:/etc/nats:ro', 'nats-2:/data'],
    });
  });

  test('tells everyone of all NATS servers', () => {
    const clients = Object.entries(services).filter(([name]) => /^(?:agent|coordinator)/.test(name));
    expect(clients).toHaveLength(5);
    for (const [, { environment = {} }] of clients)
      expect(environment.SVC_NATS_URL).toBe('tls://nats:4222,tls://nats-2:4222,tls://nats-3:4222');
  });
});

test('the schema refuses what is misspelt', () => {
  expect(isValid({ services: { a: { image: 'a', read_olny: true } } })).toBe(false);
});
