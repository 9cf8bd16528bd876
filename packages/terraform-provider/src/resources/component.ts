import { component } from '@svc/shared/resources/component.ts';
import { type ResourceAtApi, warningsOf } from './resource-at-api.ts';

export const componentAtApi: ResourceAtApi = {
  definition: component,
  noun: 'component',
  idAttributes: ['page_id', 'id'],
  importShape: '<page_id>/<component_id>',
  warnings: warningsOf,
};
