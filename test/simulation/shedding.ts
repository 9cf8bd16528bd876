import type { Shedding } from '@svc/coordinator/checks/scheduler.ts';
import { WORLD_BEGINS } from './moves.ts';
import { die, slotDie } from './probe.ts';
import type { Limit, World } from './world.ts';

/**
 * Skips slots while the limits of the world hold, except first
 * slots. The dice of a region do not depend on other regions.
 */
export function sheddingOf(world: World): Shedding {
  const holding = (slot: number, isOf: (limit: Limit) => boolean) =>
    world.limits.filter(
      (limit) => isOf(limit) && limit.from <= slot - WORLD_BEGINS && slot - WORLD_BEGINS < limit.until,
    );
  return {
    admitsSlot: (_, { slot, isFirst }) =>
      isFirst ||
      holding(slot, ({ regions }) => regions === null).every(
        ({ part }) => slotDie(world, 'limit', slot) < part,
      ),
    admits: (_, { slot, isFirst }, region) =>
      isFirst ||
      holding(slot, ({ regions }) => regions?.includes(region) === true).every(
        ({ part }) => die(world, 'limit', region, slot) < part,
      ),
  };
}
