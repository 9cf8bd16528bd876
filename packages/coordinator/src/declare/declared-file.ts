import { basename, resolve } from 'node:path';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import { FileWatch } from '@svc/shared/file-watch.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { Configuration, ConfigurationChange } from '../configuration/configuration.ts';
import { GrowingWaits } from '../configuration/growing-waits.ts';
import { StoreError } from '../store/errors.ts';
import type { Secrets } from '../store/secrets.ts';
import { DeclarationError, formatError, type LocatedError } from './located-error.ts';
import { type ReadDeclaration, readDeclaration } from './read.ts';
import { type Reconciled, type ReconcileOptions, reconcile, wasApplied } from './reconcile.ts';

export type DeclaredFileParts = {
  readonly path: string;
  /** Workspace that the file declares. */
  readonly workspaceId: number;
  readonly configuration: Configuration;
  /** Opens what is stored, to compare. */
  readonly secrets: Secrets;
  /** What `${env.NAME}` inserts. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** SVC_CONFIG_ALLOW_DELETE */
  readonly allowsDelete: boolean;
  /** Why nothing can be delivered through channels of this kind (an operator's setting is missing), or null. */
  readonly channelProblem: ReconcileOptions['channelProblem'];
  readonly clock: Clock;
  readonly log: Logger;
  /** How the file is read; on a thread of its own unless given. */
  readonly read?: typeof readDeclaration;
};

export type DeclaredFileStatus = {
  readonly path: string;
  /** Epoch ms when this process last applied it; null: not yet. */
  readonly appliedAt: number | null;
  /** SHA-256 (hex) of the file as it was applied last. */
  readonly digest: string | null;
  readonly resources: number;
  /** What is wrong with the file as it is now; empty when it is applied, or waits for the database. */
  readonly errors: readonly LocatedError[];
  /** Why the file is not applied although nothing is wrong with it; null: it does not wait. */
  readonly waiting: DatabaseWait | null;
};

/** The database could not take the file for now (it is full, or another program holds it). */
export type DatabaseWait = {
  readonly reason: string;
  /** How often it was tried. */
  readonly tries: number;
  /** Epoch ms when it is tried again. */
  readonly nextAt: number;
};

/**
 * Keeps what is declared in the file: applied at start, on {@link reload} (SIGHUP) and when it changes.
 * A declaration with errors changes nothing: the last applied one goes on. One that the database cannot take
 * for now is tried again, after growing waits, until it is applied, changes, or is not watched any more.
 */
export class DeclaredFile {
  readonly #parts: DeclaredFileParts;
  readonly #path: string;
  readonly #stopping = new AbortController();
  readonly #watch: FileWatch;
  readonly #waits: GrowingWaits;
  #running: Promise<void> | null = null;
  #isAskedAgain = false;
  #insertedFiles: readonly string[] = [];
  #status: DeclaredFileStatus;

  constructor(parts: DeclaredFileParts) {
    this.#parts = parts;
    this.#path = resolve(parts.path);
    const nothing = { appliedAt: null, digest: null, resources: 0, errors: [], waiting: null };
    this.#status = { path: this.#path, ...nothing };
    this.#waits = new GrowingWaits(parts.clock);
    this.#watch = new FileWatch(parts.clock, parts.log, () => void this.reload());
  }

  status(): DeclaredFileStatus {
    return this.#status;
  }

  /**
   * Applies the file and begins to watch it. Resolves also when it waits for the database.
   *
   * @throws DeclarationError with all errors, when this database has no declaration that could go on
   */
  async start(): Promise<void> {
    await this.reload();
    if (this.#status.errors.length === 0) return;
    if (await this.#transaction(wasApplied)) return;
    this.#watch.close();
    throw new DeclarationError(this.#status.errors);
  }

  /** Applies the file as it is at some moment after the call. Never rejects: errors are logged and kept. */
  reload(): Promise<void> {
    this.#waits.reset();
    return this.#ask();
  }

  #ask(): Promise<void> {
    if (this.#running !== null) {
      this.#isAskedAgain = true;
      return this.#running;
    }
    this.#running = this.#run().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** What is being applied is rolled back. */
  async stop(): Promise<void> {
    this.#watch.close();
    this.#stopping.abort(new SvcError('stopping', 'the declared file is no longer watched'));
    this.#waits.reset();
    await this.#running;
  }

  async #run(): Promise<void> {
    do {
      this.#isAskedAgain = false;
      if (this.#stopping.signal.aborted) return;
      try {
        await this.#apply();
      } catch (error) {
        if (this.#stopping.signal.aborted) return;
        if (error instanceof StoreError && error.retryable) this.#wait(error);
        else this.#refused(error);
      }
    } while (this.#isAskedAgain);
  }

  async #apply(): Promise<void> {
    const { env, log, clock, read = readDeclaration } = this.#parts;
    const { signal } = this.#stopping;
    // Before reading: a change in between is then seen as one.
    await this.#watch.expect([this.#path, ...this.#insertedFiles]);
    const declaration = await read({ path: this.#path, env }, signal);
    this.#insertedFiles = declaration.insertedFiles;
    await this.#watch.add(declaration.insertedFiles);
    if (declaration.errors.length > 0) throw new DeclarationError(declaration.errors);
    const reconciled = await this.#reconcile(declaration);
    this.#status = {
      path: this.#path,
      appliedAt: clock.wall(),
      digest: declaration.digest,
      resources: declaration.entries.length,
      errors: [],
      waiting: null,
    };
    this.#waits.reset();
    log.info({ file: this.#path, ...reconciled }, 'declaration applied');
  }

  #reconcile(declaration: ReadDeclaration): Promise<Reconciled> {
    const { secrets, allowsDelete, channelProblem } = this.#parts;
    const resetsChannels = this.#status.appliedAt === null;
    return this.#transaction((change) =>
      reconcile(
        change,
        { file: basename(this.#path), digest: declaration.digest, entries: declaration.entries },
        {
          secrets,
          allowsDelete,
          channelProblem,
          resetsChannels,
          signal: this.#stopping.signal,
          at: this.#parts.clock.wall(),
        },
      ),
    );
  }

  #transaction<T>(work: (change: ConfigurationChange) => Promise<T>): Promise<T> {
    const { configuration, workspaceId } = this.#parts;
    return configuration.transaction({ workspaceId, actor: 'file' }, work);
  }

  #wait(error: StoreError): void {
    const { clock, log } = this.#parts;
    const waitMs = this.#waits.again(() => void this.#ask());
    const { tries } = this.#waits;
    const reason = messageOf(error);
    this.#status = { ...this.#status, errors: [], waiting: { reason, tries, nextAt: clock.wall() + waitMs } };
    log.warn(
      { file: this.#path, reason, tries, waitMs },
      'declaration waits for the database: nothing was changed, and it is tried again',
    );
  }

  #refused(error: unknown): void {
    const errors =
      error instanceof DeclarationError
        ? error.errors
        : [
            {
              file: basename(this.#path),
              line: 1,
              column: 1,
              message: `could not be applied: ${messageOf(error)}`,
            },
          ];
    this.#status = { ...this.#status, errors, waiting: null };
    this.#waits.reset();
    this.#parts.log.error(
      { file: this.#path, errors: errors.map(formatError) },
      'declaration refused: nothing was changed',
    );
  }
}
