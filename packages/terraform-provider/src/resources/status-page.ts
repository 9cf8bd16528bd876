import { statusPage } from '@svc/shared/resources/status-page.ts';
import { type ResourceAtApi, warningsOf } from './resource-at-api.ts';

export const statusPageAtApi: ResourceAtApi = {
  definition: statusPage,
  noun: 'status page',
  idAttributes: ['id'],
  importShape: '<page_id>',
  warnings: warningsOf,
};
