import { basename, dirname, resolve } from 'node:path';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { FileWatch } from '@svc/shared/process/file-watch.ts';
import type { Region } from '@svc/shared/regions.ts';
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
 * Maximum number of warnings in the log line about an applied file.
 * The line also gives the number of the warnings that it leaves out.
 */
const WARNINGS_LOGGED = 10;

export type DeclaredFileParts = {
  readonly path: string;
  /** The workspace that the file declares. */
  readonly workspaceId: number;
  readonly configuration: Configuration;
  /** Database in which the declared resources and the last applied declaration are stored. */
  readonly store: Pick<Store, 'work'>;
  /** Version of svc. Different versions may read the same file differently. */
  readonly version: string;
  /** Decrypts the stored secrets, so that they can be compared with the secrets in the file. */
  readonly secrets: Secrets;
  /** Variables that `${env.NAME}` inserts. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Value of SVC_CHANNEL_EGRESS_ALLOW; absent: it is not set. */
  readonly channelEgressAllow?: readonly string[] | undefined;
  /** The regions of the installation; absent: the 28. */
  readonly regions?: readonly Region[] | undefined;
  /** Value of SVC_CONFIG_ALLOW_DELETE. */
  readonly allowsDelete: boolean;
  /**
   * Returns why a channel of this kind with these settings cannot deliver, for
   * example because a setting of the operator is missing; null: it can deliver.
   */
  readonly channelProblem: ChannelStates['channelProblem'];
  readonly clock: Clock;
  readonly log: Logger;
  /** Reads the file. The default is {@link readDeclaration}, which reads it on a separate thread. */
  readonly read?: typeof readDeclaration | undefined;
};

export type DeclaredFileStatus = {
  readonly path: string;
  /** When this object last applied the file, epoch ms; null: it has not applied the file yet. */
  readonly appliedAt: number | null;
  /** SHA-256 (hex) of the last applied file; null: this object has not applied the file yet. */
  readonly digest: string | null;
  /** Number of resources in the last applied file; 0 before the first apply. */
  readonly resources: number;
  /** Errors of the present file; empty when the file is applied, or waits for the database. */
  readonly errors: readonly LocatedError[];
  /** Warnings about parts of the applied declaration, most of them parts without effect. */
  readonly warnings: readonly LocatedError[];
  /** Set while the file waits for the database; null: the file does not wait. */
  readonly waiting: DatabaseWait | null;
};

/**
 * The file waits to be applied, because the database does not work now: for
 * example, the disk is full, or another program has locked the database.
 */
export type DatabaseWait = {
  readonly reason: string;
  /** Number of failed tries to apply the file. */
  readonly tries: number;
  /** When the next try begins, epoch ms. */
  readonly nextAt: number;
};

/**
 * Keeps the resources equal to the declared file. Applies the file at the start,
 * on {@link reload} (SIGHUP), and when the file or a file that it inserts changes.
 *
 * A file with errors changes nothing: the last applied declaration stays in effect.
 * When the database cannot accept the file now, svc applies the file again after
 * growing waits, until it succeeds, the file changes, or {@link stop} is called.
 */
export class DeclaredFile {
  readonly #parts: DeclaredFileParts;
  readonly #path: string;
  /** Reads with `Store.work`, which does not wait behind the queries for pages and for the API. */
  readonly #stored: Readable;
  readonly #stopping = new AbortController();
  readonly #watch: FileWatch;
  readonly #waits: GrowingWaits;
  #applying: Promise<void> | null = null;
  #isRequestedAgain = false;
  /** Whether the next apply must read the file even if its sources are unchanged. */
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
   * Returns the state of the file, for the API, the dashboard and tests. The
   * log has the same errors and waits, and up to ten of the warnings.
   */
  status(): DeclaredFileStatus {
    return this.#status;
  }

  /**
   * Applies the file and begins to watch it. The promise also resolves when the file waits for the database.
   *
   * @throws DeclarationError with the file's errors, if no declaration was
   *   ever applied to this database. If one was applied, it stays in effect
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
   * Never rejects: the log and the status contain the errors.
   */
  reload(): Promise<void> {
    this.#mustRead = true;
    return this.#applyAnew();
  }

  /**
   * Applies the file now, and ends a wait for the database. If the sources and the rows
   * are as after the last apply, the file is not parsed, except by a {@link reload}.
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
    this.#applying = this.#applyRequested();
    return this.#applying;
  }

  /** Stops watching the file. A running apply is rolled back, unless it is about to commit. */
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
      // A call of reload() from here on affects the next apply, not the present one.
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
    // No request can come between the last look at the flag and this line.
    this.#applying = null;
  }

  async #apply(mustRead: boolean): Promise<void> {
    if (!mustRead && (await this.#applyIfUnchanged())) return;
    const { env, channelEgressAllow, regions, read = readDeclaration } = this.#parts;
    // The watch begins before the reading, so that a change in between is noticed.
    await this.#watch.watchFiles([this.#path, ...this.#insertedFiles]);
    const request = { path: this.#path, env, channelEgressAllow, regions };
    const declaration = await read(request, this.#stopping.signal);
    this.#insertedFiles = this.#pathsOf(declaration.inserted.files.map(({ name }) => name));
    await this.#watch.addFiles(this.#insertedFiles);
    if (declaration.errors.length > 0) throw new DeclarationError(declaration.errors);
    const reconciled = await this.#reconcile(declaration);
    this.#setApplied(declaration, declaration.entries.length);
    this.#parts.log.info({ file: this.#path, ...reconciled }, 'applied the declared file');
  }

  /**
   * Returns whether the sources and the rows are the same as after the last apply. If they are
   * the same, sets the states of channels and the status of the file, and changes nothing else.
   */
  async #applyIfUnchanged(): Promise<boolean> {
    const { workspaceId, secrets, version, env, channelEgressAllow = [], regions = [], log } = this.#parts;
    const applied = await appliedDeclaration(this.#stored);
    if (applied === null) return false;
    this.#insertedFiles = this.#pathsOf(applied.files);
    // The watch begins before the reading, as in #apply.
    await this.#watch.watchFiles([this.#path, ...this.#insertedFiles]);
    const present = { path: this.#path, version, env, channelEgressAllow, regions };
    const now = await sourcesNow(present, applied, this.#stopping.signal);
    if (now === null || !isFingerprintOf(secrets, applied.fingerprint, now)) return false;
    if ((await ownedRows(this.#stored, workspaceId)) !== applied.rows) return false;
    const channels = await storedChannels(this.#stored, secrets, workspaceId);
    await this.#transaction((change) => setChannelStates(change, channels, this.#channelStates()));
    // The file may have had another name when its warnings were stored.
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

  /** Returns the paths of the inserted files. A relative name counts from the folder of the declared file. */
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
    const { secrets, version, env, channelEgressAllow = [], regions = [] } = this.#parts;
    const { files, variables } = inserted;
    const values = valuesOf(variables, env);
    const sources = { version, digest, files, variables: values, channelEgressAllow, regions };
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
