import { createLogger } from '@svc/shared/log.ts';
import { type RollupParts, Rollups } from '../../../packages/coordinator/src/history/rollups.ts';
import type { Recording } from './recording.ts';

/** The parts of roll-ups over a recording's database. */
export function partsOf({ store, clock }: Recording): RollupParts {
  return {
    store,
    clock,
    slotNow: () => clock.wall(),
    believedNow: () => clock.wall(),
    isCaughtUp: () => true,
    log: createLogger('test', 'silent'),
  };
}

/** The roll-ups over a recording's database, connected with its recorder as in the coordinator. */
export async function rollupsOf(recording: Recording): Promise<Rollups> {
  const rollups = await Rollups.load(partsOf(recording));
  Object.defineProperty(recording.rollups, 'claimedUntil', {
    get: () => rollups.claimedUntil,
    configurable: true,
  });
  return rollups;
}

/** Rolls up everything that is due. */
export async function caughtUp(rollups: Rollups): Promise<void> {
  while (await rollups.step());
}
