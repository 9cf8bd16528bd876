import { z } from 'zod';
import { runResult } from './check-result.ts';
import { messageVersion } from './subjects.ts';

/**
 * Interval of heartbeats, ms. An agent counts as gone half a second after {@link HEARTBEATS_MISSED} intervals
 * without a heartbeat, and one interval sooner if an agent with the same id has started since.
 */
export const HEARTBEAT_INTERVAL_MS = 2_000;
export const HEARTBEATS_MISSED = 3;

/**
 * Maximum size of a message of an agent, bytes. The texts of a `run_outcome` have 37,000 characters at most.
 */
export const MAX_AGENT_MESSAGE_BYTES = 576 * 1_024;
/**
 * Maximum number of agents of a region. Further agents are counted, and the coordinator does not use them.
 */
export const MAX_AGENTS_PER_REGION = 1_000;
/**
 * Maximum number of heartbeats of a region that NATS keeps, one for each start of an agent. It is larger than
 * the maximum number of agents, so that the coordinator notices a region with too many agents.
 */
export const MAX_KEPT_HEARTBEATS = MAX_AGENTS_PER_REGION + 100;
/** Maximum size of a heartbeat with its headers, bytes. Most heartbeats have about 500 bytes. */
export const MAX_HEARTBEAT_BYTES = 4 * 1_024;
/** What to do when NATS stores no heartbeats of a region, because no coordinator has made the region's stream. */
export const UNSTORED_TODO =
  'start the coordinator; if it runs, correct SVC_REGION, or name the region in SVC_EXTRA_REGIONS of the coordinator';

const agentId = z.string().min(1).max(128);

/** Random id that an agent chooses at its start. It distinguishes agents with the same agent id. */
const bootId = z.string().regex(/^[\w-]{1,64}$/);

/**
 * Maximum number of names of capabilities, and of faults, in a heartbeat. The names are bounded texts,
 * because an agent of another version may send names that this version does not know.
 */
const MAX_NAMES = 32;
const nameOfOthers = z.string().max(64);

/** Faults that an agent may find in itself. None of them is ever a verdict about a target. */
export const SICKNESSES = [
  /**
   * The agent's own network is down, for IPv4, IPv6 or both (see `NetworkWatch.isDown`). Either the reference
   * hosts outside the machine stopped answering and at least one target is cut off, or several targets are cut
   * off, at least one of them within the last ten seconds. A target is cut off, for example, when this machine
   * has no route to it.
   */
  'network-down',
  /** The agent waits for a CPU: for a large part of the time, or so that it had to void an attempt. */
  'starved',
] as const;
export type Sickness = (typeof SICKNESSES)[number];

/**
 * The message on `svc.heartbeats.<region>.<boot>`. An agent sends it every 2 s, and at once after each
 * connection.
 */
export const heartbeat = z.object({
  v: messageVersion,
  kind: z.literal('heartbeat'),
  agent: agentId,
  boot: bootId,
  version: z.string().max(64),
  /** Attempts that the agent can run at once. */
  capacity: z.number().int().positive(),
  /** Attempts in progress. */
  running: z.number().int().nonnegative(),
  /** Number of jobs that the agent holds: no result yet, or one other than `not_run` that is not acknowledged. */
  held: z.number().int().nonnegative(),
  /**
   * Numbers of checks that began or were refused since the last heartbeat (absent: none). `begun` counts all
   * of these checks. `late` counts checks that began more than 250 ms late or were refused. `behind` counts
   * checks that waited for more than 5 s or were refused for lack of room. A check whose job says `slow`
   * counts only when the agent had no room for its job.
   */
  begun: z.number().int().nonnegative().optional(),
  late: z.number().int().nonnegative().optional(),
  behind: z.number().int().nonnegative().optional(),
  /** Largest event-loop delay since the last heartbeat, ms. */
  loop_delay_ms: z.number().nonnegative(),
  /** Wall clock of the agent, epoch ms. It shows whether the agent's clock is wrong. */
  clock: z.number().int(),
  started_at: z.number().int(),
  /** Whether the agent takes no new jobs because it ends soon. */
  draining: z.boolean(),
  /** Name of the agent's host, for people. */
  machine: z.string().max(255).optional(),
  /** Faults that the agent finds in itself (absent: none). The reader ignores names that it does not know. */
  sick: z.array(nameOfOthers).max(MAX_NAMES).optional(),
  /**
   * Number of batches of results since the agent's start that the stream treated as repetitions
   * although they were new. Such a batch means that another client tampers with the stream.
   */
  disowned: z.number().int().nonnegative().optional(),
  /**
   * Names of capabilities that the agent has in addition to these messages (absent: none). No capability
   * exists yet. A coordinator uses a capability in a region only if every agent of the region announced it,
   * because any of these agents may get the next batch.
   */
  understands: z.array(nameOfOthers).max(MAX_NAMES).optional(),
});
export type Heartbeat = z.infer<typeof heartbeat>;

/** The faults that the agent finds in itself, without names that this version does not know. */
export function sicknessesOf({ sick = [] }: Pick<Heartbeat, 'sick'>): readonly Sickness[] {
  return SICKNESSES.filter((each) => sick.includes(each));
}

/** Message on `svc.runs.<region>.<run>`: the agent's answer to `run_now`. */
export const runOutcome = z.object({
  v: messageVersion,
  kind: z.literal('run_outcome'),
  agent: agentId,
  result: runResult,
});
export type RunOutcome = z.infer<typeof runOutcome>;
