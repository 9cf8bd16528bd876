import { SvcError } from '@svc/shared/errors.ts';

/** The command line or the settings are unusable: nothing was done. */
export class UsageError extends SvcError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('usage', message, options);
  }
}
