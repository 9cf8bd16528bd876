/**
 * Sends one table of all refusals through the three doors: the HTTP API,
 * the declared file, and the validation of the Terraform provider over
 * its protocol. Each door must say the same words and point at the place.
 */
import { DEFINITIONS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningApi } from '../support/api.ts';
import { parseDeclaration } from '../support/read-declaration.ts';
import { startApiWithoutLimit } from '../support/terraform/api.ts';
import { decodedBody } from '../support/terraform/configuration.ts';
import { type Diagnostic, errorsIn } from '../support/terraform/diagnostic.ts';
import type { ProtocolClient } from '../support/terraform/protocol-client.ts';
import { servedProvider } from '../support/terraform/served-provider.ts';
import type { ProviderSchema, ResourceSchema } from '../support/terraform/wire-schema.ts';
import { fileOf, placeIn } from './file.ts';
import { type Door, split } from './refusal.ts';
import { REFUSALS } from './table.ts';
import { terraformBodies, terraformPath, wordsOf } from './terraform.ts';

/** The rows for which a door has messages of its own, with these messages. */
const saidBy = (door: Door) =>
  REFUSALS.flatMap((refusal) => {
    const says = refusal.says[door];
    return says instanceof RegExp ? [] : [{ ...refusal, says }];
  });

let api: RunningApi;
let pageId: string;

beforeAll(async () => {
  api = await startApiWithoutLimit();
  const page = await api.call('POST', '/v1/status-pages', { title: 'The page', slug: 'the-page' });
  pageId = (page.body as { id: string }).id;
});
afterAll(() => api.dispose());

test('no secret is repeated, and no row stands twice', () => {
  expect(JSON.stringify(REFUSALS.map(({ says }) => says))).not.toContain('hunter2');
  const rows = REFUSALS.map(({ kind, body }) => JSON.stringify([kind, body]));
  expect(rows.filter((row, index) => rows.indexOf(row) !== index)).toEqual([]);
});

describe('the API', () => {
  const paths: Readonly<Record<ResourceKind, () => string>> = {
    svc_http_monitor: () => '/v1/monitors',
    svc_tcp_monitor: () => '/v1/monitors',
    svc_dns_monitor: () => '/v1/monitors',
    svc_notification: () => '/v1/notifications',
    svc_status_page: () => '/v1/status-pages',
    svc_status_page_component: () => `/v1/status-pages/${pageId}/components`,
    svc_status_page_component_group: () => `/v1/status-pages/${pageId}/component-groups`,
  };

  test.each(saidBy('api'))('$kind with $name', async ({ kind, body, says }) => {
    const answer = await api.call('POST', paths[kind](), { ...DEFINITIONS[kind].constants, ...body });
    const { errors = [] } = answer.body as { errors?: { pointer: string; message: string }[] };
    expect(errors.map(({ pointer, message }) => `${dotted(pointer)}: ${message}`).sort()).toEqual(
      [...says].sort(),
    );
    expect(answer.status).toBe(says.length === 0 ? 201 : 422);
  });
});

/** A JSON pointer (RFC 6901) as tables of this folder write a path. */
function dotted(pointer: string): string {
  const steps = pointer.split('/').slice(1);
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')).join('.');
}

describe('the declared file', () => {
  const sources = { env: {}, readFile: () => '' };

  test.each(saidBy('file'))('$kind with $name', ({ kind, body, says }) => {
    const text = fileOf(kind, body);
    const { errors } = parseDeclaration(text, 'svc.yaml', sources);
    const expected = says.map((said) => {
      const [path, message] = split(said);
      const atKey = /^is (?:unknown|set by the service)/.test(message);
      const where = path === '' ? `${kind}.one` : `${kind}.one.${path}`;
      return {
        file: 'svc.yaml',
        ...placeIn(text, where.split('.'), { atKey }),
        message: `${where}: ${message}`,
      };
    });
    expect(errors.map((error) => ({ ...error }))).toEqual(
      expected.toSorted((a, b) => a.line - b.line || a.column - b.column),
    );
  });
});

describe('the Terraform provider', () => {
  const rows = saidBy('terraform').map((refusal, index) => ({ ...refusal, label: `row_${index}` }));
  const bodies = terraformBodies(rows);
  let provider: ProtocolClient;
  let schemas: ProviderSchema['resources'];

  beforeAll(async () => {
    provider = await servedProvider();
    schemas = (await provider.schema()).resources;
  });
  afterAll(() => provider.close());

  test.each(rows)('$kind with $name', async (row) => {
    const config = decodedBody(bodies[row.kind]?.[row.label] ?? {}, schemas[row.kind] as ResourceSchema);
    const said: readonly Diagnostic[] = errorsIn(await provider.validateResource(row.kind, config));
    const expected = row.says.map(split);
    expect(
      said.map(({ path, detail }, index) => [path, wordsOf(detail, expected[index]?.[1] ?? detail)]),
    ).toEqual(expected.map(([path, message]) => [terraformPath(row, path), message]));
    for (const { summary } of said) expect(summary).toMatch(/^(?:Invalid|Missing) \w/);
  });
});
