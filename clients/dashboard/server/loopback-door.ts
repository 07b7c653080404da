import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { LOGIN, type Admitted, type Answers, type Door } from './answer.ts';
import { refusalOf, type Origins, type Refusal } from './refusal.ts';

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'] as const;

/** Admits browsers that have the token of this start, all as the same user: a loopback address is not a boundary. */
export class LoopbackDoor implements Door {
  /** Of this start alone; the address that the command prints ends with it. */
  readonly token = randomBytes(32).toString('base64url');
  readonly #session = randomBytes(32).toString('base64url');
  readonly #origins: Origins;
  /** Cookies don't know ports: other dashboards on this machine have theirs. */
  readonly #cookie: string;
  readonly #answers: Promise<Answers>;

  constructor(port: number, answers: Answers) {
    this.#origins = new Map(LOOPBACK.map((host) => [`${host}:${port}`, `http://${host}:${port}`]));
    this.#cookie = `drover-${port}`;
    this.#answers = Promise.resolve(answers);
  }

  admit({ method = 'GET', headers }: IncomingMessage, path: string): Refusal | Admitted {
    const refusal = refusalOf({ method, path, headers }, this.#origins);
    if (refusal !== null) return refusal;
    const isOpen = !path.startsWith('/api/') || path === LOGIN;
    if (!isOpen && !this.#knows(headers.cookie)) return STRANGER;
    return { answers: () => this.#answers };
  }

  /** Returns the cookie to set if this is the token of this start. */
  login(token: unknown): string | null {
    if (typeof token !== 'string' || !isSame(token, this.token)) return null;
    // Without a path, it is for the addresses beside this one: a proxy may serve the page below a path.
    return `${this.#cookie}=${this.#session}; HttpOnly; SameSite=Strict`;
  }

  #knows(cookies = ''): boolean {
    const own = cookies.split('; ').find((one) => one.startsWith(`${this.#cookie}=`));
    return own !== undefined && isSame(own.slice(this.#cookie.length + 1), this.#session);
  }
}

const STRANGER: Refusal = {
  status: 401,
  sentence: 'open the address that drover dashboard printed: it has the token of this start',
};

/** Compares in a time that does not depend on where the two differ. */
const isSame = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
