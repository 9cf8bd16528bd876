import { componentsOfGroups, emptyGroups } from '../../store/declaration/components.ts';
import { refuseDeclared } from '../scope.ts';
import { metadataOf } from '../stored.ts';
import { attributesOf } from '../stored-json.ts';
import type { Kind } from './kind.ts';

const KIND = 'svc_status_page_component_group';

export const componentGroups: Kind<'component_groups'> = {
  kindOf: () => KIND,
  columns: (_secrets, { page_id, ...rest }) => ({
    page_id: Number(page_id),
    attributes: JSON.stringify(rest),
  }),
  sealed: [],
  stored(_secrets, row) {
    const attributes = attributesOf(KIND, row, { page_id: String(row.page_id) });
    return { kind: KIND, ...metadataOf(row), attributes };
  },
  /** Its components stay on the page, without a group. */
  async removing(scope, rows) {
    const ids = rows.map(({ id }) => id);
    const members = await componentsOfGroups(scope.tx, ids);
    if (members.length === 0) return;
    for (const member of members) {
      refuseDeclared(scope, 'components', member, `component group ${member.group_id}`);
    }
    await emptyGroups(scope.tx, ids, scope.now);
  },
};
