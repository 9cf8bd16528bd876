import { componentGroup } from '@svc/shared/resources/component-group.ts';
import type { ResourceAtApi } from './resource-at-api.ts';

export const componentGroupAtApi: ResourceAtApi = {
  definition: componentGroup,
  noun: 'component group',
  idAttributes: ['page_id', 'id'],
  importShape: '<page_id>/<group_id>',
};
