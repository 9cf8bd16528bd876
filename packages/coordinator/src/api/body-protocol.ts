import type { ResourceKind } from '@svc/shared/resources/registry.ts';
import type { BodyIssue, CheckedBody } from './resource-body.ts';

/**
 * Requests to the thread of large bodies, one after the other: to read a text, or to validate it as a
 * resource in which some members were set since. The body goes over as text both times, which costs almost
 * nothing to copy.
 */
export type BodyRequest =
  | { readonly text: string }
  | {
      readonly text: string;
      readonly kind: ResourceKind;
      readonly set: Readonly<Record<string, unknown>>;
    };

/** The fault of a text. */
export type Malformed = { readonly malformed: string };

export type ReadBody = { readonly value: unknown } | Malformed;

/** `digest` is the same for equal values. */
export type OutlinedBody = { readonly outline: unknown; readonly digest: string } | Malformed;

export type BodyAnswer = { readonly answer: OutlinedBody | CheckedBody };

export type { BodyIssue };
