import { setMaxListeners } from 'node:events';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { Check } from '@svc/shared/messages/check.ts';
import type { CheckJob } from '@svc/shared/messages/check-job.ts';
import type { CheckResult, NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Secret } from '@svc/shared/secret.ts';
import { type AttemptVerdict, judgeAttempt } from './attempt-verdict.ts';
import {
  addAttempt,
  type CheckRun,
  isTooLate,
  newRun,
  notAttempted,
  type RunResult,
  resultOf,
} from './check-run.ts';
import { afterReading } from './deadline.ts';
import { Heap } from './heap.ts';
import type { Metrics } from './metrics.ts';
import type { NetworkWatch } from './network/watch.ts';
import type { ProbeOutcome } from './probes/probe.ts';
import { type Probes, runProbe } from './probes/registry.ts';
import type { Starvation } from './starvation.ts';

/** Interval between two searches for checks that are too late to begin and for probes that are stuck, ms. */
const SWEEP_MS = 250;
/** A check that begins more than this time after its start instant counts as late, ms. */
const LATE_MS = 250;
/**
 * A check that begins more than this time after its start
 * instant counts as having waited for a free place, ms.
 */
const BEHIND_MS = 5_000;
/** A probe that has not settled this long after its time-out, stalls of the agent aside, is stuck, ms. */
const STUCK_MS = 10_000;
/**
 * Shortest interval between two wake-ups of waiting checks, ms. On a busy agent, checks that are due within a
 * few milliseconds enter the queue together, which costs less CPU than a timer each.
 */
const WAKE_SPACING_MS = 4;
/**
 * Maximum number of queued attempts that begin in one turn of the event loop. The loop then reads what has
 * arrived before further attempts begin. So the measured latencies include little of the time that it takes
 * to begin other attempts: some 50 µs for a plain attempt, and up to a millisecond for an attempt with TLS.
 */
const BEGUN_IN_A_TURN = 8;
/** Time that probes have to close their sockets after the abort, ms. */
const ABORT_GRACE_MS = 500;

export type RunnerParts = {
  probes: Probes;
  /** Maximum number of attempts in progress at once. Checks that wait between two attempts do not count. */
  concurrency: number;
  clock: Clock;
  starvation: Pick<Starvation, 'delaySince' | 'heldBackSince' | 'voided'>;
  network: Pick<NetworkWatch, 'seen'>;
  /** Returns a random number from 0 up to, not including, 1. It spreads the back-off waits. */
  random: () => number;
  metrics: Metrics;
  log: Logger;
  /** Called once for every submitted job, with the subject that was submitted with it. */
  onResult: (result: CheckResult, subject: string) => void;
};

/**
 * Runs checks: it decides on attempts, retries, their order and how many run at once.
 *
 * A free place goes to the queued check with the oldest slot. Checks of monitors
 * whose last attempt timed out may use only half of the places. So, when all targets
 * behind one network are down, the other targets are still checked on time.
 */
export class Runner {
  readonly #parts: RunnerParts;
  readonly #slowLimit: number;
  readonly #queue = new Heap<CheckRun>((run) => run.slot);
  readonly #slowQueue = new Heap<CheckRun>((run) => run.slot);
  readonly #waiting = new Heap<CheckRun>((run) => run.wakeAt);
  /**
   * Checks with an attempt in progress, in no order. It is an array, because a `Set` under constant
   * change replaces its internal table again and again. An old table in the old generation of the heap
   * would keep every later table, and all checks in it, alive until the next full garbage collection.
   */
  readonly #attempting: CheckRun[] = [];
  readonly #abort = new AbortController();
  #slowAttempts = 0;
  /** The counts since the last {@link takeStarts}, which says what they mean. */
  #begun = 0;
  #late = 0;
  #behind = 0;
  /** Number of checks that wait for their slot. */
  #ahead = 0;
  #isDraining = false;
  /** When the timer of the waiting checks fires, monotonic ms; infinity: no timer is set. */
  #wakeAt = Number.POSITIVE_INFINITY;
  /** When waiting checks last entered the queue, monotonic ms. */
  #wokeAt = Number.NEGATIVE_INFINITY;
  #cancelWake: () => void = () => {};
  #cancelSweep: () => void = () => {};
  /** Number of attempts that began in this turn of the event loop. */
  #begunInTurn = 0;
  /** Called when the last attempt in progress has ended. */
  #onIdle: () => void = () => {};

  constructor(parts: RunnerParts) {
    this.#parts = parts;
    this.#slowLimit = Math.max(1, Math.floor(parts.concurrency / 2));
    setMaxListeners(0, this.#abort.signal);
  }

  /** Number of attempts in progress. */
  get running(): number {
    return this.#attempting.length;
  }

  /** Number of checks that wait for their slot, for a free place or for their next attempt. */
  get pending(): number {
    return this.#queue.size + this.#slowQueue.size + this.#waiting.size;
  }

  /** Number of pending checks whose slot has not come. */
  get ahead(): number {
    return this.#ahead;
  }

  /** Counts a job for which the agent has no room, as a check that had to wait for a free place. */
  turnedAway(): void {
    this.#countStart(Number.POSITIVE_INFINITY);
  }

  /**
   * Returns the counts since the last call, for the heartbeat, and resets them. `begun` counts the
   * checks that were begun or refused, and the jobs for which the agent had no room. `late` and `behind`
   * count how many of these were more than {@link LATE_MS} and more than {@link BEHIND_MS} late.
   *
   * Checks of monitors whose last attempt timed out do not count once they are taken. They may
   * have to wait for their half of the places, and such a wait is no sign of overload.
   */
  takeStarts(): { begun: number; late: number; behind: number } {
    const starts = { begun: this.#begun, late: this.#late, behind: this.#behind };
    this.#begun = this.#late = this.#behind = 0;
    return starts;
  }

  start(): void {
    this.#cancelSweep = this.#parts.clock.every(SWEEP_MS, () => this.#sweep());
  }

  /**
   * Takes a job. Its result comes through `onResult`. If the job is too late already, `onResult`
   * is called before `submit` returns. The first attempt begins `wait_ms` after the receipt at the
   * earliest. If it has not begun `start_within_ms` after that instant, the result is
   * `not_run: overloaded`.
   *
   * @param receivedAt when the job's message arrived at the agent, monotonic ms
   * @param subject subject for the result
   */
  submit(job: CheckJob, receivedAt: number, subject: string): void {
    const { clock, onResult } = this.#parts;
    const startAt = receivedAt + (job.wait_ms ?? 0);
    const { monitor, version, slot, token } = job;
    const run = newRun({
      check: job.check,
      slot,
      startAt,
      startBy: startAt + job.start_within_ms,
      attemptLimit: 1 + job.check.reveal().retry,
      judgesEach: false,
      isSlow: job.slow === true,
      done: (result) => onResult({ monitor, version, slot, token, ...result }, subject),
    });
    if (startAt > clock.monotonic()) {
      this.#ahead += 1;
      this.#waitUntil(run, startAt);
      return;
    }
    this.#enqueue(run);
    this.#fill();
  }

  /**
   * Makes one attempt at once, without waiting in the queue. The result
   * is `not_run` when no place is free, or when the agent is stopping.
   */
  runNow(check: Secret<Check>): Promise<RunResult> {
    const { clock, concurrency } = this.#parts;
    const refusal: NotRunReason | null = this.#isDraining
      ? 'shutting-down'
      : this.#attempting.length >= concurrency
        ? 'overloaded'
        : null;
    if (refusal !== null) return Promise.resolve(notAttempted(refusal, clock.wall()));
    return new Promise((done) => {
      const now = clock.monotonic();
      this.#beginRun(
        newRun({
          ...{ check, slot: 0, startAt: now, startBy: now, attemptLimit: 1, isSlow: false, done },
          judgesEach: true,
        }),
      );
    });
  }

  /**
   * Ends all checks within `withinMs` and half a second more.
   *
   * Checks without an attempt in progress end at once as `not_run: shutting-down`, so
   * that another agent can still run them in time. Attempts in progress may finish
   * within `withinMs`; attempts that do not are aborted. No further attempt follows.
   */
  async drain(withinMs: number): Promise<void> {
    this.#isDraining = true;
    const everything = (): boolean => true;
    for (const heap of [this.#queue, this.#slowQueue, this.#waiting]) {
      for (const run of heap.takeWhere(everything)) this.#finish(run, notRun('shutting-down'));
    }
    this.#ahead = 0;
    await this.#idleWithin(withinMs);
    this.#abort.abort();
    await this.#idleWithin(ABORT_GRACE_MS);
    for (const run of [...this.#attempting]) this.#leaveAttempt(run, notRun('shutting-down'));
    this.#cancelSweep();
    this.#cancelWake();
  }

  #enqueue(run: CheckRun): void {
    run.state = 'queued';
    (run.isSlow ? this.#slowQueue : this.#queue).push(run);
  }

  #fill(): void {
    while (this.#attempting.length < this.#parts.concurrency && this.#begunInTurn < BEGUN_IN_A_TURN) {
      const run = this.#takeNext();
      if (run === undefined) return;
      if (isTooLate(run, this.#parts.clock.monotonic())) this.#refuse(run);
      else this.#beginRun(run);
    }
  }

  /**
   * Counts an attempt that begins in this turn of the event
   * loop. The next turn begins further queued attempts.
   */
  #countInTurn(): void {
    this.#begunInTurn += 1;
    if (this.#begunInTurn > 1) return;
    afterReading(() => {
      this.#begunInTurn = 0;
      this.#fill();
    });
  }

  /**
   * Takes the queued check with the oldest slot. Slow checks are
   * left out while slow attempts use their half of the places.
   */
  #takeNext(): CheckRun | undefined {
    const next = this.#queue.peek();
    const slow = this.#slowAttempts < this.#slowLimit ? this.#slowQueue.peek() : undefined;
    if (slow !== undefined && (next === undefined || slow.slot < next.slot)) return this.#slowQueue.pop();
    return this.#queue.pop();
  }

  /** Counts a check that was begun or refused `lateMs` after its start instant. */
  #countStart(lateMs: number): void {
    this.#begun += 1;
    if (lateMs > LATE_MS) this.#late += 1;
    if (lateMs > BEHIND_MS) this.#behind += 1;
  }

  /** Ends a check whose first attempt did not begin in time. */
  #refuse(run: CheckRun): void {
    if (!run.isSlow) this.#countStart(this.#parts.clock.monotonic() - run.startAt);
    this.#finish(run, notRun('overloaded'));
  }

  #beginRun(run: CheckRun): void {
    const { clock, metrics } = this.#parts;
    const now = clock.monotonic();
    if (run.attempts.length === 0) {
      run.startedAt = now;
      run.startedAtWall = clock.wall();
      metrics.lateness.record(Math.max(0, now - run.startAt) / 1_000);
      if (!run.isSlow) this.#countStart(now - run.startAt);
    }
    run.state = 'attempting';
    run.hasEnded = false;
    run.attemptStartedAt = now;
    this.#attempting.push(run);
    if (run.isSlow) this.#slowAttempts += 1;
    metrics.attempts += 1;
    this.#countInTurn();
    void this.#attempt(run, run.attempts.length);
  }

  /**
   * Runs one attempt. An unexpected error is logged here
   * and nowhere else, and does not affect other attempts.
   */
  async #attempt(run: CheckRun, attempt: number): Promise<void> {
    const { clock, probes, log } = this.#parts;
    const { judgesEach } = run;
    const context = { timeoutMs: run.check.reveal().timeout, signal: this.#abort.signal, judgesEach };
    try {
      this.#onAttemptEnd(run, attempt, await runProbe(probes, run.check.reveal(), context));
    } catch (error) {
      log.error({ type: run.check.reveal().type, error }, 'an attempt failed because of a defect of svc');
      this.#onAttemptEnd(run, attempt, internalError(error, clock.monotonic() - run.attemptStartedAt));
    }
  }

  #onAttemptEnd(run: CheckRun, attempt: number, found: ProbeOutcome): void {
    // The finding is ignored when the runner gave up this attempt before its probe settled.
    if (run.state !== 'attempting' || run.attempts.length !== attempt) return;
    const { starvation, clock } = this.#parts;
    const heldBack = (latency?: number) => starvation.heldBackSince(run.attemptStartedAt, latency);
    const verdict = judgeAttempt(found, run.check.reveal(), heldBack, clock.wall());
    if (verdict.reason === 'agent-starved') {
      starvation.voided();
      this.#endAttempt(run, found, verdict);
      return;
    }
    const whyNotRun = this.#parts.network.seen(run.check.reveal(), found, run.attemptStartedAt);
    if (whyNotRun === null) this.#endAttempt(run, found, verdict);
    else void this.#onceKnown(whyNotRun, run, attempt, found, verdict);
  }

  /**
   * Finds out whether the agent's own network failed, and then ends the
   * attempt. Until then, for some seconds at most, the attempt keeps its place.
   */
  async #onceKnown(
    whyNotRun: Promise<NotRunReason | null>,
    run: CheckRun,
    attempt: number,
    found: ProbeOutcome,
    verdict: AttemptVerdict,
  ): Promise<void> {
    run.hasEnded = true;
    const reason = await whyNotRun;
    const settled = reason === null ? verdict : notRun(reason);
    if (run.state === 'attempting' && run.attempts.length === attempt) this.#endAttempt(run, found, settled);
  }

  #endAttempt(run: CheckRun, found: ProbeOutcome, verdict: AttemptVerdict): void {
    addAttempt(run, found, verdict);
    this.#leaveAttempt(run, verdict);
    this.#fill();
  }

  /** Frees the place of an attempt and decides whether another attempt of the check follows. */
  #leaveAttempt(run: CheckRun, verdict: AttemptVerdict): void {
    const { clock, random } = this.#parts;
    takeOut(this.#attempting, run);
    if (run.isSlow) this.#slowAttempts -= 1;
    run.isSlow = run.lastFound?.timedOut === true;
    const isRetried = verdict.outcome === 'failed' && run.attempts.length < run.attemptLimit;
    if (!isRetried) this.#finish(run, verdict);
    else if (this.#isDraining) this.#finish(run, notRun('shutting-down'));
    else this.#waitUntil(run, clock.monotonic() + attemptWaitMs(run.attempts.length, random()));
    if (this.#attempting.length === 0) this.#onIdle();
  }

  #finish(run: CheckRun, verdict: AttemptVerdict): void {
    run.state = 'done';
    this.#parts.metrics.results[verdict.outcome] += 1;
    run.done(resultOf(run, verdict, this.#parts.clock.wall()));
  }

  /**
   * Lets the check wait until its first or next attempt is due.
   *
   * @param wakeAt instant at which the check enters the queue, monotonic ms
   */
  #waitUntil(run: CheckRun, wakeAt: number): void {
    run.state = 'waiting';
    run.wakeAt = wakeAt;
    this.#waiting.push(run);
    this.#armWake();
  }

  /**
   * Sets the timer that all waiting checks share to the earliest `wakeAt`, but at least
   * {@link WAKE_SPACING_MS} after the last wake-up. Node may fire the timer up to a millisecond
   * early; it is then set again.
   */
  #armWake(): void {
    const earliest = this.#waiting.peek();
    if (earliest === undefined) return;
    const wakeAt = Math.max(earliest.wakeAt, this.#wokeAt + WAKE_SPACING_MS);
    if (wakeAt >= this.#wakeAt) return;
    this.#cancelWake();
    this.#wakeAt = wakeAt;
    const delay = wakeAt - this.#parts.clock.monotonic();
    this.#cancelWake = this.#parts.clock.after(Math.max(0, Math.ceil(delay)), () => this.#enqueueDueRuns());
  }

  #enqueueDueRuns(): void {
    this.#wakeAt = Number.POSITIVE_INFINITY;
    const now = this.#parts.clock.monotonic();
    for (let run = this.#waiting.peek(); run !== undefined && run.wakeAt <= now; run = this.#waiting.peek()) {
      this.#waiting.pop();
      if (run.attempts.length === 0) this.#ahead -= 1;
      this.#enqueue(run);
      this.#wokeAt = now;
    }
    this.#armWake();
    this.#fill();
  }

  #sweep(): void {
    const now = this.#parts.clock.monotonic();
    for (const heap of [this.#queue, this.#slowQueue]) {
      if (heap.size === 0) continue;
      for (const run of heap.takeWhere((queued) => isTooLate(queued, now))) {
        this.#refuse(run);
      }
    }
    for (const run of [...this.#attempting]) {
      if (run.hasEnded) continue;
      const overdue = now - run.attemptStartedAt - run.check.reveal().timeout - STUCK_MS;
      if (overdue > 0 && overdue > this.#parts.starvation.delaySince(run.attemptStartedAt)) this.#giveUp(run);
    }
    this.#fill();
  }

  #giveUp(run: CheckRun): void {
    const { type, timeout: timeoutMs } = run.check.reveal();
    this.#parts.log.error({ type, timeoutMs }, 'a probe never settled');
    const elapsed = this.#parts.clock.monotonic() - run.attemptStartedAt;
    const found = internalError(new SvcError('probe-stuck', 'the probe never settled'), elapsed);
    this.#onAttemptEnd(run, run.attempts.length, found);
  }

  #idleWithin(ms: number): Promise<void> {
    if (this.#attempting.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#parts.clock.after(ms, resolve);
      this.#onIdle = () => {
        cancel();
        resolve();
      };
    });
  }
}

/** Removes an item that is in the list. The order of the list does not matter. */
function takeOut<T>(list: T[], item: T): void {
  const last = list.pop();
  if (last !== undefined && last !== item) list[list.indexOf(item)] = last;
}

/** The members of a result that say which job it is for. */
export function jobOf(
  job: Omit<CheckJob, 'check'>,
): Pick<CheckResult, 'monitor' | 'version' | 'slot' | 'token'> {
  return { monitor: job.monitor, version: job.version, slot: job.slot, token: job.token };
}

function notRun(reason: NotRunReason): AttemptVerdict {
  return { outcome: 'not_run', reason };
}

function internalError(error: unknown, latency: number): ProbeOutcome {
  return {
    outcome: 'not_run',
    reason: 'internal-error',
    latency,
    phases: {},
    errorMessage: messageOf(error),
  };
}

const FIRST_MS = 250;
const GROWTH = 1.6;
const LONGEST_MS = 5_000;
const SPREAD = 0.2;

/**
 * The wait before the next attempt of a check: 250 ms × 1.6ⁿ ± 20 %, but at most 5 s. n is `failures - 1`.
 *
 * The spread keeps the retries of many monitors on one failing host from arriving together.
 *
 * @param failures attempts that failed so far, >= 1
 * @param random 0 <= random < 1
 * @returns milliseconds, 200 to 5,000
 */
export function attemptWaitMs(failures: number, random: number): number {
  const middle = FIRST_MS * GROWTH ** (failures - 1);
  return Math.min(LONGEST_MS, middle * (1 - SPREAD + 2 * SPREAD * random));
}
