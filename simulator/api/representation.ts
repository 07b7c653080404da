/**
 * Whether a client that accepts these types takes what virt-api's actions answer. Their answers have no body and so no
 * type: only a client that takes anything takes them. An absent header says that it does.
 */
export function acceptsAnything(accept: string | undefined): boolean {
  if (accept === undefined || accept === '') return true;
  return accept.split(',').some((range) => range.split(';')[0]!.trim() === '*/*');
}
