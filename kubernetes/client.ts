import type { KubeConfig } from '@kubernetes/client-node';
import { FIELD_MANAGER } from '../api/labels-and-annotations.ts';
import type { KubeList, KubeObject, New, Stored } from '../api/objects.ts';
import { apiVersionOf, pathOf, type Resource } from '../api/resources.ts';
import { loadKubeConfig, type KubeConfigChoice } from './config.ts';
import type { Impersonated } from './lib/impersonation.ts';
import { linesOf } from './lib/lines.ts';
import type { ServerClock } from './server-clock.ts';
import { Transport, type HttpRequest, type TransportOptions } from './transport.ts';

/** Options of every call: a signal that aborts it, by default the client's, and its own deadline in milliseconds. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
  deadlineMs?: number;
  /** Called right before the request is sent; if it throws, nothing is. */
  lastCheck?: (() => void) | undefined;
}

export interface ObjectKey {
  namespace?: string | undefined;
  name: string;
}

export interface WriteOptions extends CallOptions {
  dryRun?: boolean;
  subresource?: string;
  /** Field manager of the written fields; by default the client's own. */
  fieldManager?: string;
}

export interface ListOptions extends CallOptions {
  /** Whether objects come with their metadata alone. */
  metadataOnly?: boolean;
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string;
  /** Lists what there was at exactly this version, as far back as the API server remembers (else 410). */
  asOf?: string;
}

export interface DeleteOptions extends CallOptions {
  /** Deletes only the object with this UID; another object of its name is left alone (409). */
  uid?: string;
  resourceVersion?: string;
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  gracePeriodSeconds?: number;
  dryRun?: boolean;
}

export type WatchEvent<T extends KubeObject = KubeObject> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; object: Stored<T> }
  | { type: 'ERROR'; object: { code: number; reason?: string; message?: string } };

export type PatchType = 'merge' | 'json' | 'apply';
const PATCH_CONTENT_TYPE: Record<PatchType, string> = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
};

interface KubeClientOptions extends TransportOptions {
  fieldManager?: string;
}

const PAGE = 500;

/** The API server's verbs on any resource. Every call throws `KubeError` or `KubeUnreachable`. */
export class KubeClient {
  readonly #transport: Transport;
  readonly #options: KubeClientOptions;
  #signal: (() => AbortSignal | undefined) | undefined;

  constructor(config: KubeConfig | Transport, options: KubeClientOptions = {}) {
    this.#transport = config instanceof Transport ? config : new Transport(config, options);
    this.#options = options;
  }

  /** Connects as a kubeconfig says, which is read again once its credentials are rejected. */
  static of({ kubeconfig, context }: KubeConfigChoice, options: Omit<KubeClientOptions, 'reread'>): KubeClient {
    const config = loadKubeConfig({ kubeconfig, context });
    // The current one may be another by then.
    const known = config.getCurrentContext();
    return new KubeClient(config, { ...options, reread: () => loadKubeConfig({ kubeconfig, context: known }) });
  }

  /** Returns this client for callers whose calls end with this signal, unless they give one; asked for each call. */
  endedBy(signal: () => AbortSignal | undefined): KubeClient {
    const client = new KubeClient(this.#transport, this.#options);
    client.#signal = signal;
    return client;
  }

  /** Whose rights count; undefined: those of the credentials. */
  get impersonated(): Impersonated | undefined {
    return this.#options.impersonate;
  }

  get server(): string {
    return this.#transport.server;
  }

  get clock(): ServerClock {
    return this.#transport.clock;
  }

  get<T extends KubeObject>(
    resource: Resource,
    key: ObjectKey,
    options: CallOptions & { subresource?: string } = {},
  ): Promise<Stored<T>> {
    const { subresource, ...call } = options;
    const path = pathOf(resource, key.namespace, key.name, subresource);
    return this.#send({ method: 'GET', path, ...call });
  }

  /**
   * Returns the object's metadata alone: what else it holds, such as the data of a Secret, does not leave the server.
   */
  getMetadata(resource: Resource, key: ObjectKey, options: CallOptions = {}): Promise<Stored> {
    const path = pathOf(resource, key.namespace, key.name);
    return this.#send({ method: 'GET', path, accept: metadataOnly('PartialObjectMetadata'), ...options });
  }

  /**
   * Returns all objects, read in pages; `metadata.resourceVersion` is that of the first page, from which a watch may
   * start.
   */
  async list<T extends KubeObject>(resource: Resource, options: ListOptions = {}): Promise<KubeList<T>> {
    let first: KubeList<T> | undefined;
    for await (const page of this.pages<T>(resource, options)) {
      if (first === undefined) first = page;
      else for (const item of page.items) first.items.push(item);
    }
    const { metadata, items } = first!;
    return { metadata: { resourceVersion: metadata.resourceVersion }, items };
  }

  /** Yields the same page by page, for callers that keep less than the whole; there is at least one page. */
  async *pages<T extends KubeObject>(resource: Resource, options: ListOptions = {}): AsyncGenerator<KubeList<T>, void> {
    const { namespace, labelSelector, fieldSelector, asOf, metadataOnly: isMetadataOnly = false, ...call } = options;
    const accept = isMetadataOnly ? { accept: metadataOnly('PartialObjectMetadataList') } : {};
    const query = new URLSearchParams({ limit: String(PAGE) });
    if (labelSelector !== undefined) query.set('labelSelector', labelSelector);
    if (fieldSelector !== undefined) query.set('fieldSelector', fieldSelector);
    if (asOf !== undefined) {
      query.set('resourceVersion', asOf);
      query.set('resourceVersionMatch', 'Exact');
    }
    const path = pathOf(resource, namespace);
    let next: string | undefined;
    do {
      const page = await this.#send<KubeList<T>>({
        method: 'GET',
        path: `${path}?${query.toString()}`,
        ...accept,
        ...call,
      });
      next = page.metadata.continue;
      // A list of metadata alone is null if it is empty.
      page.items ??= [];
      yield page;
      if (!next) continue;
      query.set('continue', next);
      // The place to continue from names the version itself.
      query.delete('resourceVersion');
      query.delete('resourceVersionMatch');
    } while (next);
  }

  /** `strict`: the API server refuses fields that its schema does not know, instead of silently dropping them. */
  create<T extends KubeObject>(
    resource: Resource,
    object: New<T>,
    options: WriteOptions & { strict?: boolean } = {},
  ): Promise<Stored<T>> {
    const { strict, ...write } = options;
    const { namespace, name } = object.metadata;
    const at = write.subresource === undefined ? { namespace } : { namespace, name };
    const body = typed(resource, object);
    return this.#write({ method: 'POST', body }, resource, at, write, strict === true ? '&fieldValidation=Strict' : '');
  }

  /** Replaces the whole object; if its metadata has a `resourceVersion`, only that version of it. */
  update<T extends KubeObject>(resource: Resource, object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#write({ method: 'PUT', body: typed(resource, object) }, resource, object.metadata, options);
  }

  patch<T extends KubeObject>(
    resource: Resource,
    key: ObjectKey,
    type: PatchType,
    patch: unknown,
    options: WriteOptions & { force?: boolean } = {},
  ): Promise<Stored<T>> {
    const { force, ...write } = options;
    const body = type === 'apply' ? typed(resource, patch as KubeObject) : patch;
    const request = {
      method: 'PATCH',
      body,
      contentType: PATCH_CONTENT_TYPE[type],
    } as const;
    return this.#write(request, resource, key, write, force === true ? '&force=true' : '');
  }

  /**
   * Returns the object as the server left it (still there, with a `deletionTimestamp`, if finalizers hold it), or its
   * Status.
   */
  delete<T extends KubeObject>(resource: Resource, key: ObjectKey, options: DeleteOptions = {}): Promise<Stored<T>> {
    const { uid, resourceVersion, propagationPolicy = 'Background', gracePeriodSeconds, dryRun, ...call } = options;
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      propagationPolicy,
      ...((uid ?? resourceVersion) !== undefined && { preconditions: { uid, resourceVersion } }),
      gracePeriodSeconds,
      ...(dryRun === true && { dryRun: ['All'] }),
    };
    return this.#send({ method: 'DELETE', path: pathOf(resource, key.namespace, key.name), body, ...call });
  }

  /** Makes any other call, by its path: subresources of an aggregated API, discovery, `/readyz`. */
  request<T>(request: HttpRequest): Promise<T> {
    return this.#send(request);
  }

  /** What all verbs end in; not `request`, by which a subclass judges the calls that are none of them. */
  #send<T>(request: HttpRequest): Promise<T> {
    const signal = request.signal ?? this.#signal?.();
    return this.#transport.json(signal === undefined ? request : { ...request, signal });
  }

  /** Returns the answer's body as it is, such as a log. */
  async text(request: HttpRequest): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of await this.#transport.stream(request)) chunks.push(chunk);
    return Buffer.concat(chunks).toString('utf8');
  }

  /** Yields events until the server ends the stream (after `timeoutSeconds`) or `signal` is aborted. */
  async *watch<T extends KubeObject>(
    resource: Resource,
    options: {
      namespace?: string | undefined;
      /** Whether objects come with their metadata alone. */
      metadataOnly?: boolean;
      query: Record<string, string>;
      signal: AbortSignal;
      /** Called once the server has begun to answer. */
      onOpen?: () => void;
    },
  ): AsyncGenerator<WatchEvent<T>> {
    const query = new URLSearchParams({ ...options.query, watch: 'true' });
    const path = `${pathOf(resource, options.namespace)}?${query.toString()}`;
    const accept = options.metadataOnly === true ? { accept: metadataOnly('PartialObjectMetadata') } : {};
    const body = await this.#transport.stream({ method: 'GET', path, ...accept, signal: options.signal });
    options.onOpen?.();
    for await (const line of linesOf(body)) yield JSON.parse(line) as WatchEvent<T>;
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #write<T>(
    request: Pick<HttpRequest, 'method' | 'body' | 'contentType'>,
    resource: Resource,
    { namespace, name }: { [Part in keyof ObjectKey]?: ObjectKey[Part] | undefined },
    { dryRun, subresource, fieldManager = this.#options.fieldManager ?? FIELD_MANAGER, ...call }: WriteOptions,
    more = '',
  ): Promise<T> {
    const path = pathOf(resource, namespace, name, subresource);
    const query = `?fieldManager=${fieldManager}${dryRun === true ? '&dryRun=All' : ''}${more}`;
    return this.#send({ ...request, path: path + query, ...call });
  }
}

const metadataOnly = (kind: string): string => `application/json;as=${kind};g=meta.k8s.io;v=v1`;

const typed = <T extends object>(resource: Resource, object: T): T => ({
  apiVersion: apiVersionOf(resource),
  kind: resource.kind,
  ...object,
});
