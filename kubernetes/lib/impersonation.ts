/** A user in whose name the API server is asked. */
export interface Impersonated {
  user: string;
  groups: readonly string[];
}

/**
 * Returns the headers by which the API server takes a request for one of this user. Throws `TypeError` without a name:
 * the API server would take such a request for one of the account whose credentials it has.
 */
export function headersToImpersonate(impersonated: Impersonated | undefined): Record<string, string | string[]> {
  if (impersonated === undefined) return {};
  const { user, groups } = impersonated;
  if (user === '') throw new TypeError('there is no user to impersonate');
  const names = groups.map(inHeader);
  return { 'impersonate-user': inHeader(user), ...(names.length === 0 ? {} : { 'impersonate-group': names }) };
}

/** A header is bytes, which undici takes as Latin-1; Kubernetes reads them as UTF-8. */
const inHeader = (name: string): string => Buffer.from(name, 'utf8').toString('latin1');
