import { SvcError } from '@svc/shared/errors.ts';

/** The target's answer is no well-formed HTTP/1.x response. The message is fit for a result. */
export class ResponseError extends SvcError {
  constructor(message: string) {
    super('EBADRESPONSE', message);
  }
}
