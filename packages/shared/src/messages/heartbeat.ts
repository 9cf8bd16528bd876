import { z } from 'zod';
import { LIMITS } from '../limits.ts';
import { runResult } from './check-result.ts';
import { messageVersion } from './subjects.ts';

/** A heartbeat is due this often; an agent that missed three is gone. */
export const HEARTBEAT_INTERVAL_MS = 2_000;
export const HEARTBEATS_MISSED = 3;

/** Most jobs an agent may hold. */
export const MAX_HELD_JOBS = 16_000;

/** Nothing that an agent says is longer: 36 bytes at most for each job that it holds, and 13 KB for the rest. */
export const MAX_AGENT_MESSAGE_BYTES = 576 * 1_024;

const agentId = z.string().min(1).max(128);

/** Drawn by an agent at its start, so that agents with one id are told apart (absent: an agent of 0.1). */
const bootId = z.string().min(1).max(64);

export type JobKey = [monitor: number, slot: number];

/** A schema of tuples takes 30 ms for a full heartbeat and holds up everything else; this takes one. */
const jobKeys = (most: number) =>
  z.custom<JobKey[]>(
    (value) => Array.isArray(value) && value.length <= most && value.every(isJobKey),
    `not a list of at most ${most} [monitor, slot]`,
  );

function isJobKey(value: unknown): value is JobKey {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [monitor, slot] = value;
  return Number.isSafeInteger(monitor) && monitor > 0 && Number.isSafeInteger(slot) && slot >= 0;
}

/**
 * What agents may announce beyond version 0.1. A region's coordinator uses one of these only where every
 * agent of the region announced it: any of them may get the next batch.
 */
export const CAPABILITIES = [
  /** Up to 512 jobs a message, and as many in an acceptance. */
  'large-batches',
  /** `wait_ms` in a job. */
  'jobs-ahead',
  /** `results` in a batch of jobs. */
  'results-subject',
] as const;
export type Capability = (typeof CAPABILITIES)[number];

/** What this version's agent announces. */
export const AGENT_UNDERSTANDS: readonly Capability[] = CAPABILITIES;

/** Bounds on what an agent of another version may announce. */
const MAX_CAPABILITIES = 32;
const MAX_CAPABILITY_LENGTH = 64;

/** What an agent may find wrong with itself. None of it is ever a verdict about a target. */
export const SICKNESSES = [
  /** None of the references that it had answers any more, while nearly nothing that it checks does. */
  'network-down',
  /** It waits for a CPU, and gives up attempts for it. */
  'starved',
] as const;
export type Sickness = (typeof SICKNESSES)[number];

/** Bounds on what an agent of another version may find wrong. */
const MAX_SICKNESSES = 16;

/** `svc.agents.<region>`, every 2 s and at once after a (re)connect. */
export const heartbeat = z.object({
  v: messageVersion,
  kind: z.literal('heartbeat'),
  agent: agentId,
  boot: bootId.optional(),
  version: z.string().max(64),
  /** Attempts it runs at once. */
  capacity: z.number().int().positive(),
  /** Attempts in progress. */
  running: z.number().int().nonnegative(),
  /** Jobs accepted and not yet reported: until their result is acknowledged by the stream. */
  held: jobKeys(MAX_HELD_JOBS),
  /** Largest event-loop delay since the last heartbeat, ms. */
  loop_delay_ms: z.number().nonnegative(),
  /** Agent's wall clock, epoch ms: shows clocks that are off. */
  clock: z.number().int(),
  started_at: z.number().int(),
  /** It takes no new jobs and ends soon. */
  draining: z.boolean(),
  /** The host that it runs on, for people. */
  machine: z.string().max(255).optional(),
  /** What is wrong with it (absent: nothing that it knows of). Names that the reader does not know are passed over. */
  sick: z.array(z.string().max(MAX_CAPABILITY_LENGTH)).max(MAX_SICKNESSES).optional(),
  /** Batches of results, since its start, that the stream took for repetitions when they were new: somebody tampers with it. */
  disowned: z.number().int().nonnegative().optional(),
  /** What it understands beyond 0.1 (absent: nothing). Names that the reader does not know are passed over. */
  understands: z.array(z.string().max(MAX_CAPABILITY_LENGTH)).max(MAX_CAPABILITIES).optional(),
});
export type Heartbeat = z.infer<typeof heartbeat>;

/** True when the agent that sent the heartbeat announced it. */
export function understands(heartbeat: Pick<Heartbeat, 'understands'>, capability: Capability): boolean {
  return heartbeat.understands?.includes(capability) === true;
}

/** What the agent finds wrong with itself, as far as this version knows it. */
export function sicknessesOf({ sick = [] }: Pick<Heartbeat, 'sick'>): readonly Sickness[] {
  return SICKNESSES.filter((each) => sick.includes(each));
}

/** Why an offered job was not taken. `held` and `finished` mean that its result is on its way. */
export const REFUSALS = ['held', 'finished', 'full', 'draining', 'invalid'] as const;
export type Refusal = (typeof REFUSALS)[number];

/** `svc.agents.<region>`, at once after a batch of jobs was read. */
export const acceptance = z.object({
  v: messageVersion,
  kind: z.literal('acceptance'),
  agent: agentId,
  boot: bootId.optional(),
  batch: z.string().max(64),
  accepted: jobKeys(LIMITS.jobsPerMessage),
  refused: z
    .array(z.tuple([z.number().int(), z.number().int(), z.enum(REFUSALS)]))
    .max(LIMITS.jobsPerMessage),
});
export type Acceptance = z.infer<typeof acceptance>;

/** `svc.agents.<region>`: the answer to `run_now`. */
const runOutcome = z.object({
  v: messageVersion,
  kind: z.literal('run_outcome'),
  agent: agentId,
  run: z.string().max(64),
  result: runResult,
});
export type RunOutcome = z.infer<typeof runOutcome>;

export const agentMessage = z.discriminatedUnion('kind', [heartbeat, acceptance, runOutcome]);
export type AgentMessage = z.infer<typeof agentMessage>;
