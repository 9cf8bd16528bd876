import type { LiveMonitor } from '../domain/monitor.ts';
import type { Comparison, WhatIf } from './compare.ts';

/** What the thread of a replay is started with. It gets no secret. */
export type WhatIfRequest = Omit<WhatIf, 'present'> & {
  /** Path of the database file. */
  readonly path: string;
  readonly present: Omit<LiveMonitor, 'checkText' | 'declaredExport'>;
};

export type WhatIfAnswer = Comparison | null;
