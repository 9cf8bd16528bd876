import type { SlotEvents } from '@svc/coordinator/verdict/slots.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { JudgeOfSlots } from './oracle/slots.ts';
import type { Told } from './told.ts';

/**
 * Wraps the events of dispatch: each event is noted for the
 * oracle and judged by `slots`, and then passed to `events`.
 */
export function toldEvents(
  events: SlotEvents,
  note: (told: Told) => void,
  { slots, heldBy }: { slots: JudgeOfSlots; heldBy: (region: Region) => Iterable<number> },
): SlotEvents {
  return {
    opened: (monitor, slot, regions) => {
      slots.opened(monitor, slot, regions, heldBy);
      if (regions.length > 0) note({ is: 'opened', slot, version: monitor.version, regions });
      events.opened(monitor, slot, regions);
    },
    abstained: (monitor, slot, region, reason) => {
      slots.answered(region, slot);
      note({ is: 'excused', slot, version: monitor.version, region });
      events.abstained(monitor, slot, region, reason);
    },
    skipped: (monitor, slot, region) => {
      slots.skipped(monitor, slot, region);
      note({ is: 'excused', slot, version: monitor.version, region });
      events.skipped(monitor, slot, region);
    },
    leftOut: (monitor, slot, regions) => {
      for (const region of regions) slots.answered(region, slot);
      note({ is: 'left-out', slot, version: monitor.version, regions });
      events.leftOut(monitor, slot, regions);
    },
  };
}

/** Describes an input in the story of a failing world. */
export function describeTold(told: Told): string {
  switch (told.is) {
    case 'opened':
      return `slot ${told.slot} is given to ${told.regions.join(', ')}`;
    case 'excused':
      return `${told.region} is excused from slot ${told.slot}`;
    case 'left-out':
      return `slot ${told.slot} is left out in ${told.regions.join(', ')}`;
    case 'reported': {
      const again = told.isOfferedAgain ? ', offered again' : '';
      return `${told.region} reports ${told.result.outcome} about slot ${told.result.slot}${again}`;
    }
    case 'all-resumed':
      return 'dispatch has resumed';
    case 'declared':
      return 'the declaration is applied';
    case 'linked':
      return `channel ${told.channel} is linked`;
    case 'unlinked':
      return `channel ${told.channel} is unlinked`;
    case 'window':
      return `window ${told.number} is ${told.window === null ? 'removed' : 'applied'}`;
  }
}
