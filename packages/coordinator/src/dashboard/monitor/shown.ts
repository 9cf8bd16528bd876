import type { CheckKind } from '@svc/shared/messages/check.ts';
import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { MonitorStatus } from '../../domain/monitor.ts';
import { type State, stateLabel } from '../../web/design/states.ts';
import type { Html } from '../../web/html.ts';

/** What the pages of a monitor show of the API's answer about it. */
export type MonitorView = {
  readonly id: string;
  readonly type: CheckKind;
  readonly name: string;
  /** Of an HTTP monitor. */
  readonly url?: string;
  /** Of the other kinds. */
  readonly uri?: string;
  readonly description: string | null;
  readonly periodicity: string;
  /** ms; 0: the default of svc. */
  readonly timeout: number;
  readonly retry: number;
  /** ms; 0: never. */
  readonly degraded_at: number;
  readonly active: boolean;
  readonly regions: readonly Region[] | null;
  readonly status: MonitorStatus;
  readonly regions_status: readonly {
    readonly region: Region;
    readonly vote: Exclude<Outcome, 'not_run'>;
    /** Epoch ms. */
    readonly slot: number;
  }[];
  readonly warnings: readonly string[];
};

/** How an outcome of a check is shown. */
const OUTCOMES: Readonly<Record<Outcome, { readonly state: State; readonly word: string }>> = {
  passed: { state: 'operational', word: 'Passed' },
  degraded: { state: 'degraded', word: 'Degraded' },
  failed: { state: 'down', word: 'Failed' },
  not_run: { state: 'unknown', word: 'Not run' },
};

export function outcomeWord(outcome: Outcome): string {
  return OUTCOMES[outcome].word;
}

/** Shape, word and colour of an outcome. */
export function outcomeLabel(outcome: Outcome): Html {
  return stateLabel(OUTCOMES[outcome].state, OUTCOMES[outcome].word);
}

/** A count with its noun: `1 result`, `1,204 results`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}
