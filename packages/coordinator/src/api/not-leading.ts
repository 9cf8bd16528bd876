import { SvcError } from '@svc/shared/errors.ts';

/** This coordinator does not lead now: what only a leader can do is not done here. Answered with 503. */
export class NotLeading extends SvcError {
  readonly retryable = true;

  constructor() {
    super('not-leading', 'this coordinator does not lead at this moment');
  }
}
