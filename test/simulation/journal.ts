import type { JournalledRow, Surroundings } from '@svc/coordinator/evaluation/journal-entry.ts';
import { Windows } from '@svc/coordinator/evaluation/windows.ts';
import type { NewDelivery, NewTransition } from '@svc/coordinator/evaluation/writes.ts';
import { closesIncidents } from '@svc/coordinator/notify/registry.ts';
import type { RecordedBatch } from '@svc/coordinator/store/recording-store.ts';
import { LOOKED_WITHIN_MS, Replay } from '@svc/coordinator/what-if/replay.ts';
import { inOrder, type Step } from '@svc/coordinator/what-if/step.ts';
import { MemoryStore } from './memory-store.ts';
import { monitorOf } from './moves.ts';
import { simulate } from './simulation.ts';
import type { World } from './world.ts';

/** A store that also keeps the journal, and what the evaluation said. */
class JournallingStore extends MemoryStore {
  readonly steps: Step[] = [];
  readonly transitions: NewTransition[] = [];
  readonly deliveries: NewDelivery[] = [];

  override async record(batch: RecordedBatch): Promise<readonly (number | null)[]> {
    const ids = await super.record(batch);
    const { writes } = batch;
    for (const entry of writes.journal) this.steps.push({ entry });
    for (const reported of writes.results) {
      const { result, region, evaluatedAfterMs, evaluatedPlace: place, given } = reported;
      const { slot, outcome, version, attempts } = result;
      if (outcome === 'not_run') continue;
      const row: JournalledRow = {
        ...{ at: slot + evaluatedAfterMs, place, slot, region, outcome, version, attempts, given },
        latency: result.latency ?? null,
        statusCode: result.status_code ?? null,
        errorMessage: result.error_message ?? null,
      };
      this.steps.push({ row });
    }
    this.transitions.push(...writes.transitions);
    this.deliveries.push(...writes.deliveries);
    return ids;
  }
}

/** The changes of status and the alerts of a world, as lines. */
export type Told = { readonly changes: readonly string[]; readonly alerts: readonly string[] };

/**
 * Runs a world, and replays its journal with unchanged settings. Commits take no time where production would look later
 * than replays take into account. Null: the clock was set back so far that the world has no order of instants, and
 * nothing is replayed.
 */
export async function replayed(generated: World): Promise<{ told: Told; again: Told } | null> {
  const world = longestWaitMs(generated) < LOOKED_WITHIN_MS ? generated : { ...generated, commits: null };
  const store = new JournallingStore();
  await simulate(world, store, { isTold: false });
  const steps = store.steps.toSorted(inOrder);
  if (steps.some(isOutOfOrder)) return null;
  const replay = new Replay({
    present: monitorOf(world),
    effort: { timeoutMs: world.timeoutMs, retry: world.retry },
    settings: {},
    closesIncidents,
    beginning: {
      ...{ at: 0, monitor: null, links: [], windows: Windows.NONE, status: 'unknown', since: 0 },
      ...{ incident: null, incidentSince: null, surroundings: firstSurroundings(steps) },
    },
  });
  for (const step of steps) replay.tell(step);
  replay.finish(Number.NEGATIVE_INFINITY);
  return {
    told: {
      changes: store.transitions.map(changeLine),
      // A removed monitor has no replay.
      alerts: store.deliveries
        .filter(({ alert }) => alert.closure !== 'monitor-deleted')
        .map(({ notificationId, alert: { status, at, closure } }) =>
          alertLine({ notificationId, status, statusAt: at, isClosure: closure !== undefined }),
        ),
    },
    again: { changes: replay.changes.map(changeLine), alerts: replay.alerts.map(alertLine) },
  };
}

/** How late something whose time has come is looked at: a commit that is under way comes first. */
function longestWaitMs({ commits }: World): number {
  if (commits === null) return 0;
  return commits.writeMs + commits.answerMs + (commits.stalls > 0 ? commits.stallMs : 0);
}

function firstSurroundings(steps: readonly Step[]): Surroundings {
  for (const step of steps) {
    if ('entry' in step && step.entry.event.is === 'surroundings') return step.entry.event;
  }
  throw new Error('the journal has no surroundings');
}

function isOutOfOrder(step: Step): boolean {
  return 'entry' in step && step.entry.event.is === 'surroundings' && step.entry.event.aheadSlot !== null;
}

function changeLine({ at, from, to, reason }: { at: number; from: string; to: string; reason: string }) {
  return `${at} ${from} → ${to} (${reason})`;
}

type Line = { notificationId: number; status: string; statusAt: number; isClosure: boolean };

function alertLine({ notificationId, status, statusAt, isClosure }: Line) {
  return `${statusAt} channel ${notificationId} ${status}${isClosure ? ', closed' : ''}`;
}
