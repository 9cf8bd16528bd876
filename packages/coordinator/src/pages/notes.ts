import type { State } from '../web/design/states.ts';

/** What an operator wrote about an incident on a page. Instants are epoch ms. */
export type NotedIncident = {
  readonly id: string;
  readonly title: string;
  readonly state: 'investigating' | 'identified' | 'monitoring' | 'resolved';
  /** The state that it gives to the components while it lasts. */
  readonly impact: State;
  readonly componentIds: readonly string[];
  readonly startedAt: number;
  /** Null: it lasts. */
  readonly endedAt: number | null;
  /** Newest first. */
  readonly updates: readonly {
    readonly id: string;
    readonly at: number;
    readonly state: NotedIncident['state'];
    readonly text: string;
  }[];
};

/** A maintenance window as a page shows it; each time of a repeating window is one. Instants are epoch ms. */
export type NotedMaintenance = {
  readonly id: string;
  readonly title: string;
  readonly description: string | null;
  readonly state: 'scheduled' | 'in_progress' | 'completed';
  readonly componentIds: readonly string[];
  readonly startsAt: number;
  readonly endsAt: number;
  readonly createdAt: number;
  readonly updatedAt: number;
};

/** What operators wrote on a page: incidents newest first, maintenance by its beginning. */
export type PageNotes = {
  readonly incidents: readonly NotedIncident[];
  readonly maintenance: readonly NotedMaintenance[];
};

export const NO_NOTES: PageNotes = { incidents: [], maintenance: [] };

/** Where the notes of pages come from. */
export interface NotesSource {
  /** A text that changes with each commit that changes the notes of the page. */
  version(pageId: number): Promise<string>;
  /**
   * The notes of the page that last, that are to come, or that ended at `from` or later.
   *
   * @param from epoch ms
   * @param now  epoch ms
   */
  read(pageId: number, span: { readonly from: number; readonly now: number }): Promise<PageNotes>;
}
