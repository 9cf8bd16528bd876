/** Ends the coordinator while the database accepts no writes, as on a stalled disk. */
import { expect, onTestFinished, test } from 'vitest';
import { System } from '../support/system.ts';

/** A coordinator whose writing thread waits for a lock. */
async function stalled(): Promise<System> {
  const system = await System.start({ regions: [], declared: {} });
  onTestFinished(() => system.dispose());
  const held = await system.database.hold();
  onTestFinished(() => held.release());
  const writing = fetch(`${system.url}/v1/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${system.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'waits', scope: 'read' }),
  });
  writing.catch(() => {}); // It is rejected when the process ends.
  // This later request is answered, so the first one is waiting for the lock.
  await system.get('/v1/monitors');
  return system;
}

/** Signals the coordinator, and resolves when it has begun to stop. `ended` resolves when it has ended. */
async function signalled({ coordinator }: System): Promise<{ ended: Promise<unknown> }> {
  const ending = coordinator.line((line) => line.msg === 'the coordinator is ending');
  const ended = coordinator.end('SIGTERM');
  await ending;
  return { ended };
}

test('a second signal ends the coordinator at once, though its writing thread waits', async () => {
  const [once, twice] = [await stalled(), await stalled()];
  // The coordinator that gets one signal gets it first. It gives up waiting some seconds later.
  const first = await signalled(once);
  const second = await signalled(twice);
  process.kill(twice.coordinator.pid, 'SIGTERM');
  const earlier = Promise.race([first.ended.then(() => 'once'), second.ended.then(() => 'twice')]);
  expect(await earlier).toBe('twice');
  expect(await second.ended).toBe('SIGKILL');
});
