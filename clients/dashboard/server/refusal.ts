import type { IncomingHttpHeaders } from 'node:http';

/** What the rules read of a request. */
interface RequestHead {
  method: string;
  /** The path, without the query. */
  path: string;
  headers: IncomingHttpHeaders;
}

export interface Refusal {
  status: 400 | 401 | 403 | 405 | 415 | 503;
  sentence: string;
}

/** The names of this server, as browsers have them in `Host`, and the origin of a page of each. */
export type Origins = ReadonlyMap<string, string>;

/**
 * Returns why a request is refused, whatever its user; null if it is not. Any page in the browser may send requests to
 * a server that the browser reaches, with the cookies of that server, and one whose name resolves to it (DNS rebinding)
 * may even read the answers. So each request must name this host, all of the API needs a page of this origin, and what
 * writes must be JSON that this origin sends.
 */
export function refusalOf(request: RequestHead, origins: Origins): Refusal | null {
  const { method, path, headers } = request;
  const { host = '<none>' } = headers;
  const origin = origins.get(host);
  if (origin === undefined) {
    const [own] = origins.values();
    return { status: 403, sentence: `this server is not known as ${host}: open ${own}` };
  }
  if (!path.startsWith('/api/'))
    return method === 'GET' || method === 'HEAD'
      ? null
      : { status: 405, sentence: `${method} is not allowed at this address` };
  return foreign(headers, origin) ?? wrongForm(request);
}

/** Browsers say where a request comes from. What is typed into the address bar, or other programs send, has no site. */
function foreign(headers: IncomingHttpHeaders, own: string): Refusal | null {
  const site = headers['sec-fetch-site'];
  const { origin } = headers;
  const isForeign =
    (site !== undefined && site !== 'same-origin' && site !== 'none') || (origin !== undefined && origin !== own);
  return isForeign ? { status: 403, sentence: 'requests of other origins are refused' } : null;
}

function wrongForm({ method, headers }: RequestHead): Refusal | null {
  if (method === 'GET') return null;
  if (method !== 'POST') return { status: 405, sentence: `${method} is not allowed at this address` };
  if (headers.origin === undefined && headers['sec-fetch-site'] === undefined)
    return { status: 403, sentence: 'a write needs the header Origin' };
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  return type === 'application/json' ? null : { status: 415, sentence: 'a write must be application/json' };
}

/** Headers of every answer. `scripts`: the hashes of inline scripts that are ours, as CSP has them. */
export const safeHeaders = (scripts: readonly string[]): Record<string, string> => ({
  'Content-Security-Policy': [
    "default-src 'none'",
    ['script-src', "'self'", ...scripts].join(' '),
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
});
