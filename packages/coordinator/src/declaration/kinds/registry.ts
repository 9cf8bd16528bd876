import type { ResourceTable } from '../../store/declaration/resources.ts';
import type { Kind } from './kind.ts';
import { monitors } from './monitors.ts';
import { notifications } from './notifications.ts';
import { componentGroups, components, statusPages } from './status-pages.ts';

/** The rules for the resources of each table. */
export const KINDS: { readonly [T in ResourceTable]: Kind<T> } = {
  monitors,
  notifications,
  status_pages: statusPages,
  component_groups: componentGroups,
  components,
};
