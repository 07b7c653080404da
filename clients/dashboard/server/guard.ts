import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** What the rules read of a request. */
export interface Asked {
  method: string;
  /** The path, without the query. */
  path: string;
  headers: IncomingHttpHeaders;
}

export interface Refusal {
  status: 400 | 401 | 403 | 405 | 415;
  sentence: string;
}

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'] as const;
export const LOGIN = '/api/login';

/**
 * Who may ask. A loopback address is no boundary: any page in the browser may send requests to it, and one whose name
 * resolves to it (DNS rebinding) may even read the answers. So each request must name this host, all of the API needs
 * the cookie of this start and a page of this origin, and what writes must be JSON that this origin sends.
 */
export class Guard {
  /** Of this start alone; the address that the command prints ends with it. */
  readonly token = randomBytes(32).toString('base64url');
  readonly #session = randomBytes(32).toString('base64url');
  readonly #hosts: ReadonlySet<string>;
  /** Cookies don't know ports: other dashboards on this machine have theirs. */
  readonly #cookie: string;

  constructor(port: number) {
    this.#hosts = new Set(LOOPBACK.map((host) => `${host}:${port}`));
    this.#cookie = `drover-${port}`;
  }

  /** Returns why the request is refused; null if it is not. */
  refusalOf(asked: Asked): Refusal | null {
    const { method, path, headers } = asked;
    if (!this.#hosts.has(headers.host ?? ''))
      return {
        status: 403,
        sentence: `this server has no name ${headers.host ?? '<none>'}: open the address that drover dashboard printed`,
      };
    if (!path.startsWith('/api/'))
      return method === 'GET' || method === 'HEAD'
        ? null
        : { status: 405, sentence: `${method} is not for this address` };
    return foreign(headers) ?? wrongForm(asked) ?? (path === LOGIN ? null : this.#stranger(headers));
  }

  /** Returns the cookie to set if this is the token of this start. */
  login(token: unknown): string | null {
    if (typeof token !== 'string' || !isSame(token, this.token)) return null;
    return `${this.#cookie}=${this.#session}; Path=/; HttpOnly; SameSite=Strict`;
  }

  #stranger({ cookie = '' }: IncomingHttpHeaders): Refusal | null {
    const own = cookie.split('; ').find((one) => one.startsWith(`${this.#cookie}=`));
    if (own !== undefined && isSame(own.slice(this.#cookie.length + 1), this.#session)) return null;
    return { status: 401, sentence: 'open the address that drover dashboard printed: it has the token of this start' };
  }
}

/** Browsers say where a request comes from. What is typed into the address bar, or other programs send, has no site. */
function foreign(headers: IncomingHttpHeaders): Refusal | null {
  const site = headers['sec-fetch-site'];
  const { origin } = headers;
  const isForeign =
    (site !== undefined && site !== 'same-origin' && site !== 'none') ||
    (origin !== undefined && origin !== `http://${headers.host}`);
  return isForeign ? { status: 403, sentence: 'requests of other origins are refused' } : null;
}

function wrongForm({ method, headers }: Asked): Refusal | null {
  if (method === 'GET') return null;
  if (method !== 'POST') return { status: 405, sentence: `${method} is not for this address` };
  if (headers.origin === undefined && headers['sec-fetch-site'] === undefined)
    return { status: 403, sentence: 'a write must say its origin' };
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  return type === 'application/json' ? null : { status: 415, sentence: 'a write must be application/json' };
}

/** Compares in a time that does not depend on where the two differ. */
const isSame = (one: string, other: string): boolean => timingSafeEqual(digest(one), digest(other));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Headers of every answer. `scripts`: the hashes of inline scripts that are ours, as CSP has them. */
export const safeHeaders = (scripts: readonly string[]): Record<string, string> => ({
  'Content-Security-Policy': [
    "default-src 'none'",
    ['script-src', "'self'", ...scripts].join(' '),
    "worker-src 'self'",
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
