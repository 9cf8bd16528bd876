import { expect, test } from 'vitest';
import { freePort } from './support/free-port.ts';

test('no port is given twice in a run: its server may start later, or be away for a while', async () => {
  const ports: number[] = [];
  for (let count = 0; count < 500; count += 1) ports.push(await freePort());
  expect(new Set(ports).size).toBe(ports.length);
});
