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

function renderTransition(change: z.infer<typeof transition>, paint: Paint): string {
  const colour = { active: paint.green, degraded: paint.yellow, error: paint.red }[change.to] ?? paint.grey;
  const detail = change.detail === undefined ? '' : `: ${forTerminal(change.detail)}`;
  return `${colour('●')} ${paint.bold(forTerminal(change.monitor.name))}  ${change.from} → ${colour(change.to)}  ${paint.grey(`(${change.reason}${detail})`)}`;
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
