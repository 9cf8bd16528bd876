import type { MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import type { TransitionReason } from '@svc/coordinator/verdict/transition.ts';
import { forTerminal } from '@svc/shared/text/terminal.ts';
import { z } from 'zod';

/** The members of a log line that decide whether and how it is shown. */
const logLine = z.looseObject({
  level: z.number(),
  time: z.number(),
  msg: z.string().default(''),
  event: z.string().optional(),
});

const transition = z.object({
  monitor: z.object({ id: z.number(), name: z.string() }),
  from: z.string(),
  to: z.string(),
  reason: z.string(),
  detail: z.string().optional(),
});

const WARN = 40;
const ERROR = 50;

/** `green('text')`, or the text alone without colour. */
export type Paint = { [C in 'green' | 'yellow' | 'red' | 'grey' | 'bold']: (text: string) => string };

const CODES = { green: 32, yellow: 33, red: 31, grey: 90, bold: 1 } as const;

/** Colour on a terminal, plain text elsewhere (https://no-color.org). */
export function paintFor(stream: { isTTY?: boolean }, environment: NodeJS.ProcessEnv): Paint {
  const isColoured = stream.isTTY === true && !environment.NO_COLOR;
  const paint = (code: number) => (text: string) => (isColoured ? `\u001b[${code}m${text}\u001b[0m` : text);
  return {
    green: paint(CODES.green),
    yellow: paint(CODES.yellow),
    red: paint(CODES.red),
    grey: paint(CODES.grey),
    bold: paint(CODES.bold),
  };
}

/**
 * Renders one line of a part's standard error: a change of status, a warning or an error, and the end of one
 * (`event: 'recovered'`). The answer is null for other lines, unless all are shown. Lines that are not svc's
 * log lines are always shown, because a crash explains itself there; blank lines are not.
 */
export function render(part: string, line: string, paint: Paint, showsAll: boolean): string | null {
  const parsed = logLine.safeParse(parseJson(line));
  if (!parsed.success)
    return line.trim() === '' ? null : `${INDENT}${paint.grey(part)}  ${forTerminal(line)}`;
  const { level, time, msg, event } = parsed.data;
  const clock = paint.grey(new Date(time).toTimeString().slice(0, 8));
  if (event === 'transition') {
    const change = transition.safeParse(parsed.data);
    if (change.success) return `${clock}  ${renderTransition(change.data, paint)}`;
  }
  const isRecovery = event === 'recovered';
  if (level < WARN && !isRecovery && !showsAll) return null;
  const mark =
    level >= ERROR
      ? paint.red('error')
      : level >= WARN
        ? paint.yellow('warn ')
        : isRecovery
          ? paint.green('ok   ')
          : paint.grey('info ');
  return `${clock}  ${mark} ${paint.grey(part)}  ${forTerminal(msg)}${forTerminal(detailOf(parsed.data))}`;
}

/** The statuses in the words of the dashboard. */
const STATUS_WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    active: 'up',
    degraded: 'degraded',
    error: 'down',
    unknown: 'no data',
  } satisfies Record<MonitorStatus, string>),
);

const REASON_WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'majority-failed': 'most regions failed',
    'quorum-failed': 'as many regions failed as the quorum says',
    'failures-apart': 'enough regions failed, but too few of them at one moment',
    unconfirmed: 'too few checks in a row say another status',
    'majority-degraded': 'most regions were degraded or failed',
    'quorum-degraded': 'as many regions were degraded or failed as the quorum says',
    'minority-failed': 'some regions failed, but too few for "down"',
    'minority-degraded': 'some regions were degraded, but too few for "degraded"',
    'all-passed': 'all regions passed',
    'too-few-votes': 'fewer than half of the regions reported',
    'votes-expired': 'fewer than half of the regions reported in time',
    'no-electorate': 'no region had an agent within 24 hours, or none has been given a check',
    'probe-changed': 'what is checked was changed',
    deactivated: 'the monitor was deactivated',
  } satisfies Record<TransitionReason, string>),
);

function renderTransition(
  { monitor, from, to, ...change }: z.infer<typeof transition>,
  paint: Paint,
): string {
  const colour = { active: paint.green, degraded: paint.yellow, error: paint.red }[to] ?? paint.grey;
  const status = (name: string) => STATUS_WORDS.get(name) ?? forTerminal(name);
  const reason = REASON_WORDS.get(change.reason) ?? forTerminal(change.reason);
  const detail = change.detail === undefined ? '' : `: ${forTerminal(change.detail)}`;
  return `${colour('●')} ${paint.bold(forTerminal(monitor.name))}  ${status(from)} → ${colour(status(to))}  ${paint.grey(`(${reason}${detail})`)}`;
}

/** Whether a line reports only that agents are gone, which a stop of all parts does on purpose. */
export function isCausedByStop(line: string): boolean {
  return logLine.safeParse(parseJson(line)).data?.event === 'region-without-agent';
}

/**
 * What a slow start waits for: the parts that are not ready, each with the last line of its standard error.
 * Null: the part has written none yet.
 */
export function stillStarting(missing: readonly { name: string; lastLine: string | null }[]): string {
  const texts = missing.map(({ name, lastLine }) => {
    if (lastLine === null) return `${name} (nothing logged yet)`;
    const said = logLine.safeParse(parseJson(lastLine)).data?.msg ?? lastLine.trim();
    return `${name} (last line: ${forTerminal(said)})`;
  });
  return `still starting: ${texts.join(', ')}`;
}

/** Indent of lines that belong to a line with a time. */
const INDENT = ' '.repeat(10);

const HIDDEN = new Set(['level', 'time', 'msg', 'part', 'event', 'pid', 'hostname']);

function detailOf(fields: Record<string, unknown>): string {
  const shown = Object.entries(fields).filter(([key]) => !HIDDEN.has(key));
  const lists = shown.flatMap(([, value]) => (isListOfTexts(value) ? value : []));
  const facts = shown.filter(([, value]) => !isListOfTexts(value));
  const inLine = facts.map(([key, value]) => `${key}=${textOf(value)}`).join(' ');
  return `${inLine === '' ? '' : `  ${inLine}`}${lists.map((text) => `\n${INDENT}${text}`).join('')}`;
}

/**
 * Whether a member is a list of texts, such as the errors of a declared file. Its texts are shown one below
 * the other.
 */
function isListOfTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string');
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'object' && value !== null && 'message' in value) return String(value.message);
  return JSON.stringify(value);
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null; // Not a log line of ours.
  }
}
