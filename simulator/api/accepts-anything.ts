/**
 * Reports whether a client with this Accept header takes the answers of virt-api's actions. They have no body and so no
 * type: only a client that takes any type takes them. An absent header means any type.
 */
export function acceptsAnything(accept: string | undefined): boolean {
  if (accept === undefined || accept === '') return true;
  return accept.split(',').some((range) => range.split(';')[0]!.trim() === '*/*');
}
