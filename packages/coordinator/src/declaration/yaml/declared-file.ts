import { basename, dirname, resolve } from 'node:path';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { FileWatch } from '@svc/shared/process/file-watch.ts';
import { GrowingWaits } from '@svc/shared/waiting.ts';
import { appliedDeclaration, ownedRows } from '../../store/declaration/applied-declaration.ts';
import type { Secrets } from '../../store/declaration/secrets.ts';
import { StoreError } from '../../store/errors.ts';
import type { Readable } from '../../store/queries.ts';
import type { Store } from '../../store/store.ts';
import type { Configuration, ConfigurationChange } from '../configuration.ts';
import { type ChannelStates, setChannelStates, storedChannels } from './channel-states.ts';
import { DeclarationError, formatError, type LocatedError } from './declaration.ts';
import { prepareChanges } from './plan.ts';
import { type ReadDeclaration, readDeclaration } from './read.ts';
import { type Declaration, type Reconciled, reconcile, wasApplied } from './reconcile.ts';
import { fingerprintOf, isFingerprintOf, sourcesNow, valuesOf } from './sources.ts';

/**
 * Maximum number of warnings in the log line about an applied
 * file. The line gives the number of further warnings.
 */
const WARNINGS_LOGGED = 10;

export type DeclaredFileParts = {
  readonly path: string;
  /** The workspace that the file declares. */
  readonly workspaceId: number;
  readonly configuration: Configuration;
  /** Database with the declared resources and the last applied declaration. */
  readonly store: Pick<Store, 'work'>;
  /** Version of svc. Another version may read the same file differently. */
  readonly version: string;
  /** Decrypts the stored secrets, so that they can be compared with the secrets in the file. */
  readonly secrets: Secrets;
  /** Variables that `${env.NAME}` inserts. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Value of SVC_CHANNEL_EGRESS_ALLOW; absent: it is not set. */
  readonly channelEgressAllow?: readonly string[] | undefined;
  /** Value of SVC_CONFIG_ALLOW_DELETE. */
  readonly allowsDelete: boolean;
  /**
   * Says why channels of this kind cannot deliver (a setting
   * of the operator is missing); null: they can deliver.
   */
  readonly channelProblem: ChannelStates['channelProblem'];
  readonly clock: Clock;
  readonly log: Logger;
  /** Reads the file; by default {@link readDeclaration}, on a separate thread. */
  readonly read?: typeof readDeclaration | undefined;
};

export type DeclaredFileStatus = {
  readonly path: string;
  /** When this process last applied the file, epoch ms; null: not yet. */
  readonly appliedAt: number | null;
  /** SHA-256 (hex) of the last applied file. */
  readonly digest: string | null;
  readonly resources: number;
  /** Errors of the present file; empty when the file is applied or waits for the database. */
  readonly errors: readonly LocatedError[];
  /** Parts of the applied declaration that have no effect. */
  readonly warnings: readonly LocatedError[];
  /** Set while a file without errors waits for the database; null: the file does not wait. */
  readonly waiting: DatabaseWait | null;
};

/** The database cannot accept the file now: it is full, or another program has locked it. */
export type DatabaseWait = {
  readonly reason: string;
  /** Number of failed tries. */
  readonly tries: number;
  /** When the file is applied again, epoch ms. */
  readonly nextAt: number;
};

/**
 * Keeps the resources equal to the declared file. It applies the file at the start, on {@link reload}
 * (SIGHUP) and when the file changes.
 *
 * A file with errors changes nothing: the last applied declaration stays in effect. When the database cannot
 * accept the file now, the file is applied again after growing waits, until that succeeds, the file changes,
 * or {@link stop} is called.
 */
export class DeclaredFile {
  readonly #parts: DeclaredFileParts;
  readonly #path: string;
  /** Reads the store with `Store.work`, which does not wait behind the reads for pages and for the API. */
  readonly #stored: Readable;
  readonly #stopping = new AbortController();
  readonly #watch: FileWatch;
  readonly #waits: GrowingWaits;
  #applying: Promise<void> | null = null;
  #isRequestedAgain = false;
  /** Whether the next apply must read the file even when its sources are unchanged. */
  #mustRead = false;
  #insertedFiles: readonly string[] = [];
  #status: DeclaredFileStatus;

  constructor(parts: DeclaredFileParts) {
    this.#parts = parts;
    this.#path = resolve(parts.path);
    this.#stored = { read: parts.store.work };
    const nothing = { appliedAt: null, digest: null, resources: 0, errors: [], warnings: [], waiting: null };
    this.#status = { path: this.#path, ...nothing };
    this.#waits = new GrowingWaits(parts.clock);
    this.#watch = new FileWatch(parts.clock, parts.log, () => void this.#applyAnew());
  }

  /**
   * The state of the file, for the API, the dashboard and
   * tests. The log reports the same errors, warnings and waits.
   */
  status(): DeclaredFileStatus {
    return this.#status;
  }

  /**
   * Applies the file and begins to watch it. It also resolves when the file waits for the database.
   *
   * @throws DeclarationError with all errors, when the database has no earlier declaration that stays in
   * effect
   */
  async start(): Promise<void> {
    await this.#applyAnew();
    if (this.#status.errors.length === 0) return;
    if (await this.#transaction(wasApplied)) return;
    this.#watch.close();
    throw new DeclarationError(this.#status.errors);
  }

  /**
   * Reads the file again, and applies it even if it has not changed.
   * Never rejects: errors are logged, and are in the status.
   */
  reload(): Promise<void> {
    this.#mustRead = true;
    return this.#applyAnew();
  }

  /**
   * Applies the file now, and ends an earlier wait for the database. The file
   * is not parsed when its sources are equal to the last applied sources.
   */
  #applyAnew(): Promise<void> {
    this.#waits.endWait();
    return this.#requestApply();
  }

  #requestApply(): Promise<void> {
    if (this.#applying !== null) {
      this.#isRequestedAgain = true;
      return this.#applying;
    }
    this.#applying = this.#applyRequested().finally(() => {
      this.#applying = null;
    });
    return this.#applying;
  }

  /** Stops watching the file. An apply in progress is rolled back. */
  async stop(): Promise<void> {
    this.#watch.close();
    this.#stopping.abort(new SvcError('stopping', 'the declared file is not watched any more'));
    this.#waits.endWait();
    await this.#applying;
  }

  async #applyRequested(): Promise<void> {
    do {
      this.#isRequestedAgain = false;
      if (this.#stopping.signal.aborted) return;
      const mustRead = this.#mustRead;
      // From here on, a call of reload() affects the next apply, not this one.
      this.#mustRead = false;
      try {
        await this.#apply(mustRead);
      } catch (error) {
        if (this.#stopping.signal.aborted) return;
        if (error instanceof StoreError && error.retryable) {
          this.#mustRead ||= mustRead;
          this.#applyLater(error);
        } else this.#setRefused(error);
      }
    } while (this.#isRequestedAgain);
  }

  async #apply(mustRead: boolean): Promise<void> {
    if (!mustRead && (await this.#applyIfUnchanged())) return;
    const { env, channelEgressAllow, read = readDeclaration } = this.#parts;
    // The watch begins before the reading, so that a change in between is noticed.
    await this.#watch.watchFiles([this.#path, ...this.#insertedFiles]);
    const declaration = await read({ path: this.#path, env, channelEgressAllow }, this.#stopping.signal);
    this.#insertedFiles = this.#pathsOf(declaration.inserted.files.map(({ name }) => name));
    await this.#watch.addFiles(this.#insertedFiles);
    if (declaration.errors.length > 0) throw new DeclarationError(declaration.errors);
    const reconciled = await this.#reconcile(declaration);
    this.#setApplied(declaration, declaration.entries.length);
    this.#parts.log.info({ file: this.#path, ...reconciled }, 'applied the declared file');
  }

  /**
   * Whether neither the sources nor the rows have changed since
   * the last apply. If so, sets only the states of channels.
   */
  async #applyIfUnchanged(): Promise<boolean> {
    const { workspaceId, secrets, version, env, channelEgressAllow = [], log } = this.#parts;
    const applied = await appliedDeclaration(this.#stored);
    if (applied === null) return false;
    this.#insertedFiles = this.#pathsOf(applied.files);
    // The watch begins before the reading, as in #apply.
    await this.#watch.watchFiles([this.#path, ...this.#insertedFiles]);
    const present = { path: this.#path, version, env, channelEgressAllow };
    const now = await sourcesNow(present, applied, this.#stopping.signal);
    if (now === null || !isFingerprintOf(secrets, applied.fingerprint, now)) return false;
    if ((await ownedRows(this.#stored, workspaceId)) !== applied.rows) return false;
    const channels = await storedChannels(this.#stored, secrets, workspaceId);
    await this.#transaction((change) => setChannelStates(change, channels, this.#channelStates()));
    // The file may have been renamed since the last apply.
    const file = basename(this.#path);
    const warnings = applied.warnings.map((warning) => ({ ...warning, file }));
    this.#setApplied({ digest: applied.digest, warnings }, applied.resources);
    log.info({ file: this.#path, unchanged: applied.resources }, 'the declared file is unchanged');
    return true;
  }

  #setApplied({ digest, warnings }: Pick<ReadDeclaration, 'digest' | 'warnings'>, resources: number): void {
    this.#status = {
      path: this.#path,
      appliedAt: this.#parts.clock.wall(),
      digest,
      resources,
      errors: [],
      warnings,
      waiting: null,
    };
    this.#waits.endWait();
    this.#logWarnings(warnings);
  }

  /**
   * Paths of the inserted files with these names. The names are relative to the folder of the declared file.
   */
  #pathsOf(names: readonly string[]): string[] {
    return names.map((name) => resolve(dirname(this.#path), name));
  }

  #channelStates(): ChannelStates {
    return { channelProblem: this.#parts.channelProblem, resetsChannels: this.#status.appliedAt === null };
  }

  #logWarnings(warnings: readonly LocatedError[]): void {
    if (warnings.length === 0) return;
    const more = Math.max(0, warnings.length - WARNINGS_LOGGED);
    this.#parts.log.warn(
      {
        file: this.#path,
        ...(more > 0 ? { more } : {}),
        warnings: warnings.slice(0, WARNINGS_LOGGED).map(formatError),
      },
      'parts of the declared file have no effect',
    );
  }

  async #reconcile(declaration: ReadDeclaration): Promise<Reconciled> {
    const { secrets, workspaceId, allowsDelete, clock } = this.#parts;
    const options = {
      ...this.#channelStates(),
      secrets,
      allowsDelete,
      signal: this.#stopping.signal,
      at: clock.wall(),
    };
    const { entries } = declaration;
    const sources = this.#sourcesOf(declaration);
    const prepared = await prepareChanges(this.#stored, { secrets, workspaceId, entries });
    this.#stopping.signal.throwIfAborted();
    return this.#transaction((change) =>
      reconcile(change, { file: basename(this.#path), sources, entries }, prepared, options),
    );
  }

  #sourcesOf({ digest, inserted, warnings }: ReadDeclaration): Declaration['sources'] {
    const { secrets, version, env, channelEgressAllow = [] } = this.#parts;
    const { files, variables } = inserted;
    const sources = { version, digest, files, variables: valuesOf(variables, env), channelEgressAllow };
    return {
      digest,
      files: files.map(({ name }) => name),
      variables,
      fingerprint: fingerprintOf(secrets, sources),
      warnings,
    };
  }

  #transaction<T>(work: (change: ConfigurationChange) => Promise<T>): Promise<T> {
    const { configuration, workspaceId } = this.#parts;
    return configuration.transaction({ workspaceId, actor: 'file' }, work);
  }

  #applyLater(error: StoreError): void {
    const { clock, log } = this.#parts;
    const waitMs = this.#waits.scheduleRetry(() => void this.#requestApply());
    const { tries } = this.#waits;
    const reason = messageOf(error);
    this.#status = { ...this.#status, errors: [], waiting: { reason, tries, nextAt: clock.wall() + waitMs } };
    log.warn(
      { file: this.#path, reason, tries, waitMs },
      'the database cannot accept the declared file now: nothing was changed, and svc tries again',
    );
  }

  #setRefused(error: unknown): void {
    const errors =
      error instanceof DeclarationError
        ? error.errors
        : [
            {
              file: basename(this.#path),
              line: 1,
              column: 1,
              message: `the file could not be applied: ${messageOf(error)}`,
            },
          ];
    this.#status = { ...this.#status, errors, waiting: null };
    this.#waits.endWait();
    this.#parts.log.error(
      { file: this.#path, errors: errors.map(formatError) },
      'refused the declared file: nothing was changed',
    );
  }
}
