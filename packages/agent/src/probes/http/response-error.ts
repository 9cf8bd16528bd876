import { SvcError } from '@svc/shared/errors.ts';

/** The target's answer is not a well-formed HTTP response. The message may appear in a result. */
export class ResponseError extends SvcError {
  constructor(message: string) {
    super('EBADRESPONSE', message);
  }
}
