import { basename } from 'node:path';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { type Measurement, measurementsOf } from '@svc/shared/metrics/measurement.ts';
import { processMeasurements } from '@svc/shared/metrics/process-instruments.ts';
import { API_COUNTERS, SERVING_GAUGES } from '@svc/shared/metrics/serving-instruments.ts';
import type { RecentError } from '@svc/shared/recent-errors.ts';
import { createApiCounters } from './api/api-counters.ts';
import { type Api, createApi } from './api/server.ts';
import type { TlsFiles } from './api/tls-files.ts';
import type { CoordinatorConfig } from './config.ts';
import type { ChangeEffects } from './configuration/configuration.ts';
import { Reading } from './configuration/reading.ts';
import { StoredConfiguration } from './configuration/transactions.ts';
import { type Live, servedLive } from './live.ts';
import { channelProblems, type OperatorValues } from './notify/sender.ts';
import type { Secrets } from './store/secrets.ts';
import type { Store } from './store/store.ts';
import type { Tokens } from './store/tokens.ts';

export type ServingParts = {
  readonly config: Pick<CoordinatorConfig, 'listen' | 'metricsToken' | 'config' | 'trustedProxies'> & {
    readonly publicUrl: string;
    readonly tls: TlsFiles | null;
  };
  /** Values of the settings that kinds of channel read. */
  readonly operator: OperatorValues;
  readonly store: Store;
  readonly secrets: Secrets;
  readonly tokens: Tokens;
  /** Applies the effects of changes of the declaration, where this coordinator leads. */
  readonly effects: ChangeEffects;
  /** The present or last known live state. */
  readonly live: () => Live | null;
  readonly isLeading: () => boolean;
  readonly isConnected: () => boolean;
  /** The last errors of the log; left out: they are not kept. */
  readonly recentErrors?: (() => readonly RecentError[]) | undefined;
  readonly clock: Clock;
  readonly log: Logger;
};

/** Interval at which the last uses of tokens are written, ms. */
const SAVE_USES_EVERY_MS = 60_000;

/** The work of every coordinator, whether it leads or not: it serves the API. */
export class Serving {
  readonly #api: Api;
  readonly #parts: ServingParts;
  readonly #counters = createApiCounters();
  readonly #live: Live;
  /** Epoch ms. */
  readonly #startedAt: number;
  #cancelSaving: () => void = () => {};

  constructor(parts: ServingParts) {
    this.#parts = parts;
    const { config, operator, store, secrets, tokens, effects, live, isLeading, isConnected, clock, log } =
      parts;
    this.#startedAt = clock.wall();
    const declaredFile = config.config === undefined ? undefined : basename(config.config);
    const served = servedLive(live, isLeading, clock);
    this.#live = served;
    this.#api = createApi({
      listen: config.listen,
      publicUrl: config.publicUrl,
      trustedProxies: config.trustedProxies,
      tls: config.tls,
      store,
      secrets,
      reading: new Reading(store, secrets),
      tokens,
      declaredFile,
      configuration: new StoredConfiguration({ store, secrets, effects, declaredFile, clock }),
      channelProblem: channelProblems(operator),
      ...served,
      counters: this.#counters,
      measurements: () => this.measurements(),
      readiness: () => ({ nats: isConnected(), database: served.isRecording() }),
      recentErrors: parts.recentErrors,
      metricsToken: config.metricsToken ?? null,
      clock,
      log,
    });
  }

  /** Starts to listen. Rejects when that is impossible at the address. */
  start(): Promise<{ url: string }> {
    const { clock } = this.#parts;
    this.#cancelSaving = clock.every(SAVE_USES_EVERY_MS, () => void this.#saveUses());
    return this.#api.start();
  }

  async stop(): Promise<void> {
    this.#cancelSaving();
    await this.#api.stop();
    await this.#saveUses();
  }

  /** Everything that the coordinator reports about itself now, for every export. */
  measurements(): Measurement[] {
    const { isLeading, isConnected } = this.#parts;
    const gauges = { leading: Number(isLeading()), natsConnected: Number(isConnected()) };
    return [
      ...this.#live.measurements(),
      ...measurementsOf(API_COUNTERS, this.#counters, this.#startedAt),
      ...measurementsOf(SERVING_GAUGES, gauges, this.#startedAt),
      ...processMeasurements(),
    ];
  }

  /** Saves the uses of tokens. Uses that cannot be written now are written next time. */
  async #saveUses(): Promise<void> {
    const { tokens, log } = this.#parts;
    await tokens.saveUses().catch((error: unknown) => {
      log.warn({ error: messageOf(error) }, 'could not save when API tokens were last used');
    });
  }
}
