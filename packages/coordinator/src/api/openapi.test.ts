import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { createApiCounters } from './api-parts.ts';

type Json = Record<string, unknown>;

let api: RunningApi;
let document: Json & { paths: Record<string, Record<string, Json>> };

beforeAll(async () => {
  api = await startApi();
  const answer = await api.call('GET', '/v1/openapi.json', undefined, { authorization: '' });
  expect(answer.status).toBe(200);
  document = answer.body as typeof document;
});

afterAll(() => api.dispose());

describe('the OpenAPI document', () => {
  test('has every path of the API with its methods', () => {
    const operations = Object.entries(document.paths).map(
      ([path, methods]) => `${path} ${Object.keys(methods).join(' ')}`,
    );
    expect(operations.sort()).toEqual([
      '/healthz get',
      '/metrics get',
      '/readyz get',
      '/v1/audit get',
      '/v1/components get',
      '/v1/declaration get',
      '/v1/deliveries/{id} get',
      '/v1/deliveries/{id}/retry post',
      '/v1/incidents get post',
      '/v1/incidents/{id} get put delete',
      '/v1/incidents/{id}/acknowledge post',
      '/v1/incidents/{id}/unacknowledge post',
      '/v1/incidents/{incident_id}/updates get post',
      '/v1/incidents/{incident_id}/updates/{id} get put delete',
      '/v1/login-links post',
      '/v1/maintenance-windows get post',
      '/v1/maintenance-windows/{id} get put delete',
      '/v1/maintenance-windows/{id}/end post',
      '/v1/monitor-states get',
      '/v1/monitors get post',
      '/v1/monitors/dry-run post',
      '/v1/monitors/{id} get put delete',
      '/v1/monitors/{id}/check post',
      '/v1/monitors/{id}/deliveries get',
      '/v1/monitors/{id}/mute post',
      '/v1/monitors/{id}/otlp-test post',
      '/v1/monitors/{id}/phases get',
      '/v1/monitors/{id}/results get',
      '/v1/monitors/{id}/series get',
      '/v1/monitors/{id}/summary get',
      '/v1/monitors/{id}/transitions get',
      '/v1/monitors/{id}/unmute post',
      '/v1/monitors/{id}/uptime get',
      '/v1/monitors/{id}/uses get',
      '/v1/monitors/{id}/what-if post',
      '/v1/notifications get post',
      '/v1/notifications/{id} get put delete',
      '/v1/notifications/{id}/deliveries get',
      '/v1/notifications/{id}/retry post',
      '/v1/notifications/{id}/test post',
      '/v1/regions get',
      '/v1/status-pages get post',
      '/v1/status-pages/{id} get put delete',
      '/v1/status-pages/{id}/appearance patch',
      '/v1/status-pages/{id}/arrangement patch',
      '/v1/status-pages/{id}/domain get',
      '/v1/status-pages/{id}/domain/check post',
      '/v1/status-pages/{id}/preview get',
      '/v1/status-pages/{page_id}/component-groups get post',
      '/v1/status-pages/{page_id}/component-groups/{id} get put delete',
      '/v1/status-pages/{page_id}/components get post',
      '/v1/status-pages/{page_id}/components/{id} get put delete',
      '/v1/status-pages/{page_id}/subscribers get',
      '/v1/status-pages/{page_id}/subscribers/{id} delete',
      '/v1/system get',
      '/v1/tokens get post',
      '/v1/tokens/{id} delete',
      '/v1/workspaces get post',
    ]);
  });

  test('also exists as a page without a script or any other resource', async () => {
    const answer = await api.call('GET', '/docs', undefined, { authorization: '' });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    const page = String(answer.body);
    expect(page).not.toMatch(/<script|<link|<img|<iframe|@import|url\(|\ssrc=/);
    const targets = [...page.matchAll(/\shref="([^"]*)"/g)].map(([, target]) => target ?? '');
    expect(targets.filter((target) => !target.startsWith('#'))).toEqual(['/v1/openapi.json']);
    const ids = new Set([...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id));
    expect(targets.filter((target) => target.startsWith('#') && !ids.has(target.slice(1)))).toEqual([]);
  });

  test('the page shows every operation with its parameters, body, answers and an example', async () => {
    const page = String((await api.call('GET', '/docs')).body);
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const { operationId, parameters, requestBody, responses } = operation as {
          operationId: string;
          parameters: { name: string }[];
          requestBody?: object;
          responses: Json;
        };
        const [, section = ''] = page.split(`<section id="${operationId}">`);
        const shown = section.slice(0, section.indexOf('</section>'));
        expect(shown).toContain(`<code>${path}</code>`);
        expect(shown).toContain('curl ');
        for (const { name } of parameters) expect(shown).toContain(`<code>${name}</code>`);
        for (const status of Object.keys(responses)) expect(shown).toContain(status);
        if (requestBody !== undefined) expect(shown).toContain(' -d ');
        if (responses['200'] !== undefined && !['/metrics', '/v1/status-pages/{id}/preview'].includes(path))
          expect(shown).toContain('<summary>Example');
        expect([method, shown.includes('undefined')]).toEqual([method, false]);
      }
    }
    expect(page).toContain('id="svc_http_monitor_input"');
  });

  test('each status in it has its own counter', () => {
    const statuses = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).flatMap((operation) => Object.keys(operation.responses as Json)),
    );
    const counted = Object.keys(createApiCounters().answers);
    expect([...new Set(statuses)].filter((status) => !counted.includes(status))).toEqual([]);
  });

  test('every reference resolves, and every operation has its own id', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(
      ([, path]) => path ?? '',
    );
    expect(references.length).toBeGreaterThan(20);
    for (const reference of new Set(references)) {
      const found = reference
        .split('/')
        .reduce<unknown>((inner, step) => (inner as Json | undefined)?.[step], document);
      expect([reference, typeof found]).toEqual([reference, 'object']);
    }
    const ids = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('bounds, defaults and enums come from the definitions', () => {
    expect(document).toMatchObject({
      openapi: '3.1.0',
      components: {
        schemas: {
          svc_http_monitor_input: {
            required: ['type', 'name', 'url', 'periodicity'],
            additionalProperties: false,
            properties: {
              name: { type: 'string', maxLength: 256 },
              periodicity: { enum: ['30s', '1m', '5m', '10m', '30m', '1h'] },
              timeout: { default: 45_000 },
            },
          },
          svc_http_monitor: { properties: { status: { enum: ['active', 'degraded', 'error', 'unknown'] } } },
        },
      },
    });
  });

  test('a quorum is taken as a number or as text, and answered as text, with the same bounds', () => {
    const texts = { type: 'string', enum: expect.arrayContaining(['majority', 'any', 'all', '1', '28']) };
    const taken = {
      anyOf: [{ anyOf: [{ type: 'number', minimum: 1, maximum: 28 }, texts] }, { type: 'null' }],
    };
    expect(document).toMatchObject({
      components: {
        schemas: {
          svc_http_monitor_input: { properties: { quorum: taken } },
          svc_http_monitor: { properties: { quorum: texts } },
        },
      },
    });
  });

  test('answers have the documented members', async () => {
    const body = { type: 'tcp', name: 'a', uri: 'a.example:1', periodicity: '1m' };
    const { body: answered } = await api.call('POST', '/v1/monitors', body);
    const { components } = document as unknown as {
      components: { schemas: Record<string, { properties: Json; required: string[] }> };
    };
    const documented = components.schemas.svc_tcp_monitor;
    expect(Object.keys(answered as Json).sort()).toEqual(Object.keys(documented?.properties ?? {}).sort());
    expect(Object.keys(answered as Json)).toEqual(expect.arrayContaining(documented?.required ?? ['none']));
  });
});
