import { findResources } from '../../store/declaration/resources.ts';
import { InvalidReference } from '../errors.ts';
import { metadataOf } from '../stored.ts';
import { attributesOf } from '../stored-json.ts';
import type { Kind } from './kind.ts';

const KIND = 'svc_status_page_component';

export const components: Kind<'components'> = {
  kindOf: () => KIND,
  columns: (_secrets, { page_id, group_id, monitor_id, ...rest }) => ({
    page_id: Number(page_id),
    group_id: group_id === null ? null : Number(group_id),
    monitor_id: monitor_id === null ? null : Number(monitor_id),
    attributes: JSON.stringify(rest),
  }),
  sealed: [],
  stored(_secrets, row) {
    const attributes = attributesOf(KIND, row, {
      page_id: String(row.page_id),
      group_id: row.group_id === null ? null : String(row.group_id),
      monitor_id: row.monitor_id === null ? null : String(row.monitor_id),
    });
    return { kind: KIND, ...metadataOf(row), attributes };
  },
  /** A component and its group stand on one page. */
  async checkFor({ tx, context }, together) {
    const named = new Set(together.flatMap(({ group_id }) => (group_id === null ? [] : [Number(group_id)])));
    const groups = await findResources(tx, 'component_groups', context.workspaceId, [...named]);
    const pageOf = new Map(groups.map(({ id, page_id }) => [id, String(page_id)]));
    return ({ page_id, group_id }) => {
      if (group_id === null || pageOf.get(Number(group_id)) === page_id) return;
      throw new InvalidReference(`status page ${page_id} has no component group ${group_id}`, ['group_id']);
    };
  },
};
