/** Ends the coordinator while the database accepts no writes, as on a stalled disk. */
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { System } from '../support/system.ts';

test('a second signal ends the coordinator at once, though its writing thread waits', async () => {
  const system = await System.start({ regions: [], declared: {} });
  onTestFinished(() => system.dispose());
  const other = new DatabaseSync(system.databasePath);
  onTestFinished(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  const writing = fetch(`${system.url}/v1/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${system.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'waits', scope: 'read' }),
  });
  const refused = expect(writing).rejects.toThrow();
  // This request came later and was answered, so the other one is waiting for the lock.
  await system.get('/v1/monitors');
  const ending = system.coordinator.line((line) => line.msg === 'the coordinator is ending');
  const ended = system.coordinator.end('SIGTERM');
  await ending;
  const asked = performance.now();
  process.kill(system.coordinator.pid, 'SIGTERM');
  expect(await ended).toBe('SIGKILL');
  expect(performance.now() - asked).toBeLessThan(1_500);
  await refused;
});
