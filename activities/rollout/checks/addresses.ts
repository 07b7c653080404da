/** Reports whether a text is a URL that workers may be allowed to ask. */
export function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return (protocol === 'http:' || protocol === 'https:') && `${username}${password}${search}${hash}` === '';
}

/**
 * Reports whether an address is an allowed one, or below one: the author of a pool chooses the address. What a server
 * might decode to another path is not.
 */
export function isAllowed(address: string, allowed: readonly string[]): boolean {
  if (!isAddress(address) || address.includes('%')) return false;
  const { origin, pathname } = new URL(address);
  return allowed.filter(isAddress).some((one) => {
    const { origin: ofOne, pathname: within } = new URL(one);
    return origin === ofOne && withSlash(pathname).startsWith(withSlash(within));
  });
}

const withSlash = (path: string): string => (path.endsWith('/') ? path : `${path}/`);
