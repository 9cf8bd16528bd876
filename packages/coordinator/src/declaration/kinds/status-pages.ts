import { removeSessionsOf } from '../../store/access/sessions.ts';
import { findResources } from '../../store/declaration/resources.ts';
import {
  componentsOfGroups,
  emptyGroups,
  partsOfPage,
  removePartsOfPage,
  takenName,
} from '../../store/declaration/status-pages.ts';
import { Conflict, InvalidReference } from '../errors.ts';
import { refuseDeclared } from '../scope.ts';
import { attributesOf, metadataOf, openedAttributesOf, sealedJson } from '../stored.ts';
import type { Kind } from './kind.ts';
import { type AttributesOf, sameAttributes } from './kind-tables.ts';

const PAGE = 'svc_status_page';
const GROUP = 'svc_status_page_component_group';
const COMPONENT = 'svc_status_page_component';
const SEAL = 'status_pages.secrets';

export const statusPages: Kind<'status_pages'> = {
  kindOf: () => PAGE,
  columnsOf(secrets, { slug, custom_domain, ...rest }) {
    return { slug, custom_domain, ...sealedJson(secrets, SEAL, PAGE, rest) };
  },
  sealedColumns: ['attributes', 'secrets_sealed'],
  resourceOf(secrets, row, shown) {
    const { slug, custom_domain, theme, latency } = row;
    const attributes = openedAttributesOf({ secrets, purpose: SEAL, shown }, PAGE, row, {
      slug,
      custom_domain,
    });
    return { kind: PAGE, ...metadataOf(row), attributes, published: row.published === 1, theme, latency };
  },
  /**
   * A slug is unique across workspaces, and a custom domain only within its workspace.
   * The message of a refusal does not reveal which page has the slug or domain already.
   */
  checkFor:
    ({ tx, context }) =>
    async (attributes, id) => {
      const name = await takenName(tx, context.workspaceId, attributes, id ?? 0);
      if (name === null) return;
      throw new Conflict('taken', `another status page has this ${name.replace('_', ' ')}`, [name]);
    },
  // The sessions of visitors end when the access to the page changes. Otherwise a session would
  // be valid again when somebody sets the old password, or the old list of domains, again.
  async afterWrite({ tx }, id, before, after) {
    if (before !== null && !sameAttributes(accessOf(before.attributes), accessOf(after))) {
      await removeSessionsOf(tx, `page:${id}`);
    }
  },
  async beforeRemoval(scope, rows) {
    for (const { id } of rows) {
      for (const table of ['components', 'component_groups'] as const) {
        const parts = await partsOfPage(scope.tx, table, id);
        for (const part of parts) refuseDeclared(scope, table, part, `status page ${id}`);
        if (parts.length > 0) await removePartsOfPage(scope.tx, table, id);
      }
    }
  },
};

/** The attributes that decide which visitors may see the page. */
function accessOf({ access_type, password, auth_email_domains }: AttributesOf<typeof PAGE>) {
  return { access_type, password, auth_email_domains };
}

export const componentGroups: Kind<'component_groups'> = {
  kindOf: () => GROUP,
  columnsOf: (_secrets, { page_id, ...rest }) => ({
    page_id: Number(page_id),
    attributes: JSON.stringify(rest),
  }),
  sealedColumns: [],
  resourceOf(_secrets, row) {
    const attributes = attributesOf(GROUP, row, { page_id: String(row.page_id) });
    return { kind: GROUP, ...metadataOf(row), attributes };
  },
  /** Keeps the components of a removed group on the page, without a group. */
  async beforeRemoval(scope, rows) {
    const ids = rows.map(({ id }) => id);
    const members = await componentsOfGroups(scope.tx, ids);
    if (members.length === 0) return;
    for (const member of members) {
      refuseDeclared(scope, 'components', member, `component group ${member.group_id}`);
    }
    await emptyGroups(scope.tx, ids, scope.now);
  },
};

export const components: Kind<'components'> = {
  kindOf: () => COMPONENT,
  columnsOf: (_secrets, { page_id, group_id, monitor_id, ...rest }) => ({
    page_id: Number(page_id),
    group_id: group_id === null ? null : Number(group_id),
    monitor_id: monitor_id === null ? null : Number(monitor_id),
    attributes: JSON.stringify(rest),
  }),
  sealedColumns: [],
  resourceOf(_secrets, row) {
    const attributes = attributesOf(COMPONENT, row, {
      page_id: String(row.page_id),
      group_id: row.group_id === null ? null : String(row.group_id),
      monitor_id: row.monitor_id === null ? null : String(row.monitor_id),
    });
    return { kind: COMPONENT, ...metadataOf(row), attributes };
  },
  /** Checks that a component and its group belong to the same page. */
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
