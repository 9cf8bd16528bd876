import type { Alert, AlertStatus, Closure } from '@svc/shared/channels/alert.ts';
import { durationText, utcText } from '@svc/shared/time-texts.ts';
import { urlSecrets } from '@svc/shared/url-secrets.ts';
import { charactersUpTo, type Fits, shortened } from './shortening.ts';

/*
 * Renders an alert for people: title, facts and link. The code of a channel escapes these
 * texts for its medium, and shortens them to the limits of its vendor.
 */

/** One line of an alert: `Latency: 120 ms`. */
export type Fact = {
  readonly label: string;
  /** One line, not empty, of any length and without control characters. */
  readonly text: string;
  /** Whether the text is the target of the monitor. Media with markup write it with `addressIn`. */
  readonly isAddress: boolean;
  /** Whether the fact names one monitor of a group. */
  readonly isMonitor?: boolean;
  /**
   * Number of monitors of a group that no fact names. Only the fact that states this number has this
   * attribute. That fact directly follows the last fact that names a monitor.
   */
  readonly others?: number;
};

export type Content = {
  readonly status: AlertStatus;
  /** One line, such as the status and the monitor's name. */
  readonly title: string;
  /** The most important fact comes first. */
  readonly facts: readonly Fact[];
  /**
   * http(s) URL of the page that the alert leads to: the incident for an error or degraded status, the monitor
   * for a recovery or a notice about a monitor, and svc itself for all other messages.
   */
  readonly link: string;
  /** Text of a button with the link. */
  readonly linkText: string;
};

/** Colours of the statuses, 0xRRGGBB. */
export const STATUS_COLORS: Readonly<Record<AlertStatus, number>> = {
  error: 0xd92d20,
  degraded: 0xf79009,
  recovered: 0x12b76a,
};

/** The colour of a status in the notation of CSS. */
export function cssColor(status: AlertStatus): string {
  return `#${STATUS_COLORS[status].toString(16).padStart(6, '0')}`;
}

/** Maximum number of regions that the fact `Regions` names. */
const REGIONS_NAMED = 5;

const STATUS_WORDS: Readonly<Record<AlertStatus, string>> = {
  error: 'Error',
  degraded: 'Degraded',
  recovered: 'Recovered',
};

/** The words of reminders. There is no reminder of a recovery. */
const STILL_WORDS: Readonly<Record<AlertStatus, string>> = {
  error: 'Still failing',
  degraded: 'Still degraded',
  recovered: 'Recovered',
};

const CLOSURE_WORDS: Readonly<Record<Closure, string>> = {
  'monitor-deleted': 'the monitor was deleted',
  'monitor-deactivated': 'the monitor was deactivated',
  'channel-unlinked': 'the channel was unlinked from the monitor',
};

/**
 * Renders an alert for people.
 *
 * @param publicUrl `SVC_PUBLIC_URL`
 */
export function contentOf(alert: Alert, publicUrl: string): Content {
  const base = new URL(publicUrl.replace(/\/*$/, '/')).href;
  const { status, monitor, notice } = alert;
  const home = { link: base, linkText: 'Open svc' };
  const page = { link: `${base}monitors/${monitor.id}`, linkText: 'Open the monitor' };
  if (alert.group !== undefined) {
    const { title, facts } = groupContent(alert.group);
    const still = alert.reminder === undefined ? '' : 'Reminder: ';
    return { status, title: `${still}${title}`, facts: [...facts, ...delayFacts(alert)], ...home };
  }
  if (notice !== undefined) {
    const { title, facts } = noticeContent(notice);
    if (notice.facts === undefined) return { status, title, facts, ...home };
    return { status, title, facts: [...facts, ...targetFacts(monitor), ...delayFacts(alert)], ...page };
  }
  if (alert.test === true) return { status, ...testContent(alert), ...home };
  const name = nameOf(monitor);
  const word = alert.closure === undefined ? STATUS_WORDS[status] : 'Closed';
  return {
    status,
    title: `${alert.reminder === undefined ? word : STILL_WORDS[status]}: ${name}`,
    facts: [
      ...lastsFacts(alert),
      ...problemFacts(alert),
      ...placeFacts(alert),
      ...timeFacts(alert),
      ...delayFacts(alert),
    ],
    // The page of the incident has the button that acknowledges it.
    ...(status === 'recovered' ? page : { link: `${page.link}/incident`, linkText: 'Open the incident' }),
  };
}

function testContent({ errorMessage }: Alert): Pick<Content, 'title' | 'facts'> {
  const text = errorMessage ?? 'Nothing is wrong.';
  return { title: 'Test of this channel', facts: [fact('Message', text)] };
}

/** Renders a message that announces no change of a status. */
function noticeContent({
  title,
  lines,
  facts = [],
}: NonNullable<Alert['notice']>): Pick<Content, 'title' | 'facts'> {
  const stated = [
    ...lines.map((line) => fact('Note', line)),
    ...facts.map(({ label, text }) => fact(label, text)),
  ];
  return { title: onOneLine(title), facts: stated.filter(hasText) };
}

/** Maximum number of monitors of a group that an alert names. */
const MONITORS_NAMED = 20;

/**
 * Renders a message about many monitors: the facts that all alerts share,
 * up to 20 monitors, and the number of the other monitors.
 */
function groupContent({
  counts,
  monitors,
  shared,
}: NonNullable<Alert['group']>): Pick<Content, 'title' | 'facts'> {
  const { notices = 0 } = counts;
  const total = counts.error + counts.degraded + counts.recovered + notices;
  const counted = (['error', 'degraded', 'recovered'] as const)
    .filter((status) => counts[status] > 0)
    .map((status) => `${counts[status]} ${status}`);
  if (notices > 0) counted.push(notices === 1 ? '1 notice' : `${notices} notices`);
  const named = monitors.slice(0, MONITORS_NAMED);
  const more = total - named.length;
  const facts = [
    fact('Same error', shared.errorMessage ?? ''),
    fact('Same host', shared.host ?? ''),
    fact('Same address', shared.address ?? ''),
    ...named.map(({ id, name, status, errorMessage, notice, lastsMs }) => {
      if (notice !== undefined) return { ...fact('Notice', notice), isMonitor: true };
      const problem =
        shared.errorMessage === undefined && errorMessage !== undefined ? ` (${errorMessage})` : '';
      const lasts = lastsMs === undefined ? '' : `, for ${durationText(lastsMs)}`;
      const named = fact(STATUS_WORDS[status], `${nameOf({ id, name })}${lasts}${problem}`);
      return { ...named, isMonitor: true };
    }),
    ...(more > 0 ? [othersFact(more)] : []),
  ];
  return { title: `${total} monitors: ${counted.join(', ')}`, facts: facts.filter(hasText) };
}

function othersFact(others: number): Fact {
  return { ...fact('More', others === 1 ? '1 other monitor' : `${others} other monitors`), others };
}

function delayFacts({ delayedMs }: Alert): Fact[] {
  return delayedMs === undefined ? [] : [fact('Delayed', `sent ${durationText(delayedMs)} late`)];
}

function lastsFacts({ reminder }: Alert): Fact[] {
  return reminder === undefined ? [] : [fact('Lasts', durationText(reminder.lastsMs))];
}

/** Facts about why an incident was closed, the failure, and the latency. */
function problemFacts({ errorMessage, statusCode, latency, degradedAt, closure }: Alert): Fact[] {
  const threshold = degradedAt === undefined ? '' : ` (degraded above ${latencyText(degradedAt)})`;
  return [
    ...(closure === undefined ? [] : [fact('Reason', CLOSURE_WORDS[closure])]),
    ...(errorMessage === undefined ? [] : [fact('Problem', errorMessage)]),
    ...(statusCode === undefined ? [] : [fact('Status code', String(statusCode))]),
    ...(latency === undefined ? [] : [fact('Latency', `${latencyText(latency)}${threshold}`)]),
  ].filter(hasText);
}

/** Writes a latency in milliseconds with at most one decimal: `123.4 ms`. */
function latencyText(ms: number): string {
  return `${Math.round(ms * 10) / 10} ms`;
}

/** Facts about the target, and about the regions that agree with the status. */
function placeFacts({ monitor, status, regions }: Alert): Fact[] {
  const agreeing = regions
    .filter(({ outcome }) => AGREEING[status].has(outcome))
    .map(({ region, text }) => text ?? region);
  const named = agreeing.slice(0, REGIONS_NAMED).join(', ');
  const more = agreeing.length - REGIONS_NAMED;
  const names = `${named}${more > 0 ? ` and ${more} more` : ''}`;
  const counted = `${agreeing.length} of ${regions.length}`;
  return [
    ...targetFacts(monitor),
    ...(agreeing.length === 0 ? [] : [fact('Regions', `${counted} (${names})`)]),
  ];
}

/**
 * The target of the monitor. Its user information and query are
 * replaced by `…`, because they may contain passwords or keys.
 */
function targetFacts({ url, type }: Alert['monitor']): Fact[] {
  const target = onOneLine(urlSecrets.replaced(url, '…'));
  return target === '' ? [] : [{ ...fact(`${type.toUpperCase()} target`, target), isAddress: true }];
}

/** For each status of an alert, the outcomes of the regions that agree with the status. */
const AGREEING: Readonly<Record<AlertStatus, ReadonlySet<string>>> = {
  error: new Set(['failed']),
  degraded: new Set(['degraded', 'failed']),
  recovered: new Set(['passed']),
};

/**
 * Facts about the time: when the status changed, when the incident began, and how long the incident lasted.
 */
function timeFacts({ status, at, since, closure }: Alert): Fact[] {
  const isOver = status === 'recovered';
  return [
    fact(closure === undefined ? AT_WORDS[status] : 'Closed at', utcText(at)),
    ...(since === undefined || since >= at ? [] : [fact('Incident began', utcText(since))]),
    ...(since === undefined || !isOver ? [] : [fact('Lasted', durationText(Math.max(0, at - since)))]),
  ];
}

const AT_WORDS: Readonly<Record<AlertStatus, string>> = {
  error: 'Failing since',
  degraded: 'Degraded since',
  recovered: 'Recovered at',
};

/** Matches a text whose characters are all displayed as nothing or as a space. */
const UNSEEN = /^[\p{Default_Ignorable_Code_Point}\s\u2800]*$/u;

function nameOf({ id, name }: Pick<Alert['monitor'], 'id' | 'name'>): string {
  const text = onOneLine(name);
  return UNSEEN.test(text) ? `monitor ${id}` : text;
}

function hasText({ text }: Fact): boolean {
  return text !== '';
}

function fact(label: string, text: string): Fact {
  return { label, text: onOneLine(text), isAddress: false };
}

/** Control characters, line breaks and white space. */
const SPACES = /[\p{Cc}\s\u2028\u2029]+/gu;
/** Characters that change the order in which a text is displayed (UAX #9). */
const BIDIRECTIONAL = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * Returns the text on one line, without characters that change its direction. Names come from
 * users, and parts of error messages come from targets, so both may contain such characters.
 */
function onOneLine(text: string): string {
  return text.toWellFormed().replace(BIDIRECTIONAL, '').replace(SPACES, ' ').trim();
}

/**
 * Lengths in characters. The texts of facts are shortened to
 * the first of these lengths with which all facts fit together.
 */
const LENGTHS = [Number.POSITIVE_INFINITY, 1_000, 500, 250, 120, 60, 30];

/**
 * Returns the facts, shortened until they fit together. Long texts are shortened before short ones. If
 * that is not enough, facts are left out one by one. The first to go are the monitors of a group, from the
 * last one on: the message then only counts them. After the monitors, the last fact is left out each time.
 */
export function factsWithin(
  facts: readonly Fact[],
  fit: (facts: readonly Fact[]) => boolean,
): readonly Fact[] {
  let within: Fact[] = [];
  for (const length of LENGTHS) {
    within = facts.map((each) => ({ ...each, text: shortened(each.text, charactersUpTo(length)) }));
    if (fit(within)) return within;
  }
  while (within.length > 0 && !fit(within)) within = withOneLess(within);
  return within;
}

function withOneLess(facts: readonly Fact[]): Fact[] {
  const last = facts.findLastIndex(({ isMonitor }) => isMonitor === true);
  if (last < 0) return facts.slice(0, -1);
  const counted = facts[last + 1]?.others ?? 0;
  const following = facts.slice(counted === 0 ? last + 1 : last + 2);
  return [...facts.slice(0, last), othersFact(counted + 1), ...following];
}

/**
 * Returns the facts as lines that fit together.
 *
 * @param line writes a fact as one line, with the escapes of the medium
 */
export function linesWithin(facts: readonly Fact[], line: (fact: Fact) => string, fits: Fits): string {
  const text = (some: readonly Fact[]) => some.map(line).join('\n');
  return text(factsWithin(facts, (some) => fits(text(some))));
}

/** A fact as a line without formatting. */
export function plainLine({ label, text }: Fact): string {
  return `${label}: ${text}`;
}

/** Title, facts and link as plain text, for media without formatting. */
export function plainText({ title, facts, link }: Content): string {
  return [title, ...facts.map(plainLine), link].join('\n');
}

/**
 * The title and the first fact, in one line. Only the title
 * if there is no fact, or if the first one is the target.
 */
export function summaryOf({ title, facts }: Content): string {
  const [first] = facts;
  return first === undefined || first.isAddress ? title : `${title}: ${first.text}`;
}

/** The texts of the facts, by their labels. Of several facts with the same label, only the last is included. */
export function detailsOf({ facts }: Content): Record<string, string> {
  return Object.fromEntries(facts.map(({ label, text }) => [label, text]));
}
