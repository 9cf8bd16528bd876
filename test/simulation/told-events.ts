import type { SlotEvents } from '@svc/coordinator/domain/slots.ts';
import type { Told } from './told.ts';

/** The events of dispatch, which are also noted for the oracle before `events` takes them. */
export function toldEvents(events: SlotEvents, note: (told: Told) => void): SlotEvents {
  return {
    opened: (monitor, slot, regions) => {
      if (regions.length > 0) note({ is: 'opened', slot, version: monitor.version, regions });
      events.opened(monitor, slot, regions);
    },
    abstained: (monitor, slot, region, reason) => {
      note({ is: 'excused', slot, version: monitor.version, region });
      events.abstained(monitor, slot, region, reason);
    },
    skipped: (monitor, slot, region, reason) => {
      note({ is: 'excused', slot, version: monitor.version, region });
      events.skipped(monitor, slot, region, reason);
    },
  };
}
