import { LIMITS } from '@svc/shared/limits.ts';
import { z } from 'zod';
import type { Mute } from '../../store/incidents/mutes.ts';
import { id, instant } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { instantText } from '../body-members.ts';
import { endpoint, idOf, NO_CONTENT, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { invalid } from '../problem.ts';

const muteView = z
  .object({
    monitor_id: id,
    at: instant.meta({ description: 'When it was set.' }),
    until: instant.meta({ description: 'Its end.' }),
    by: z.string().meta({ description: 'Name of the token that set it.' }),
  })
  .meta({
    examples: [
      {
        monitor_id: '12',
        at: '2026-11-25T09:30:00.000Z',
        until: '2026-11-25T11:30:00.000Z',
        by: 'Ada',
      },
    ],
  });
export type MuteView = z.infer<typeof muteView>;

/** The schema of a mute in the overview of a monitor. */
export const muteOfMonitor = muteView.omit({ monitor_id: true }).nullable().meta({
  description: 'The mute of the monitor, during which its alerts are held. Null while it is not muted.',
});

const DAYS = LIMITS.maintenanceMs / 86_400_000;

const muteBody = z
  .strictObject({
    until: z.iso
      .datetime({ offset: true, error: 'must be an instant as in 2027-01-01T00:00:00Z' })
      .meta({ description: `End of the mute (RFC 3339), in the future, at most ${DAYS} days ahead.` }),
  })
  .meta({ examples: [{ until: '2026-11-25T11:30:00Z' }] });

export const muteMonitor = endpoint({
  method: 'POST',
  path: '/v1/monitors/{id}/mute',
  access: 'write',
  tag: 'Monitors',
  summary: 'Hold the alerts of a monitor until an instant',
  description:
    'Replaces an earlier mute. The monitor is checked, its incidents are recorded, and the time counts for the uptime. When the mute ends, each channel gets the status that the monitor then has, if it differs from the last status that the channel got. Subscribers of status pages get their mails in the meantime.',
  body: muteBody,
  answers: { 200: { description: 'The mute.', schema: muteView } },
});

export const unmuteMonitor = endpoint({
  method: 'POST',
  path: '/v1/monitors/{id}/unmute',
  access: 'write',
  tag: 'Monitors',
  summary: 'End the mute of a monitor now',
  description: 'Alerts that it holds are sent at once. Without a mute, nothing is changed.',
  answers: { 204: { description: 'The monitor is not muted.' } },
});

export function muteEndpoints({
  clock,
  maintenance,
}: Pick<ApiParts, 'clock' | 'maintenance'>): ServedEndpoint[] {
  return [
    serve(muteMonitor, async (request) => {
      const monitorId = idOf(request);
      const until = Date.parse(request.body.until);
      const now = clock.wall();
      if (until <= now || until > now + LIMITS.maintenanceMs) {
        const message = until <= now ? 'must be in the future' : `may be at most ${DAYS} days ahead`;
        throw invalid([{ path: ['until'], message }]);
      }
      const mute = await maintenance.transaction(workspaceOf(request), async (change) => {
        await request.audit.writeLine(change.tx);
        return change.mute({ monitorId, until, by: request.token?.name ?? '' });
      });
      return ok({ monitor_id: String(monitorId), ...muteOf(mute) });
    }),
    serve(unmuteMonitor, async (request) => {
      await maintenance.transaction(workspaceOf(request), async (change) => {
        await change.unmute(idOf(request));
        await request.audit.writeLine(change.tx);
      });
      return NO_CONTENT;
    }),
  ];
}

/** Makes the members of a mute in an answer. */
export function muteOf({ at, until, by }: Mute): Omit<MuteView, 'monitor_id'> {
  return { at: instantText(at), until: instantText(until), by };
}
