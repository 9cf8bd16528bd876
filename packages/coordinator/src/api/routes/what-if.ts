import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import { SvcError } from '@svc/shared/errors.ts';
import { check } from '@svc/shared/messages/check.ts';
import type { LiveMonitor } from '../../domain/monitor.ts';
import { DAY_MS } from '../../domain/summary-range.ts';
import { closesIncidents } from '../../notify/registry.ts';
import { monitorCreatedAt } from '../../store/monitors.ts';
import type { OtherSettings } from '../../what-if/settings.ts';
import type { ApiParts } from '../api-parts.ts';
import { AtOnce, InTurn } from '../at-once.ts';
import { endpoint, idOf, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { invalid, Problem } from '../problem.ts';
import { type WhatIfBody, whatIfAnswer, whatIfBody, whatIfView } from '../what-if-answer.ts';

type Parts = Pick<ApiParts, 'store' | 'monitors' | 'whatIfs' | 'slotNow'>;

/** Most replays of one token that run or wait: it asks for another behind those of the other tokens. */
const REPLAYS_PER_TOKEN = 1;

export const replayMonitor = endpoint({
  method: 'POST',
  path: '/v1/monitors/{id}/what-if',
  access: 'read',
  tag: 'Monitors',
  summary: 'Replay the results of a monitor with other settings, beside what happened',
  description:
    'An estimate: the recorded results go through the evaluation again, in the order of their recording, with fewer retries, another `degraded_at` or fewer regions. Restarts of the coordinator, single late reports and earlier declarations may come out differently than they did. Nothing is changed and nobody is alerted. Replays of a workspace run one after the other; a token may have one that runs or waits.',
  body: whatIfBody,
  answers: { 200: { description: 'What happened, and what would have happened.', schema: whatIfView } },
  problems: ['invalid', 'conflict'],
});

export function whatIfEndpoints({ store, monitors, whatIfs, slotNow }: Parts): ServedEndpoint[] {
  const atOnce = new AtOnce();
  const inTurn = new InTurn<number>();
  return [
    serve(replayMonitor, async (request) => {
      const id = idOf(request);
      const workspaceId = workspaceOf(request);
      const createdAt = await monitorCreatedAt(store, workspaceId, id);
      const present = monitors.get(id);
      if (createdAt === null || present === undefined) {
        throw new Problem('not-found', `there is no monitor ${id}`);
      }
      const { timeout, retry } = check.parse(JSON.parse(present.checkText.reveal()));
      const settings = settingsOf(request.body, { retry, regions: present.regions });
      const until = slotNow();
      const asked = {
        ...{ present, createdAt, settings, until },
        timeoutMs: timeout,
        from: until - request.body.days * DAY_MS,
        closing: CHANNEL_KINDS.filter((kind) => closesIncidents(kind)),
      };
      const bounds = [{ key: String(request.token?.id), most: REPLAYS_PER_TOKEN }];
      const compared = await atOnce.run('replays of the token', bounds, () =>
        inTurn.run(workspaceId, request.signal, () => whatIfs.compare(asked, request.signal).catch(refuse)),
      );
      if (compared !== null) return ok(whatIfAnswer(compared));
      const detail = 'nothing of this monitor can be replayed yet: try again when it was checked for a while';
      throw new Problem('conflict', detail);
    }),
  ];
}

type Declared = Pick<LiveMonitor, 'regions'> & { readonly retry: number };

/** @throws Problem `invalid` */
function settingsOf({ retry, degraded_at, regions }: WhatIfBody, declared: Declared): OtherSettings {
  const mistakes: { path: (string | number)[]; message: string }[] = [];
  if (retry !== null && retry !== undefined && retry > declared.retry) {
    const message = `must be at most ${declared.retry}: no more attempts were made`;
    mistakes.push({ path: ['retry'], message });
  }
  for (const [index, region] of (regions ?? []).entries()) {
    if (declared.regions === null || declared.regions.includes(region)) continue;
    const message = `must be a region of the monitor: ${declared.regions.join(', ')}`;
    mistakes.push({ path: ['regions', index], message });
  }
  if (mistakes.length > 0) throw invalid(mistakes);
  return { retry: retry ?? undefined, degradedAtMs: degraded_at ?? undefined, regions: regions ?? undefined };
}

function refuse(error: unknown): never {
  if (!(error instanceof SvcError)) throw error;
  throw new Problem('unavailable', `the replay cannot be made now: ${error.message}`, {
    headers: { 'retry-after': '5' },
  });
}
