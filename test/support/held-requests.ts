import type { ServerResponse } from 'node:http';
import { expect } from 'vitest';
import type { HttpTarget } from './http-target.ts';
import type { LocalService } from './local-service.ts';

type Answer = (response: ServerResponse) => void;

/**
 * From now on the target keeps requests for `heldPath` waiting until they are released. It answers others with 200.
 *
 * An agent gives a request up 130 s after its start, on the service's clock: then the result is `not_run`, whatever the
 * target answers later. The clock runs ten times faster than real time, and while the machine is full, a change of the
 * declaration takes longer than 13 s on a real database. So the clock has the speed of real time while requests are held.
 */
export function holdRequests(service: LocalService, target: HttpTarget, heldPath: string) {
  const held: ServerResponse[] = [];
  let usualScale: number | null = null;
  target.answerWith((response, path) => {
    if (path === heldPath) held.push(response);
    else response.end('ok');
  });
  return {
    /** Resolves when `count` requests are held. */
    async areHeld(count: number): Promise<void> {
      await service.until(() => held.length === count);
      usualScale = service.clock.runAt(1);
    },
    /** Answers one request. */
    releaseOne(answer: Answer): void {
      answer(held.shift() as ServerResponse);
    },
    /** Answers all requests. The clock is fast again. */
    release(answer: Answer): void {
      // The test fails here, because it would wait without end for the result of a request that was given up.
      expect(service.said.get('a probe never settled') ?? 0).toBe(0);
      for (const response of held.splice(0)) answer(response);
      if (usualScale !== null) service.clock.runAt(usualScale);
    },
  };
}
