import {
  kindOfType,
  MONITOR_KINDS,
  MONITOR_TYPES,
  type MonitorKind,
} from '@svc/shared/resources/monitors.ts';
import { failingChannels } from '../../store/links.ts';
import type { ApiParts } from '../api-parts.ts';
import { defineResources, serveResources } from '../collection.ts';
import type { ServedEndpoint } from '../endpoint.ts';
import { invalid } from '../problem.ts';
import { monitorView } from '../views.ts';

/** `http, tcp or dns` */
const NAMED_TYPES = new Intl.ListFormat('en', { type: 'disjunction' })
  .format(MONITOR_TYPES)
  .replace(', or', ' or');

/** Most failing channels that a monitor's warnings name; the others are counted. */
const MOST_NAMED = 10;

export const MONITOR = defineResources('/v1/monitors', {
  tag: 'Monitors',
  kinds: MONITOR_KINDS,
  named: 'name',
  types: MONITOR_TYPES,
  removal:
    'The monitor leaves the channels that it was linked to. While components of status pages show the monitor, the removal is refused (409), unless `cascade` removes them too or `components=keep` leaves them in place. Their `monitor_id` is null then, and pages leave them out.',
  isShown: true,
});

export function monitorEndpoints(parts: ApiParts): ServedEndpoint[] {
  const { store, states, slotNow } = parts;
  return serveResources(
    MONITOR,
    {
      table: 'monitors',
      kindFor: monitorKindOf,
      async present(stored) {
        const ids = stored.map(({ id }) => id);
        const failing = await failingChannels(store, ids, MOST_NAMED);
        const surroundings = { states, failing, now: slotNow() };
        return stored.map((monitor) => monitorView(monitor, surroundings));
      },
    },
    parts,
  );
}

/** The kind of a monitor in a body. @throws Problem `invalid` */
export function monitorKindOf(body: unknown): MonitorKind {
  const type = typeof body === 'object' && body !== null && 'type' in body ? body.type : undefined;
  const known = MONITOR_TYPES.find((candidate) => candidate === type);
  if (known !== undefined) return kindOfType(known);
  const message = type === undefined ? `is required: ${NAMED_TYPES}` : `must be ${NAMED_TYPES}`;
  throw invalid([{ path: ['type'], message }]);
}
