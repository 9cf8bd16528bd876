import { LIMITS } from '../limits.ts';
import { marked } from '../settings/not-yet.ts';
import { computed, type Normalized, type ResourceDefinition, required } from './definition.ts';
import { oneLine } from './texts.ts';
import { reference, text } from './values.ts';

export const componentGroup = {
  kind: 'svc_status_page_component_group',
  noun: 'component group',
  path: '/v1/status-pages/{page_id}/component-groups',
  title: 'Status page component group',
  description: marked('svc_status_page_component_group', 'A named group of components of one status page.'),
  constants: {},
  attributes: {
    page_id: required(reference('svc_status_page'), 'Page that the group belongs to.', { replaces: true }),
    name: required(text({ min: 1, max: LIMITS.componentText, check: oneLine }), 'Name that is shown.'),
    id: computed(text(), 'Id: a decimal number as a string.'),
    created_at: computed(text(), 'When the group was created (RFC 3339).'),
    updated_at: computed(text(), 'When the group was last changed (RFC 3339).'),
  },
  blocks: {},
  rules: [],
  apiMembers: [],
} satisfies ResourceDefinition;

export type StatusPageComponentGroup = Normalized<typeof componentGroup>;
