import type { Metric } from './metrics.ts';

/** How often the API answered with which status since the start. */
export class AnswerCounters {
  readonly #byStatus = new Map<number, number>();

  count(status: number): void {
    this.#byStatus.set(status, (this.#byStatus.get(status) ?? 0) + 1);
  }

  metrics(): Metric[] {
    const samples = [...this.#byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, value]) => ({ labels: { status: String(status) }, value }));
    return [
      { name: 'svc_api_answers_total', help: 'Answers of the API by HTTP status.', type: 'counter', samples },
    ];
  }
}
