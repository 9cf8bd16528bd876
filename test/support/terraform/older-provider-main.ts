import { runProvider } from '@svc/terraform-provider/app.ts';
import { RESOURCES_AT_API } from '@svc/terraform-provider/resources/registry.ts';
import type { ResourceAtApi } from '@svc/terraform-provider/resources/resource-at-api.ts';

/**
 * The provider as it was before it knew some attributes: the provider of this checkout without their
 * definitions. Its environment variable `SVC_TEST_NOT_KNOWN` has their names, with blanks between them.
 */
const notKnown = (process.env.SVC_TEST_NOT_KNOWN ?? '').split(' ');

function older(atApi: ResourceAtApi): ResourceAtApi {
  const known = Object.entries(atApi.definition.attributes).filter(([name]) => !notKnown.includes(name));
  return { ...atApi, definition: { ...atApi.definition, attributes: Object.fromEntries(known) } };
}

for (const [kind, atApi] of Object.entries(RESOURCES_AT_API)) {
  Object.assign(RESOURCES_AT_API, { [kind]: older(atApi) });
}
await runProvider(process.argv.slice(2), process.env);
