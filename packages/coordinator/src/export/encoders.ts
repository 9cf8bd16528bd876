import { JsonEncoder } from './json-encoder.ts';
import { PointLog } from './point-log.ts';
import { ProtobufEncoder } from './protobuf-encoder.ts';
import type { CollectedForm, RequestEncoder, RequestFrame } from './request-encoder.ts';

const ENCODERS = { json: JsonEncoder, protobuf: ProtobufEncoder, log: PointLog };

/** An encoder that makes this form of the points, with its first request begun. */
export function createEncoder(form: CollectedForm, frame: RequestFrame): RequestEncoder {
  return new ENCODERS[form](frame);
}
