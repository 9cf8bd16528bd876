import { readFile } from 'node:fs/promises';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import { FileWatch } from '@svc/shared/file-watch.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { Secret } from '@svc/shared/secret.ts';
import { z } from 'zod';
import type { Tokens } from './store/tokens.ts';

/** Shorter ones are warned about; the next version refuses them. */
const SHORT_TOKEN = 32;

/**
 * What SVC_API_TOKEN or its file holds: one token, or two in two lines that are valid at once, so that one can
 * take the place of the other without a moment in which a client is refused. Clients take the first.
 */
export const operatorTokens = z
  .string()
  .transform((text) => text.split(/\r?\n/).filter((line) => line !== ''))
  .pipe(
    z
      .array(
        z
          .string()
          .min(16, 'must have at least 16 characters')
          .max(512, 'must have at most 512 characters')
          .regex(/^[\u0021-\u007e]*$/, 'must not contain blanks or characters that are not ASCII'),
      )
      .min(1, 'must have a token')
      .max(2, 'must have at most two lines'),
  );

export type OperatorTokensParts = {
  readonly tokens: Tokens;
  readonly workspaceId: number;
  /** As the start read them. */
  readonly secrets: Secret<readonly string[]>;
  /** File that is read again when it changes; null: they stand in the environment. */
  readonly path: string | null;
  readonly clock: Clock;
  readonly log: Logger;
};

/** Keeps the operator's tokens what their file says. A file that cannot be used changes nothing. */
export class OperatorTokens {
  readonly #parts: OperatorTokensParts;
  readonly #watch: FileWatch | null;
  #reading: Promise<void> = Promise.resolve();

  constructor(parts: OperatorTokensParts) {
    this.#parts = parts;
    const { path, clock, log } = parts;
    this.#watch = path === null ? null : new FileWatch(clock, log, () => this.#readSoon());
  }

  /** @throws StoreError */
  async start(): Promise<void> {
    const { path, secrets } = this.#parts;
    if (path !== null) await this.#watch?.expect([path]);
    await this.#set(secrets.reveal());
    // It may have changed since it was read, before it was watched.
    this.#readSoon();
  }

  async stop(): Promise<void> {
    this.#watch?.close();
    await this.#reading;
  }

  #readSoon(): void {
    this.#reading = this.#reading.then(() => this.#read());
  }

  async #read(): Promise<void> {
    const { path, log } = this.#parts;
    if (path === null) return;
    try {
      const parsed = operatorTokens.safeParse(await readFile(path, 'utf8'));
      if (!parsed.success)
        throw new SvcError('bad-tokens', parsed.error.issues.map(({ message }) => message).join('; '));
      await this.#set(parsed.data);
    } catch (error) {
      log.error(
        { path, error: messageOf(error) },
        'API tokens could not be read again; the former ones stay',
      );
    }
  }

  async #set(secrets: readonly string[]): Promise<void> {
    const { tokens, workspaceId, clock, log } = this.#parts;
    const isNew = secrets.some((secret) => tokens.lookup(secret)?.isOperator !== true);
    await tokens.setOperatorTokens(workspaceId, secrets, clock.wall());
    if (isNew) log.info({ count: secrets.length }, 'the API tokens of the operator were set');
    if (secrets.some(({ length }) => length < SHORT_TOKEN)) {
      log.warn(
        `SVC_API_TOKEN has fewer than ${SHORT_TOKEN} characters: the next version refuses that; \`openssl rand -base64 32\` makes one`,
      );
    }
  }
}
