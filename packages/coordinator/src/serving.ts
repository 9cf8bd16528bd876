import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { type Api, createApi } from './api/server.ts';
import type { CoordinatorConfig } from './config.ts';
import type { ChangeEffects } from './configuration/configuration.ts';
import { Reading } from './configuration/reading.ts';
import { StoredConfiguration } from './configuration/transactions.ts';
import { type Live, servedLive } from './live.ts';
import type { Secrets } from './store/secrets.ts';
import type { Store } from './store/store.ts';
import type { Tokens } from './store/tokens.ts';

export type ServingOptions = {
  readonly config: Pick<CoordinatorConfig, 'listen' | 'metricsToken'> & { readonly publicUrl: string };
  readonly store: Store;
  readonly secrets: Secrets;
  readonly tokens: Tokens;
  /** What changes of the declaration do, where this coordinator leads. */
  readonly effects: ChangeEffects;
  /** What is known of live state, now or last. */
  readonly live: () => Live | null;
  readonly isLeading: () => boolean;
  readonly isConnected: () => boolean;
  readonly clock: Clock;
  readonly log: Logger;
};

/** What every coordinator does, whether it leads or not: it answers the API. */
export class Serving {
  readonly #api: Api;

  constructor(options: ServingOptions) {
    const { config, store, secrets, tokens, effects, live, isLeading, isConnected, clock, log } = options;
    const served = servedLive(live, isLeading, clock);
    this.#api = createApi({
      listen: config.listen,
      publicUrl: config.publicUrl,
      store,
      secrets,
      reading: new Reading(store, secrets),
      tokens,
      configuration: new StoredConfiguration({ store, secrets, effects, clock }),
      ...served,
      readiness: () => ({ nats: isConnected(), database: served.isRecording() }),
      metricsToken: config.metricsToken ?? null,
      clock,
      log,
    });
  }

  /** Listens; rejects when the address cannot be had. */
  start(): Promise<{ url: string }> {
    return this.#api.start();
  }

  stop(): Promise<void> {
    return this.#api.stop();
  }
}
