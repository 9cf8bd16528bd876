/** Names as Terraform allows them, so that a file can be converted. */
const LOCAL_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,127}$/;

/** Whether an entry may have this name. */
export function isLocalName(name: string): boolean {
  return LOCAL_NAME.test(name);
}
