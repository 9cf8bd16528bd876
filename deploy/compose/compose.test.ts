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
const FILES = [
  ['compose.yaml', textOf('compose.yaml')],
  ['agent.yaml', textOf('agent.yaml')],
  ['the file of a region', FORMS.compose({ ...exampleSettings('hosta-fra'), ca: 'PEM\n' })],
] as const;

type Service = Record<string, unknown> & { environment?: Record<string, string> };
const servicesOf = (text: string) =>
  Object.entries((parse(text, { merge: true }) as { services: Record<string, Service> }).services);

describe.each(FILES)('%s', (_, text) => {
  test('is valid by the schema', () => {
    isValid(parse(text, { merge: true }));
    expect(isValid.errors ?? []).toEqual([]);
  });

  test('gives no service a right that it does not need', () => {
    for (const [name, service] of servicesOf(text)) {
      // It gives a volume to the user of the others, and ends.
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
    for (const [, { environment = {} }] of servicesOf(text)) {
      for (const name of Object.keys(environment)) expect(KNOWN_VARIABLES).toContain(name);
    }
  });
});

test('the schema refuses what is misspelt', () => {
  expect(isValid({ services: { a: { image: 'a', read_olny: true } } })).toBe(false);
});
