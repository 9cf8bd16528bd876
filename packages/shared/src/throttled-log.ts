import type { Clock } from './clock.ts';
import type { Logger } from './log.ts';

const INTERVAL_MS = 10_000;

type Level = 'info' | 'warn' | 'error';

/**
 * The lines about one subject. `lines` were logged in the current interval, which ends at `until` (monotonic
 * ms). `leftOut` were dropped since the last logged line.
 */
type SubjectLines = { until: number; lines: number; leftOut: number };

/**
 * Logs lines about foreign input: at most `mostLines` about one subject in 10 s. The next line has the number
 * of dropped lines (`leftOut`), if any.
 */
export class ThrottledLog {
  readonly #log: Logger;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #mostLines: number;
  readonly #subjects = new Map<string, SubjectLines>();

  /** @param mostLines lines about one subject in 10 s, >= 1 */
  constructor(log: Logger, clock: Pick<Clock, 'monotonic'>, mostLines = 1) {
    this.#log = log;
    this.#clock = clock;
    this.#mostLines = mostLines;
  }

  info(message: string, details: object, about?: string): void {
    this.#write('info', message, details, about);
  }

  /**
   * @param message a constant text: lines with different messages have different subjects
   * @param about distinguishes subjects with the same message. It must be one of a few known names, such as a
   *   region, and never a name that a client chooses, because each name is remembered
   */
  warn(message: string, details: object, about?: string): void {
    this.#write('warn', message, details, about);
  }

  error(message: string, details: object, about?: string): void {
    this.#write('error', message, details, about);
  }

  #write(level: Level, message: string, details: object, about = ''): void {
    const now = this.#clock.monotonic();
    const subject = this.#linesAbout(`${about} ${message}`, now);
    if (subject.lines >= this.#mostLines) {
      subject.leftOut += 1;
      return;
    }
    subject.lines += 1;
    const leftOut = subject.leftOut === 0 ? {} : { leftOut: subject.leftOut };
    this.#log[level]({ ...details, ...leftOut }, message);
    subject.leftOut = 0;
  }

  #linesAbout(key: string, now: number): SubjectLines {
    const before = this.#subjects.get(key);
    if (before !== undefined && now < before.until) return before;
    const subject = { until: now + INTERVAL_MS, lines: 0, leftOut: before?.leftOut ?? 0 };
    this.#subjects.set(key, subject);
    return subject;
  }
}
