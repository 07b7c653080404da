import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { Admitted, Answers, Door } from '../server/answer.ts';
import { refusalOf, type Origins, type Refusal } from '../server/refusal.ts';
import { Identity, type IdentityHeaders } from './identity.ts';
import { refusalOfPeer } from './peer.ts';

interface ProxyDoorOptions {
  /** Origins that browsers have in their address bar, such as `https://drover.example.com`. */
  origins: readonly string[];
  /** Names of the proxy's certificate, if not each of the authority will do. */
  names: readonly string[];
  headers: IdentityHeaders;
  answersFor: (identity: Identity) => Promise<Answers>;
  /** Called for each request that is refused. */
  onRefusal: (refusal: Refusal) => void;
}

/** Admits the requests of a proxy with the right client certificate, for the user that it names. */
export class ProxyDoor implements Door {
  readonly #options: ProxyDoorOptions;
  readonly #origins: Origins;

  constructor(options: ProxyDoorOptions) {
    this.#options = options;
    this.#origins = new Map(options.origins.map((origin) => [new URL(origin).host, origin]));
  }

  admit(request: IncomingMessage, path: string): Refusal | Admitted {
    const admitted = this.#judged(request, path);
    if ('sentence' in admitted) this.#options.onRefusal(admitted);
    return admitted;
  }

  #judged({ socket, method = 'GET', headers, headersDistinct, rawHeaders }: IncomingMessage, path: string) {
    const { names, answersFor } = this.#options;
    const unproved = refusalOfPeer(socket as TLSSocket, names);
    if (unproved !== null) return unproved;
    if (SINGLE.some((name) => (headersDistinct[name]?.length ?? 0) > 1)) return REPEATED;
    const refusal = refusalOf({ method, path, headers }, this.#origins);
    if (refusal !== null) return refusal;
    const identity = Identity.of(rawHeaders, this.#options.headers);
    return identity instanceof Identity ? { answers: () => answersFor(identity) } : identity;
  }
}

/** Node takes the first of several; a proxy may have looked at another. */
const SINGLE = ['host', 'origin', 'sec-fetch-site', 'content-type'] as const;
const REPEATED: Refusal = { status: 400, sentence: `the request says ${SINGLE.join(', ')} more than once` };
