import { SvcError } from '@svc/shared/errors.ts';

/** This coordinator does not lead now, so it refuses work that needs a leader. The API answers 503. */
export class NotLeading extends SvcError {
  readonly retryable = true;

  constructor() {
    super('not-leading', 'this coordinator does not lead at this moment');
  }
}
