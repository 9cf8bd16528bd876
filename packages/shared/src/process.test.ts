import { afterEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { settingsOfProcess } from './process.ts';

afterEach(() => vi.unstubAllEnvs());

test('a process warns of names that nobody knows, and not of those of other processes', () => {
  vi.stubEnv('SVC_REGION', 'hosta-fra');
  vi.stubEnv('SVC_REGOIN', 'hosta-fra');
  vi.stubEnv('SVC_TWILIO_AUTH_TOKEN', 'hush');
  const table = { region: { name: 'SVC_REGION', description: 'a region', schema: z.string() } } as const;
  expect(settingsOfProcess(table)).toEqual({
    values: { region: 'hosta-fra' },
    warnings: ['SVC_REGOIN is not a setting of svc; did you mean SVC_REGION?'],
  });
});
