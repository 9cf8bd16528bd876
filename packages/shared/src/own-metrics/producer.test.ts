import { expect, test } from 'vitest';
import { INSTRUMENT_GROUPS } from '../metrics/registry.ts';
import { otlpName } from './producer.ts';

test.each([
  ['svc_agent_attempts_total', null, 'svc_agent_attempts', ''],
  ['process_cpu_seconds_total', 'seconds', 'process_cpu', 's'],
  ['svc_database_bytes', 'bytes', 'svc_database', 'By'],
  ['svc_agents', null, 'svc_agents', ''],
] as const)('%s in %s is %s in %s', (name, unit, otlp, ucum) => {
  expect(otlpName({ name, unit })).toEqual({ name: otlp, unit: ucum });
});

/**
 * The name that receivers make for Prometheus, by OpenTelemetry's specification
 * (compatibility, read on 2026-11-22).
 */
function translated({ name, unit }: { name: string; unit: string }, isCounter: boolean): string {
  const suffix = { s: '_seconds', By: '_bytes' }[unit] ?? '';
  return `${name}${suffix}${isCounter ? '_total' : ''}`;
}

test('receivers that translate names get the names of /metrics, each once', () => {
  const instruments = INSTRUMENT_GROUPS.flatMap((group) => group.instruments);
  for (const instrument of instruments) {
    expect(translated(otlpName(instrument), instrument.kind === 'counter')).toBe(instrument.name);
  }
  const keys = instruments.map((instrument) => JSON.stringify(otlpName(instrument)));
  expect(new Set(keys).size).toBe(keys.length);
});
