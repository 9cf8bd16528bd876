/** An id of an object, as the API writes it: decimal, and exact as a number. */
export const ID = /^[1-9]\d{0,14}$/;

export function isId(text: string): boolean {
  return ID.test(text);
}
