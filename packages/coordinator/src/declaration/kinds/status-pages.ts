import { removeSessionsOf } from '../../store/access/sessions.ts';
import { partsOfPage, removePartsOfPage } from '../../store/declaration/components.ts';
import { takenName } from '../../store/declaration/status-pages.ts';
import { Conflict } from '../errors.ts';
import { sameAttributes } from '../same-attributes.ts';
import { refuseDeclared } from '../scope.ts';
import { metadataOf } from '../stored.ts';
import { openedAttributesOf, sealedJson } from '../stored-json.ts';
import type { Kind } from './kind.ts';
import type { AttributesOf } from './kinds.ts';

const KIND = 'svc_status_page';
const SEAL = 'status_pages.secrets';

export const statusPages: Kind<'status_pages'> = {
  kindOf: () => KIND,
  columns(secrets, { slug, custom_domain, ...rest }) {
    return { slug, custom_domain, ...sealedJson(secrets, SEAL, KIND, rest) };
  },
  sealed: ['attributes', 'secrets_sealed'],
  stored(secrets, row, shown) {
    const { slug, custom_domain, theme, latency } = row;
    const attributes = openedAttributesOf({ secrets, purpose: SEAL, shown }, KIND, row, {
      slug,
      custom_domain,
    });
    return { kind: KIND, ...metadataOf(row), attributes, published: row.published === 1, theme, latency };
  },
  /** Slugs are unique across workspaces; the message reveals nothing about the other page. */
  checkFor:
    ({ tx, context }) =>
    async (attributes, id) => {
      const name = await takenName(tx, context.workspaceId, attributes, id ?? 0);
      if (name === null) return;
      throw new Conflict('taken', `another status page has this ${name.replace('_', ' ')}`, [name]);
    },
  // Their credentials would be right again once the password, or the list of domains, is set back.
  async written({ tx }, id, before, after) {
    if (before !== null && !sameAttributes(accessOf(before.attributes), accessOf(after))) {
      await removeSessionsOf(tx, `page:${id}`);
    }
  },
  async removing(scope, rows) {
    for (const { id } of rows) {
      for (const table of ['components', 'component_groups'] as const) {
        const parts = await partsOfPage(scope.tx, table, id);
        for (const part of parts) refuseDeclared(scope, table, part, `status page ${id}`);
        if (parts.length > 0) await removePartsOfPage(scope.tx, table, id);
      }
    }
  },
};

/** What lets visitors in. */
function accessOf({ access_type, password, auth_email_domains }: AttributesOf<typeof KIND>) {
  return { access_type, password, auth_email_domains };
}
