import { globSync, readFileSync } from 'node:fs';
import { AGENT_SETTINGS } from '@svc/agent/config.ts';
import { COORDINATOR_SETTINGS } from '@svc/coordinator/config.ts';
import { DEFINITIONS, RESOURCE_KINDS } from '@svc/shared/resources/registry.ts';
import { marked, NOT_YET, notYet, SETTINGS_NOT_YET, settingsNotYet } from '@svc/shared/settings/not-yet.ts';
import { KNOWN_VARIABLES } from '@svc/shared/settings/setting-names.ts';
import { describe, expect, test } from 'vitest';

/** Text of every source that reads settings, without the lists of their names. */
const SOURCES = globSync('{packages/*/src,deploy}/**/*.{ts,mjs}', { cwd: new URL('..', import.meta.url) })
  .filter((file) => !/\.test\.ts$|\/(setting-names|not-yet)\.ts$/.test(file))
  .map((file) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'))
  .join('\n');

describe('the list of what has no effect yet', () => {
  test.each([...KNOWN_VARIABLES].filter((name) => !name.endsWith('_FILE')))(
    'tells the truth about %s: nothing reads it, or it is not listed',
    (name) => {
      const isRead = new RegExp(`\\b${name}\\b`).test(SOURCES);
      expect(SETTINGS_NOT_YET.has(name)).toBe(!isRead);
    },
  );

  test('names settings that svc knows, and OpenTelemetry’s, and none that a process reads', () => {
    const read: string[] = [...Object.values(COORDINATOR_SETTINGS), ...Object.values(AGENT_SETTINGS)].map(
      ({ name }) => name,
    );
    for (const name of SETTINGS_NOT_YET.keys()) {
      expect(KNOWN_VARIABLES.has(name) || name.startsWith('OTEL_'), name).toBe(true);
      expect(read).not.toContain(name);
    }
  });

  test('names resources and attributes that there are', () => {
    const attributes = RESOURCE_KINDS.flatMap((kind) => Object.keys(DEFINITIONS[kind].attributes));
    for (const entry of NOT_YET) {
      for (const kind of entry.resources ?? []) expect(RESOURCE_KINDS).toContain(kind);
      for (const name of entry.attributes ?? []) expect(attributes).toContain(name);
    }
  });

  test('marks every definition that it names, and no other', () => {
    const listed = NOT_YET.flatMap((entry) => [...(entry.resources ?? []), ...(entry.attributes ?? [])]);
    for (const kind of RESOURCE_KINDS) {
      const { attributes, description } = DEFINITIONS[kind];
      const texts = Object.entries({ ...attributes, [kind]: { description } });
      for (const [name, { description: text }] of texts) {
        expect(text.includes('Has no effect yet: this version '), `${kind} ${name}`).toBe(
          listed.includes(name),
        );
      }
    }
  });
});

describe('warnings', () => {
  test.each([
    ['svc_tcp_monitor', {}, []],
    ['svc_http_monitor', { otlp_endpoint: 'https://otlp.example.com', otlp_headers: { key: 'secret' } }, []],
    ['svc_status_page', {}, []],
    ['svc_status_page_component', {}, []],
    ['svc_notification', { name: 'Ops' }, []],
  ] as const)('of a %s with %j', (kind, attributes, warnings) => {
    expect(notYet(kind, attributes)).toEqual(warnings);
  });

  test.each([
    [{}, []],
    [{ SVC_MAIL_FROM: 'svc@example.com', SVC_SMTP_URL_FILE: '/run/secrets/smtp' }, []],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a' }, []],
  ])('of the settings %j', (environment, warnings) => {
    expect(settingsNotYet(environment)).toEqual(warnings);
  });

  test('a description without a mark stays as it is', () => {
    expect(marked('name', 'Name.')).toBe('Name.');
  });
});
