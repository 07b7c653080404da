/** Reports whether a text is a URL that workers may be allowed to ask. */
export function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return (protocol === 'http:' || protocol === 'https:') && `${username}${password}${search}${hash}` === '';
}

const QUERY = '/api/v1/query';

/** Returns the URL by which the Prometheus at this address is asked. */
export const queryUrl = (address: string): string => `${address.replace(/\/$/, '')}${QUERY}`;

/**
 * Reports whether an address is an allowed one, or below one, and leads to a query and to nothing else: the author of a
 * pool chooses the address. What a server might decode to another path is not allowed.
 */
export function isAllowed(address: string, allowed: readonly string[]): boolean {
  const asked = queryUrl(address);
  if (!isAddress(asked) || asked.includes('%')) return false;
  const { origin, pathname } = new URL(asked);
  if (!pathname.endsWith(QUERY)) return false;
  return allowed.filter(isAddress).some((one) => {
    const { origin: ofOne, pathname: within } = new URL(one);
    return origin === ofOne && withSlash(pathname).startsWith(withSlash(within));
  });
}

const withSlash = (path: string): string => (path.endsWith('/') ? path : `${path}/`);
