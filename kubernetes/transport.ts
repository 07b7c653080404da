import type { KubeConfig } from '@kubernetes/client-node';
import { Agent, ProxyAgent, type Dispatcher } from 'undici';
import { credentialsIn } from './config.ts';
import { faultOf, KubeError, KubeUnreachable } from './errors.ts';
import { checkingLast, NotSent } from './lib/checking-last.ts';
import { deadlineOf } from './lib/deadline.ts';
import { headersToImpersonate, type Impersonated } from './lib/impersonation.ts';
import { Semaphore } from './lib/semaphore.ts';
import { sharesOf } from './lib/shares.ts';
import { withoutUncheckedRules } from './lib/unchecked-rules.ts';
import { warningsIn } from './lib/warnings.ts';
import { proxyFor } from './proxy.ts';
import { ServerClock } from './server-clock.ts';

export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below the cluster's server address, with its query. */
  path: string;
  body?: unknown;
  contentType?: string;
  /** What the answer is to be, as a media type; JSON of the whole object unless said otherwise. */
  accept?: string;
  signal?: AbortSignal | undefined;
  /** Milliseconds that the server may take to begin its answer, and between parts of it. */
  deadlineMs?: number;
  /** Sent at once, whatever waits: it asks whether the API server answers. */
  isProbe?: boolean;
  /** Called when all waiting is over and the request goes out; if it throws, nothing is sent. */
  lastCheck?: (() => void) | undefined;
}

export interface TransportOptions {
  /** Maximum number of connections to the API server; further calls wait for one. */
  connections?: number;
  userAgent?: string;
  /** Called with its path right before each call that may change something; if it throws, nothing is sent. */
  beforeWrite?: (path: string) => Promise<void>;
  /** Called for each request when it begins. */
  onRequest?: RequestListener;
  /** Called for each warning that the API server, or a policy or webhook behind it, gives in answer to a write. */
  onWarning?: ((text: string) => void) | undefined;
  /** Reads the kubeconfig again once its credentials are rejected: a user may have signed in anew. */
  reread?: (() => KubeConfig) | undefined;
  /** Whose rights count in place of those of the credentials. */
  impersonate?: Impersonated | undefined;
}

/** Returns what is called with the end of a request, and headers that go with it. */
export type RequestListener = (request: RequestSummary) => {
  onEnd: (end: Ended) => void;
  headers?: Record<string, string>;
};

/** What is asked of the API server. */
export interface RequestSummary extends Pick<HttpRequest, 'method' | 'path'> {
  isWatch: boolean;
}

/** How a request ended: when it had its whole answer, or none; for a watch, when its answer began. */
export interface Ended {
  /** The HTTP status; undefined if the API server has not answered. */
  status: number | undefined;
  seconds: number;
  /** Its caller did not wait for an answer. */
  isAborted: boolean;
}

const CONNECTIONS = 64;
/**
 * Longest wait that a server may ask for. A proxy that asks for an hour would make activities sleep into their
 * timeouts, without a report of the failure meanwhile.
 */
const MAX_RETRY_AFTER_MS = 30_000;
const CREDENTIALS_FRESH_MS = 60_000;
/** As Go's clients ask: KubeVirt's actions answer without a body, and refuse (406) clients that accept only JSON. */
const ACCEPT = 'application/json, */*';

/**
 * HTTPS to one API server over persistent connections, with the kubeconfig's own credentials.
 *
 * client-node's generated calls open a connection each (2.0.1), so drover takes only the kubeconfig from it (files,
 * exec plugins, tokens, proxies) and speaks HTTP through undici's shared pool.
 */
export class Transport {
  readonly clock = new ServerClock();
  #config: KubeConfig;
  readonly #options: TransportOptions;
  readonly #server: URL;
  readonly #impersonation: Record<string, string | string[]>;
  #calls: Dispatcher | undefined;
  #streams: Dispatcher | undefined;
  #headers: Record<string, string> = {};
  /**
   * One place for each connection. undici has a queue too, but opens a connection for what was aborted in it, only to
   * close that: when many callers give up, connecting is all that is left to do.
   */
  readonly #calling: Semaphore;
  #tls = '';
  #fresh = -Infinity;
  #refreshing: Promise<void> | undefined;

  constructor(config: KubeConfig, options: TransportOptions = {}) {
    const cluster = config.getCurrentCluster();
    if (cluster === null) throw new TypeError('the kubeconfig has no current cluster');
    this.#config = config;
    this.#options = options;
    this.#calling = new Semaphore(options.connections ?? CONNECTIONS);
    this.#server = new URL(cluster.server);
    this.#impersonation = headersToImpersonate(options.impersonate);
  }

  /** The API server's address, as the kubeconfig gives it. */
  get server(): string {
    return this.#server.href;
  }

  /**
   * Returns the answer's body as JSON. Throws `KubeError` for a status of 400 and above, `KubeUnreachable` for no
   * answer.
   */
  async json<T>(request: HttpRequest): Promise<T> {
    // undici's own timers: a timeout signal per call, joined with the caller's, costs more than the call's JSON.
    const deadlineMs = deadlineOf(request);
    for (let attempt = 1; ; attempt++) {
      const { statusCode, headers, text } = await this.#withPermit(request, () => {
        request.lastCheck?.();
        return this.#measured(request, false, async (more) => {
          const sentAt = Date.now();
          const { statusCode, headers, body } = await this.#send(this.#calls!, request, { deadlineMs, more });
          // A refusal may come from a proxy.
          if (statusCode < 400) this.clock.observe(headers['date'], sentAt, Date.now());
          const text = await body.text().catch((error: unknown) => this.#fail(request, error));
          return { statusCode, headers, text };
        });
      });
      if (request.method !== 'GET') warningsIn(headers['warning']).forEach((one) => this.#options.onWarning?.(one));
      if (statusCode < 400) return (text === '' ? {} : JSON.parse(text)) as T;
      if (statusCode === 401 && attempt === 1) {
        this.#distrust();
        continue;
      }
      throw this.#refusal(request.path, statusCode, text, headers['retry-after']);
    }
  }

  /** Returns the answer's body as a stream, for watches: on its own connection and without a deadline. */
  async stream(request: HttpRequest): Promise<AsyncIterable<Buffer>> {
    await this.#refresh();
    const { statusCode, headers, body } = await this.#measured(request, true, (more) =>
      this.#send(this.#streams!, request, { deadlineMs: 0, more }),
    );
    if (statusCode < 400) return body;
    if (statusCode === 401) this.#distrust();
    throw this.#refusal(request.path, statusCode, await body.text(), headers['retry-after']);
  }

  async close(): Promise<void> {
    await Promise.all([this.#calls?.destroy(), this.#streams?.destroy()]);
  }

  /** Calls `send` once a connection is free; what must hold right before a write is asked again if that took a wait. */
  async #withPermit<T>({ method, path, signal, isProbe = false }: HttpRequest, send: () => Promise<T>): Promise<T> {
    const shares = sharesOf({ method, path }, this.#options.connections ?? CONNECTIONS);
    const mayGo = async (): Promise<void> => {
      await this.#refresh();
      if (method !== 'GET') await this.#options.beforeWrite?.(path);
    };
    await mayGo();
    if (isProbe) return send();
    const isFree = this.#calling.tryAcquire(shares);
    if (!isFree) await this.#calling.wait(signal, shares);
    try {
      if (!isFree) await mayGo();
      return await send();
    } finally {
      this.#calling.release(shares);
    }
  }

  /** Tells `onRequest` of a request, and how it has ended. */
  async #measured<T extends { statusCode: number }>(
    { method, path, signal }: HttpRequest,
    isWatch: boolean,
    send: (headers: Record<string, string> | undefined) => Promise<T>,
  ): Promise<T> {
    const began = performance.now();
    const observer = this.#options.onRequest?.({ method, path, isWatch });
    let status: number | undefined;
    try {
      const answer = await send(observer?.headers);
      status = answer.statusCode;
      return answer;
    } finally {
      const isAborted = status === undefined && signal?.aborted === true;
      observer?.onEnd({ status, seconds: (performance.now() - began) / 1000, isAborted });
    }
  }

  async #send(
    dispatcher: Dispatcher,
    request: HttpRequest,
    { deadlineMs, more }: { deadlineMs: number; more: Record<string, string> | undefined },
  ): Promise<Dispatcher.ResponseData> {
    const type = request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' };
    const headers = { accept: request.accept ?? ACCEPT, ...this.#headers, ...type, ...more, ...this.#impersonation };
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const base = this.#server.pathname === '/' ? '' : this.#server.pathname.replace(/\/$/, '');
    try {
      return await checkingLast(dispatcher, request.lastCheck).request({
        origin: this.#server.origin,
        path: base + request.path,
        method: request.method,
        headers,
        // undici closes the connection after a DELETE with a body unless told not to; Kubernetes' preconditions are
        // such a body.
        reset: false,
        ...(body === undefined ? {} : { body }),
        headersTimeout: deadlineMs,
        bodyTimeout: deadlineMs,
        ...(request.signal === undefined ? {} : { signal: request.signal }),
      });
    } catch (error) {
      if (error instanceof NotSent) throw error.cause;
      return this.#fail(request, error);
    }
  }

  #fail(request: HttpRequest, error: unknown): never {
    if (request.signal?.aborted) throw request.signal.reason;
    const place = `${request.method} ${request.path.split('?')[0]} at ${this.#server.origin}`;
    throw new KubeUnreachable(`${place}: ${faultOf(error)}`, { cause: error });
  }

  #refusal(path: string, status: number, text: string, retryAfter: string | string[] | undefined): KubeError {
    const seconds = Number(Array.isArray(retryAfter) ? retryAfter[0] : retryAfter);
    const retryAfterMs = Number.isFinite(seconds)
      ? Math.min(Math.max(seconds * 1000, 0), MAX_RETRY_AFTER_MS)
      : undefined;
    const url = this.#server.origin + path;
    try {
      const { reason, message } = JSON.parse(text) as { reason?: string; message?: string };
      return new KubeError(status, reason ?? String(status), withoutUncheckedRules(message ?? text), retryAfterMs, url);
    } catch {
      const detail = text.trim().slice(0, 500) || `the API server answered ${status}`;
      return new KubeError(status, String(status), detail, retryAfterMs, url);
    }
  }

  /** Tokens and certificates rotate, so they are read again every minute, and at once after a 401. */
  async #refresh(): Promise<void> {
    if (performance.now() - this.#fresh < CREDENTIALS_FRESH_MS) return;
    this.#refreshing ??= this.#load().finally(() => {
      this.#refreshing = undefined;
    });
    await this.#refreshing;
  }

  /** Has credentials read again before the next request. Those of another server are not for this one. */
  #distrust(): void {
    this.#fresh = -Infinity;
    try {
      const config = this.#options.reread?.();
      if (config?.getCurrentCluster()?.server === this.#config.getCurrentCluster()!.server) this.#config = config!;
    } catch {
      // The file is being written, or gone: what was read before counts.
    }
  }

  async #load(): Promise<void> {
    const https = await credentialsIn(this.#config);
    const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername, auth } = https;
    // Whom the kubeconfig impersonates (`as`) must not come beside the user that is meant.
    const headers = Object.fromEntries(
      Object.entries(https.headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]),
    );
    this.#headers = { 'user-agent': this.#options.userAgent ?? 'drover', ...headers };
    if (auth) this.#headers['authorization'] = `Basic ${Buffer.from(auth).toString('base64')}`;
    const tls = JSON.stringify([ca, cert, key, pfx, passphrase, rejectUnauthorized, servername]);
    if (tls !== this.#tls) {
      const material = { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername };
      const given = Object.fromEntries(Object.entries(material).filter(([, value]) => value !== undefined));
      const stale = [this.#calls, this.#streams];
      this.#calls = this.#dispatcher(given, { connections: this.#options.connections ?? CONNECTIONS });
      this.#streams = this.#dispatcher(given, {});
      this.#tls = tls;
      for (const dispatcher of stale) void dispatcher?.close();
    }
    this.#fresh = performance.now();
  }

  #dispatcher(tls: Record<string, unknown>, options: Agent.Options): Dispatcher {
    const proxy = this.#config.getCurrentCluster()?.proxyUrl ?? proxyFor(this.#server, process.env);
    const connect = { ...tls, keepAlive: true, keepAliveInitialDelay: 30_000, timeout: 10_000 };
    if (proxy) return new ProxyAgent({ ...options, uri: proxy, requestTls: connect });
    return new Agent({ allowH2: false, pipelining: 1, keepAliveTimeout: 60_000, ...options, connect });
  }
}
