import type { ResourceKind } from '@svc/shared/resources/registry.ts';
import type { BodyIssue, CheckedBody } from './resource-body.ts';

/** What the thread of large bodies is asked, one thing after the other: to read a text, or to validate a resource. */
export type BodyRequest = { readonly text: string } | { readonly kind: ResourceKind; readonly body: unknown };

/** `malformed`: what is wrong with the text. */
export type ReadBody = { readonly value: unknown } | { readonly malformed: string };

export type BodyAnswer = { readonly answer: ReadBody | CheckedBody };

export type { BodyIssue };
