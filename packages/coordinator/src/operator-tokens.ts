import { readFile } from 'node:fs/promises';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { FileWatch } from '@svc/shared/process/file-watch.ts';
import type { Secret } from '@svc/shared/secret.ts';
import { z } from 'zod';
import type { Tokens } from './store/access/tokens.ts';

/** Minimum length of a token, characters. Shorter tokens are refused, because they could be guessed. */
const LEAST_TOKEN = 32;

/**
 * The content of SVC_API_TOKEN or of its file: one token, or two tokens in two
 * lines. Both tokens are valid at once, so that the operator can replace a token,
 * and no client is refused meanwhile. svc's own clients use the first token.
 */
export const operatorTokens = z
  .string()
  .transform((text) => text.split(/\r?\n/).filter((line) => line !== ''))
  .pipe(
    z
      .array(
        z
          .string()
          .min(
            LEAST_TOKEN,
            `must have at least ${LEAST_TOKEN} characters: make one with \`openssl rand -base64 32\``,
          )
          .max(512, 'must have at most 512 characters')
          .regex(/^[\u0021-\u007e]*$/, 'must not contain blanks or characters outside ASCII'),
      )
      .min(1, 'must contain a token')
      .max(2, 'must have at most two lines, one token each'),
  );

export type OperatorTokensParts = {
  readonly tokens: Tokens;
  readonly workspaceId: number;
  /** The tokens that were read before the start. */
  readonly secrets: Secret<readonly string[]>;
  /** File that is read again when it changes; null: the tokens are in the environment. */
  readonly path: string | null;
  readonly clock: Clock;
  readonly log: Logger;
};

/**
 * Sets the operator's tokens at the start, and again whenever their file changes.
 * If the file cannot be read or is invalid, the tokens stay as they are.
 */
export class OperatorTokens {
  readonly #parts: OperatorTokensParts;
  readonly #watch: FileWatch | null;
  #reading: Promise<void> = Promise.resolve();

  constructor(parts: OperatorTokensParts) {
    this.#parts = parts;
    const { path, clock, log } = parts;
    this.#watch = path === null ? null : new FileWatch(clock, log, () => this.#readSoon());
  }

  /**
   * Sets the operator's tokens, and begins to watch their file.
   *
   * @throws StoreError
   */
  async start(): Promise<void> {
    const { path, secrets } = this.#parts;
    if (path !== null) await this.#watch?.watchFiles([path]);
    await this.#set(secrets.reveal());
    // The file may have changed between the first read and the watch.
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
        'cannot read the API tokens again: the former tokens stay valid',
      );
    }
  }

  async #set(secrets: readonly string[]): Promise<void> {
    const { tokens, workspaceId, clock, log } = this.#parts;
    const isNew = secrets.some((secret) => tokens.lookup(secret)?.isOperator !== true);
    await tokens.setOperatorTokens(workspaceId, secrets, clock.wall());
    if (isNew) log.info({ count: secrets.length }, 'the API tokens of the operator were set');
  }
}
