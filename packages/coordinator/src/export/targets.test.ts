import { Secret } from '@svc/shared/secret.ts';
import { expect, test } from 'vitest';
import { liveMonitor } from '../../../../test/support/coordinator/dispatch-parts.ts';
import { NO_EXPORT_SETTINGS } from '../../../../test/support/export-settings.ts';
import { targetOf } from './targets.ts';

const ENDPOINT = 'https://otlp.example.com/v1/metrics';
const settings = {
  ...NO_EXPORT_SETTINGS,
  fallback: { url: ENDPOINT, headers: [{ key: 'X-Key', value: 'a' }] },
};

/** The key of the pipeline of a monitor with these headers; null: of one without an endpoint of its own. */
function keyOf(headers: Record<string, string> | null, workspaceId = 1): string | undefined {
  const declaredExport = headers && { endpoint: new Secret(ENDPOINT), headers: new Secret(headers) };
  return targetOf(liveMonitor(1, { declaredExport, workspaceId }), settings)?.key;
}

test('monitors share a pipeline where workspace, endpoint and headers are the same, and not otherwise', () => {
  const key = keyOf({ 'X-Key': 'a', 'X-Tenant': 'b' });
  expect(keyOf({ 'x-tenant': 'b', 'x-key': 'a' })).toBe(key);
  const others = [keyOf({ 'X-Key': 'a' }), keyOf({ 'X-Key': 'a' }, 2), keyOf({ 'X-Key': 'b' }), keyOf(null)];
  expect(new Set([key, ...others]).size).toBe(5);
  expect(keyOf(null, 2)).toBe(keyOf(null));
});
