import type { Region } from '@svc/shared/regions.ts';
import { idOf } from '../../api/endpoint.ts';
import type { Called } from '../../api/in-process.ts';
import type { Problem } from '../../api/problem.ts';
import { MONITOR } from '../../api/routes/monitors.ts';
import { replayMonitor, type WhatIfView } from '../../api/routes/what-if.ts';
import { percentText } from '../../web/figures.ts';
import { Form } from '../../web/forms.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { durationText, instant } from '../../web/times.ts';
import { MONITOR_STYLES } from '../dashboard-assets.ts';
import type { DashboardAnswer, DashboardRequest } from '../dashboard-page.ts';
import { ALERT_WORDS, type ChannelNames, channelNames } from '../deliveries-list.ts';
import { monitorState } from '../state-labels.ts';
import { type MonitorView, monitorHead } from './monitor-head.ts';

/** Choices for the time that a replay covers, days. */
const DAYS = [1, 3, 7, 14] as const;

type Asked = {
  readonly days: number;
  readonly retry: string;
  readonly degradedAt: string;
  readonly quorum: string;
  readonly confirmAfter: string;
  readonly recoverAfter: string;
  readonly regions: readonly string[];
};

/** Shows the form, filled in with the settings in the query. Only the form's button starts a replay. */
export async function whatIfForm(request: DashboardRequest): Promise<DashboardAnswer> {
  const subject = await subjectOf(request);
  return whatIfPage(request, subject, askedIn(parametersOf(request), subject), null);
}

/** Runs a replay with the settings of the form. */
export async function whatIfReplay(request: DashboardRequest): Promise<DashboardAnswer> {
  const subject = await subjectOf(request);
  const asked = askedIn(parametersOf(request), subject);
  const body = bodyOf(asked, subject);
  return whatIfPage(
    request,
    subject,
    asked,
    await request.api.call(replayMonitor, { id: idOf(request) }, { body }),
  );
}

/** The monitor, and the regions that the form offers. */
type Subject = { readonly monitor: MonitorView; readonly regions: readonly Region[] };

async function subjectOf(request: DashboardRequest): Promise<Subject> {
  const monitor = await request.api.read(MONITOR.read, { id: idOf(request) });
  return { monitor, regions: monitor.regions ?? monitor.regions_status.map(({ region }) => region) };
}

/** The settings in the sent form, or in the query of a link. */
type Parameters = {
  has(name: string): boolean;
  text(name: string): string;
  all(name: string): readonly string[];
};

function parametersOf({ form, query }: DashboardRequest): Parameters {
  return form.has('days') ? form : new Form(query);
}

async function whatIfPage(
  request: DashboardRequest,
  subject: Subject,
  asked: Asked,
  called: Called<WhatIfView> | null,
): Promise<DashboardAnswer> {
  const { monitor } = subject;
  const problem = called?.problem ?? null;
  const view = called?.problem === null ? called.body : null;
  const names = view === null ? new Map() : await channelNames(request.api, channelsIn(view));
  return {
    title: `What if, for ${monitor.name}`,
    status: problem?.status ?? 200,
    styles: MONITOR_STYLES,
    body: html`${monitorHead(monitor, 'What if', request)}
<div class="stack-large">
<section aria-labelledby="settings" class="stack"><h2 id="settings">Replay with other settings</h2>
<p class="soft">The stored results are evaluated again in the order in which they were recorded. The outcome is an estimate: restarts and late reports may have other effects, and no mute holds alerts. Nothing is changed, and no alert is sent. A replay takes some seconds, at most a minute.</p>
${problem === null ? NO_HTML : refusal(problem)}
${settingsForm(request, asked, subject)}</section>
${view === null ? NO_HTML : comparison(view, names)}</div>`,
  };
}

function askedIn(given: Parameters, { monitor, regions }: Subject): Asked {
  const days = Number(given.text('days'));
  return {
    days: DAYS.find((known) => known === days) ?? 14,
    retry: given.has('retry') ? given.text('retry') : String(monitor.retry),
    degradedAt: given.has('degraded_at') ? given.text('degraded_at') : String(monitor.degraded_at),
    quorum: given.has('quorum') ? given.text('quorum') : monitor.quorum,
    confirmAfter: given.has('confirm_after') ? given.text('confirm_after') : String(monitor.confirm_after),
    recoverAfter: given.has('recover_after') ? given.text('recover_after') : String(monitor.recover_after),
    regions: given.has('days') ? given.all('region') : regions,
  };
}

/**
 * Makes the request body. Unchanged settings are left out. Without `retry` and `degraded_at`, the replay
 * takes the recorded outcomes as they are. Without another setting, it uses the value that is declared now.
 */
function bodyOf(asked: Asked, { monitor, regions: all }: Subject): object {
  const { days, retry, degradedAt, quorum, confirmAfter, recoverAfter, regions } = asked;
  const isAll = all.every((region) => regions.includes(region));
  return {
    days,
    ...(isAsItWas(retry, monitor.retry) ? {} : { retry: numberIn(retry) }),
    ...(isAsItWas(degradedAt, monitor.degraded_at) ? {} : { degraded_at: numberIn(degradedAt) }),
    ...(isAsItWas(quorum, monitor.quorum) ? {} : { quorum: numberIn(quorum.trim()) }),
    ...(isAsItWas(confirmAfter, monitor.confirm_after) ? {} : { confirm_after: numberIn(confirmAfter) }),
    ...(isAsItWas(recoverAfter, monitor.recover_after) ? {} : { recover_after: numberIn(recoverAfter) }),
    ...(isAll ? {} : { regions }),
  };
}

function isAsItWas(text: string, declared: number | string): boolean {
  return text.trim() === '' || text.trim() === String(declared);
}

/** A text that is no number is passed on, so that the API refuses it with a message. */
function numberIn(text: string): number | string {
  return /^-?\d+(?:\.\d+)?$/.test(text.trim()) ? Number(text) : text;
}

function settingsForm(
  { formToken, regionText }: DashboardRequest,
  asked: Asked,
  { monitor, regions }: Subject,
): Html {
  return html`<form method="post" action="/monitors/${monitor.id}/what-if" class="stack">${formToken}
<div class="filters">
<div class="field"><label for="days">The last</label><select id="days" name="days">${DAYS.map(
    (days) =>
      html`<option value="${days}"${days === asked.days ? html` selected` : NO_HTML}>${days === 1 ? '1 day' : `${days} days`}</option>`,
  )}</select></div>
<div class="field"><label for="retry">Further attempts (0 to ${monitor.retry})</label><input id="retry" name="retry" type="number" inputmode="numeric" min="0" max="${monitor.retry}" value="${asked.retry}"></div>
<div class="field"><label for="degraded-at">Degraded above, ms (0: never)</label><input id="degraded-at" name="degraded_at" type="number" inputmode="decimal" min="0" step="any" value="${asked.degradedAt}"></div>
<div class="field"><label for="quorum">Regions that must fail (majority, any, all, or 1 to 28)</label><input id="quorum" name="quorum" value="${asked.quorum}"></div>
<div class="field"><label for="confirm-after">Confirm after (1 to 10 checks)</label><input id="confirm-after" name="confirm_after" type="number" inputmode="numeric" min="1" max="10" value="${asked.confirmAfter}"></div>
<div class="field"><label for="recover-after">Recover after (1 to 10 checks)</label><input id="recover-after" name="recover_after" type="number" inputmode="numeric" min="1" max="10" value="${asked.recoverAfter}"></div>
</div>
<fieldset><legend>Regions</legend><div class="row">${regions.map(
    (region) =>
      html`<label class="choice"><input type="checkbox" name="region" value="${region}"${asked.regions.includes(region) ? html` checked` : NO_HTML}> ${regionText(region)}</label>`,
  )}</div></fieldset>
<div class="row"><button class="button-main">Replay</button></div>
</form>`;
}

function refusal({ message: whole, errors }: Problem): Html {
  return html`<div class="notice notice-error" role="alert"><p><strong>Nothing was replayed.</strong> ${errors.length === 0 ? whole : NO_HTML}</p>
${errors.length === 0 ? NO_HTML : html`<ul>${errors.map(({ pointer, message }) => html`<li>${NAMES[pointer.split('/')[1] ?? ''] ?? pointer} ${message}</li>`)}</ul>`}</div>`;
}

const NAMES: Readonly<Record<string, string>> = {
  days: 'Days:',
  retry: 'Further attempts:',
  degraded_at: 'Degraded above:',
  regions: 'Regions:',
  quorum: 'Regions that must fail:',
  confirm_after: 'Confirm after:',
  recover_after: 'Recover after:',
};

function comparison(view: WhatIfView, channels: ChannelNames): Html {
  const { from, until, actual, what_if: other } = view;
  const rows: readonly (readonly [label: string, actual: string, other: string])[] = [
    ['Uptime', percentText(actual.uptime), percentText(other.uptime)],
    ['Down', lengthText(actual.time.error), lengthText(other.time.error)],
    ['Degraded', lengthText(actual.time.degraded), lengthText(other.time.degraded)],
    ['No data', lengthText(actual.time.unknown), lengthText(other.time.unknown)],
    ['Changes of status', String(actual.transition_count), String(other.transition_count)],
    ['Alerts', String(actual.alert_count), String(other.alert_count)],
  ];
  return html`<section aria-labelledby="comparison" class="stack"><h2 id="comparison">What would have happened</h2>
<p>From ${instant(from)} to ${instant(until)}: ${verdict(view)}</p>
<div class="table-frame" role="group" tabindex="0" aria-label="Figures"><table>
<thead><tr><th scope="col">Figure</th><th scope="col" class="number">As it was</th><th scope="col" class="number">What if</th></tr></thead>
<tbody>${rows.map(([label, was, would]) => html`<tr><th scope="row">${label}</th><td class="number">${was}</td><td class="number">${would}</td></tr>`)}</tbody></table></div>
<h3>Alerts</h3>
${pairsTable(
  'Alerts',
  pairEvents(
    actual.alerts,
    other.alerts,
    (a, b) => a.notification_id === b.notification_id && a.status === b.status,
  ),
  ({ notification_id: id, status }) =>
    html`${ALERT_WORDS[status]} <span class="soft">${channels.get(id) ?? `Channel ${id}, removed`}</span>`,
  'No alert was sent, and none would have been.',
)}
<h3>Changes of status</h3>
${pairsTable(
  'Changes of status',
  pairEvents(actual.transitions, other.transitions, (a, b) => a.from === b.from && a.to === b.to),
  ({ to }) => monitorState(to),
  'The status did not change, and would not have.',
)}
</section>`;
}

/** Says in a sentence how many more or fewer alerts the replay has. */
function verdict({ actual, what_if: other }: WhatIfView): string {
  const more = other.alert_count - actual.alert_count;
  if (more !== 0) {
    const count = Math.abs(more);
    return `${count} ${more > 0 ? 'more' : 'fewer'} ${count === 1 ? 'alert' : 'alerts'} would have been sent.`;
  }
  return 'the same number of alerts would have been sent.';
}

function pairsTable<T extends { readonly at: number }>(
  name: string,
  pairs: readonly Pair<T>[],
  words: (entry: T) => Html,
  none: string,
): Html {
  if (pairs.length === 0) return html`<p class="soft">${none}</p>`;
  return html`<div class="table-frame" role="group" tabindex="0" aria-label="${name}"><table>
<thead><tr><th scope="col">What</th><th scope="col">As it was</th><th scope="col">What if</th></tr></thead>
<tbody>${pairs.map(
    ({ actual, other }) =>
      html`<tr><th scope="row">${wordsOf(actual ?? other, words)}</th><td>${timeOf(actual)}</td><td>${timeOf(other)}</td></tr>`,
  )}</tbody></table></div>`;
}

function wordsOf<T>(entry: T | null, words: (entry: T) => Html): Html {
  return entry === null ? NO_HTML : words(entry);
}

function timeOf(entry: { readonly at: number } | null): Html {
  return entry === null ? html`<span class="soft">–</span>` : instant(entry.at);
}

function channelsIn({ actual, what_if: other }: WhatIfView): string[] {
  return [...actual.alerts, ...other.alerts].map(({ notification_id: id }) => id);
}

function lengthText(ms: number): string {
  return ms === 0 ? '–' : durationText(ms);
}

/**
 * An entry of the actual history, and the matching entry of
 * the replay. A history without a matching entry has null.
 */
export type Pair<T> = { readonly actual: T | null; readonly other: T | null };

/**
 * Maximum time between two entries that count as the same event,
 * ms. Most monitors have several periods within this time.
 */
const SAME_WITHIN_MS = 600_000;

/**
 * Pairs the entries of two histories. Two entries of the same kind that are close in time
 * are one event. Each entry is in one pair only. The result has the newest pair first.
 *
 * @param actual newest first
 * @param other  newest first
 */
export function pairEvents<T extends { readonly at: number }>(
  actual: readonly T[],
  other: readonly T[],
  isSameKind: (one: T, other: T) => boolean,
): Pair<T>[] {
  const left = [...other];
  const pairs = actual.map((entry): Pair<T> => {
    const index = left.findIndex(
      (candidate) => isSameKind(entry, candidate) && Math.abs(entry.at - candidate.at) <= SAME_WITHIN_MS,
    );
    return { actual: entry, other: index === -1 ? null : (left.splice(index, 1)[0] ?? null) };
  });
  return [...pairs, ...left.map((entry) => ({ actual: null, other: entry }))].sort(
    (a, b) => instantOf(b) - instantOf(a),
  );
}

function instantOf<T extends { readonly at: number }>({ actual, other }: Pair<T>): number {
  return (actual ?? other)?.at ?? 0;
}
