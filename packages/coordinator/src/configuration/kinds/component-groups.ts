import { componentsOfGroup, emptyGroup } from '../../store/components.ts';
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
    for (const { id } of rows) {
      const members = await componentsOfGroup(scope.tx, id);
      for (const member of members) refuseDeclared(scope, 'components', member, `component group ${id}`);
      if (members.length > 0) await emptyGroup(scope.tx, id, scope.now);
    }
  },
};
