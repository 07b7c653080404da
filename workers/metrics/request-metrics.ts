import { Gauge, Histogram, type Registry } from 'prom-client';
import type { RequestSummary, RequestListener } from '../../kubernetes/transport.ts';

/** From an answer out of the API server's cache to its own deadline, in seconds. */
const SECONDS = [0.005, 0.025, 0.1, 0.5, 2, 10, 30];

/** `/api/v1` or `/apis/GROUP/VERSION`, a namespace, and then the resource, a name and a subresource. */
const PATH =
  /^\/(?:api\/[^/]+|apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+(?=\/))?\/(?<plural>[^/?]+)(?<name>\/[^/?]+)?(?:\/(?<subresource>[^?]+))?/;

const VERBS = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' } as const;

/** Requests of this worker to the API server, how long they take and how they end. */
export class RequestMetrics {
  readonly #seconds: Histogram<'verb' | 'resource' | 'code'>;
  readonly #inFlight: Gauge;

  constructor(registry: Registry) {
    this.#seconds = new Histogram({
      name: 'drover_kube_request_seconds',
      help: 'How long requests to the API server took; for a watch, until the answer began. The code is "none" if no answer came.',
      labelNames: ['verb', 'resource', 'code'],
      buckets: SECONDS,
      registers: [registry],
    });
    this.#inFlight = new Gauge({
      name: 'drover_kube_in_flight',
      help: 'Requests to the API server that have no answer yet.',
      registers: [registry],
    });
  }

  readonly began: RequestListener = (request) => {
    this.#inFlight.inc();
    return {
      onEnd: ({ status, seconds, isAborted }) => {
        this.#inFlight.dec();
        if (!isAborted) this.#seconds.observe({ ...requestOf(request), code: status ?? 'none' }, seconds);
      },
    };
  };
}

/**
 * Returns the verb and the resource as RBAC calls them, without names and namespaces, so that the number of series is
 * limited by the worker's rights. The resource of `/version` and the like is empty.
 */
function requestOf({ method, path, isWatch }: RequestSummary): {
  verb: string;
  resource: string;
} {
  const { plural, name, subresource } = PATH.exec(path)?.groups ?? {};
  return {
    verb: method === 'GET' ? readVerb(isWatch, plural !== undefined && name === undefined) : VERBS[method],
    resource: [plural, subresource].filter((part) => part !== undefined).join('/'),
  };
}

function readVerb(isWatch: boolean, isCollection: boolean): 'watch' | 'list' | 'get' {
  if (isWatch) return 'watch';
  return isCollection ? 'list' : 'get';
}
