import {
  type Admission,
  admittedPerSecond,
  earn,
  fairParts,
  type Load,
  nextAdmission,
  OPEN,
  type Pressure,
} from '../domain/admission.ts';
import { phaseOf } from '../domain/schedule.ts';

/** Credits begin spread over this many values, so that not all monitors are skipped in the same round. */
const FIRST_CREDITS = 1_000;

/** Lets through as many jobs as can be done: all of them, or each workspace's fair part. */
export class Gate {
  #admission: Admission = OPEN;
  /** By workspace; who is not in it is let through whole. */
  #parts: ReadonlyMap<number, number> = new Map();
  /**
   * What each monitor that was ever limited here has earned. Kept when the gate opens: who was skipped last
   * is the first to run when it closes again.
   */
  readonly #credits = new Map<number, number>();

  get isOpen(): boolean {
    return this.#admission.is === 'open';
  }

  /** Jobs per second; infinite while it is open. */
  get perSecond(): number {
    return admittedPerSecond(this.#admission);
  }

  /**
   * @param asked jobs per second by workspace; called only where it matters
   * @returns true when it has just closed
   */
  step(
    pressure: Pressure,
    donePerSecond: number,
    asked: () => ReadonlyMap<number, number>,
    elapsedMs: number,
  ): boolean {
    if (this.isOpen && pressure !== 'overloaded') return false;
    const wanted = asked();
    let askedPerSecond = 0;
    for (const rate of wanted.values()) askedPerSecond += rate;
    const load: Load = { pressure, donePerSecond, askedPerSecond };
    const wasOpen = this.isOpen;
    this.#admission = nextAdmission(this.#admission, load, elapsedMs);
    this.#parts = this.isOpen ? new Map() : fairParts(wanted, this.perSecond);
    return wasOpen && !this.isOpen;
  }

  /** Whether this slot of the monitor is let through. To be asked once per slot. */
  admits(monitorId: number, workspaceId: number): boolean {
    const part = this.#parts.get(workspaceId);
    if (part === undefined) return true;
    const before = this.#credits.get(monitorId) ?? phaseOf(monitorId, FIRST_CREDITS) / FIRST_CREDITS;
    const { isAdmitted, credit } = earn(before, part);
    this.#credits.set(monitorId, credit);
    return isAdmitted;
  }

  forget(monitorId: number): void {
    if (this.#credits.size > 0) this.#credits.delete(monitorId);
  }
}
