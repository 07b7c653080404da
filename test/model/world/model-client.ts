import type { KubeList, KubeObject, Stored } from '../../../api/objects.ts';
import { pathOf, type Resource } from '../../../api/resources.ts';
import type {
  CallOptions,
  DeleteOptions,
  KubeClient,
  ListOptions,
  ObjectKey,
  PatchType,
  WatchEvent,
  WriteOptions,
} from '../../../kubernetes/client.ts';
import { KubeUnreachable } from '../../../kubernetes/errors.ts';
import { ServerClock } from '../../../kubernetes/server-clock.ts';
import type { HttpRequest } from '../../../kubernetes/transport.ts';
import { requireLastCheck } from '../../activities/forged/destructive.ts';
import { refuseNameless } from '../../requests.ts';
import { isSelected, toldAs } from '../selection.ts';
import { jsonPatch, mergePatch, type ApiServer, type JsonPatch } from './api-server.ts';
import { frozen } from './frozen.ts';
import { timeNow, type Process } from './virtual-time.ts';

/** A call of a process, as the API server receives it. */
export interface Call {
  process: Process;
  verb: 'get' | 'list' | 'create' | 'update' | 'patch' | 'delete' | 'request';
  resource: Resource | null;
  key: { namespace?: string | undefined; name?: string };
  /** Such as `status`. */
  subresource?: string | undefined;
}

export interface ModelClientOptions {
  server: ApiServer;
  process: Process;
  /** Greatest delay of watches, in milliseconds. */
  lag: number;
  /** Called in the caller's context when a call reaches the server; `act` carries out the call. */
  onCall?: (call: Call, act: () => unknown) => unknown;
  /** What ends a call that has no signal of its own. */
  signal?: () => AbortSignal | undefined;
  /** Awaited before each call that may change something, which is to this path. */
  beforeWrite?: (path: string) => Promise<void>;
  /**
   * Returns the object that others have made after this one, which lists and watches tell of as well. `isSilent`: they
   * don't, but watches have as many events as if they did, so that all else happens at the same moments.
   */
  doubles?: { doubleOf: (resource: Resource, object: Stored) => Stored | null; isSilent: boolean };
  /** Performs calls that are no verb on a resource. */
  request?: (request: HttpRequest) => Promise<unknown>;
}

const GIVES_UP_MS = 10_000;
const BOOKMARK_MS = 60_000;

/** The API server's verbs for one process. Each call takes time in both directions, and watches may be late. */
export class ModelClient {
  readonly #in: ModelClientOptions;
  readonly server = 'https://model';
  readonly clock = new ServerClock();

  constructor(options: ModelClientOptions) {
    this.#in = options;
  }

  endedBy(signal: () => AbortSignal | undefined): KubeClient {
    return new ModelClient({ ...this.#in, signal }).asClient;
  }

  get asClient(): KubeClient {
    return this as unknown as KubeClient;
  }

  get<T extends KubeObject>(resource: Resource, key: ObjectKey, options: CallOptions = {}): Promise<Stored<T>> {
    return this.#call('get', resource, key, options, () => this.#in.server.get(resource, key) as Stored<T>);
  }

  async getMetadata(resource: Resource, key: ObjectKey, options: CallOptions = {}): Promise<Stored> {
    return this.#call('get', resource, key, options, () => ({ metadata: this.#in.server.get(resource, key).metadata }));
  }

  async list<T extends KubeObject>(resource: Resource, options: ListOptions = {}): Promise<KubeList<T>> {
    const { server } = this.#in;
    return this.#call('list', resource, { namespace: options.namespace }, options, () => ({
      metadata: { resourceVersion: server.version },
      items: this.#withDoubles(resource, server.all<T>(resource)).filter((object) => isSelected(object, options)),
    }));
  }

  #withDoubles<T extends Stored>(resource: Resource, objects: readonly T[]): T[] {
    const { doubles } = this.#in;
    if (doubles === undefined || doubles.isSilent) return [...objects];
    const others = objects.map((object) => doubles.doubleOf(resource, object) as T | null);
    return [...objects, ...others.filter((other) => other !== null)];
  }

  async *pages<T extends KubeObject>(resource: Resource, options: ListOptions = {}): AsyncGenerator<KubeList<T>, void> {
    yield await this.list<T>(resource, options);
  }

  create<T extends KubeObject>(resource: Resource, object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    const sent = frozen(object);
    return this.#call('create', resource, object.metadata, options, () => {
      if (resource.plural === 'events') return sent as Stored<T>;
      if (resource.plural === 'selfsubjectaccessreviews')
        return { ...sent, status: { allowed: true } } as unknown as Stored<T>;
      if (options.dryRun === true)
        return {
          ...sent,
          metadata: { ...sent.metadata, uid: 'dry-run', resourceVersion: '', creationTimestamp: '' },
        };
      return this.#in.server.create(resource, sent) as Stored<T>;
    });
  }

  update<T extends KubeObject>(
    resource: Resource,
    object: T,
    { subresource, ...options }: WriteOptions = {},
  ): Promise<Stored<T>> {
    const written = frozen(object);
    return this.#call(
      'update',
      resource,
      object.metadata,
      { ...options, subresource },
      () => this.#in.server.write(resource, object.metadata, () => written, subresource) as Stored<T>,
    );
  }

  patch<T extends KubeObject>(
    resource: Resource,
    key: ObjectKey,
    type: PatchType,
    patch: unknown,
    { subresource, dryRun, ...options }: WriteOptions = {},
  ): Promise<Stored<T>> {
    const sent = frozen(patch);
    this.#require({ verb: 'patch', resource, body: patch, isDryRun: dryRun === true }, options.lastCheck);
    return this.#call('patch', resource, key, { ...options, subresource }, () => {
      if (dryRun === true) refuseNameless(sent);
      if (dryRun === true) return patched(this.#in.server.get(resource, key), type, sent) as Stored<T>;
      return this.#in.server.write(resource, key, (before) => patched(before, type, sent), subresource) as Stored<T>;
    });
  }

  delete<T extends KubeObject>(resource: Resource, key: ObjectKey, options: DeleteOptions = {}): Promise<Stored<T>> {
    this.#require({ verb: 'delete', resource, isDryRun: options.dryRun === true }, options.lastCheck);
    return this.#call(
      'delete',
      resource,
      key,
      options,
      () => this.#in.server.delete(resource, key, options) as Stored<T>,
    );
  }

  async request<T>(request: HttpRequest): Promise<T> {
    const { request: perform = () => Promise.resolve({}) } = this.#in;
    this.#require({ verb: 'request', path: request.path }, request.lastCheck);
    return (await this.#call('request', null, { name: request.path }, request, () => perform(request))) as T;
  }

  async *watch<T extends KubeObject>(
    resource: Resource,
    options: { namespace?: string; query: Record<string, string>; signal: AbortSignal; onOpen?: () => void },
  ): AsyncGenerator<WatchEvent<T>> {
    const { server, process, lag } = this.#in;
    const { signal, query, namespace } = options;
    const time = timeNow();
    await this.#way(signal);
    options.onOpen?.();
    const kind = server.kind(resource);
    const selector = query['labelSelector'];
    const selected = {
      ...(namespace === undefined ? {} : { namespace }),
      ...(selector === undefined ? {} : { labelSelector: selector }),
    };
    let version = Number(query['resourceVersion'] ?? 0);
    let cursor = kind.events.length;
    while (cursor > 0 && kind.events[cursor - 1]!.version > version) cursor--;
    let arrived = Promise.withResolvers<void>();
    const queue: WatchEvent<T>[] = [];
    let isOver = false;
    let isDue = false;
    let isLost = false;
    const connection = process.connections;
    let lastAt = 0;
    const fetch = (): void => {
      isDue = false;
      // Events sent during a cut-off arrive after it, if the watch lives that long.
      if (process.isCutOff) return;
      if (process.connections !== connection) {
        isLost = true;
        return arrived.resolve();
      }
      const { doubles } = this.#in;
      const doubleOf = (one: Stored | undefined): Stored | undefined =>
        (one && doubles?.doubleOf(resource, one)) ?? undefined;
      for (; cursor < kind.events.length; cursor++) {
        const event = kind.events[cursor]!;
        version = event.version;
        const told = toldAs(event, selected);
        if (told !== null) queue.push({ type: told, object: event.object as Stored<T> });
        const double = doubleOf(event.object);
        const ofDouble = double && toldAs({ ...event, object: double, before: doubleOf(event.before) }, selected);
        if (double !== undefined && ofDouble != null)
          queue.push({ type: doubles!.isSilent ? 'BOOKMARK' : ofDouble, object: double as Stored<T> });
      }
      if (queue.length > 0) arrived.resolve();
    };
    const due = (): void => {
      if (isDue) return;
      isDue = true;
      // Events arrive in the order in which they were sent.
      const at = time.now + time.between(1, 5) + (time.chance() < 0.3 ? time.between(0, lag) : 0);
      lastAt = Math.max(at, lastAt, process.deafUntil);
      time.later(lastAt - time.now, process, fetch);
    };
    const bookmark = (): void =>
      void time.later(BOOKMARK_MS, process, () => {
        if (isOver) return;
        bookmark();
        if (process.isCutOff) return;
        fetch();
        // A lost connection must not deliver a bookmark either: it would cover events that never arrived.
        if (isLost) return;
        queue.push({ type: 'BOOKMARK', object: { metadata: { resourceVersion: server.version } } as Stored<T> });
        arrived.resolve();
      });
    const end = (): void => {
      isOver = true;
      arrived.resolve();
    };
    bookmark();
    kind.listeners.add(due);
    signal.addEventListener('abort', end, { once: true });
    time.later(Number(query['timeoutSeconds'] ?? 300) * 1000, process, () => {
      if (!process.isCutOff) end();
    });
    if (cursor < kind.events.length) due();
    try {
      for (;;) {
        await arrived.promise;
        arrived = Promise.withResolvers<void>();
        for (let event = queue.shift(); event !== undefined; event = queue.shift()) yield event;
        signal.throwIfAborted();
        if (isLost) throw new KubeUnreachable('the connection was lost');
        if (isOver) return;
      }
    } finally {
      isOver = true;
      kind.listeners.delete(due);
      signal.removeEventListener('abort', end);
    }
  }

  /** Of workers. What else is in the cluster acts as it likes. */
  #require(...sent: Parameters<typeof requireLastCheck>): void {
    if (this.#in.beforeWrite !== undefined) requireLastCheck(...sent);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #call<T>(
    verb: Call['verb'],
    resource: Resource | null,
    key: Call['key'],
    {
      signal = this.#in.signal?.(),
      deadlineMs = GIVES_UP_MS,
      lastCheck,
      subresource,
    }: CallOptions & { subresource?: string | undefined },
    act: () => T,
  ): Promise<T> {
    const { process, beforeWrite, onCall = (_call, carriedOut) => carriedOut() } = this.#in;
    if (verb !== 'get' && verb !== 'list')
      await beforeWrite?.(resource === null ? key.name! : pathOf(resource, key.namespace, key.name, subresource));
    lastCheck?.();
    await this.#way(signal, true, deadlineMs);
    // The server carries out the call even if its caller no longer waits.
    let answer: T | undefined;
    let failure: unknown;
    try {
      answer = (await onCall({ process, verb, resource, key, subresource }, act)) as T;
    } catch (error) {
      failure = error;
    }
    await this.#way(undefined, false);
    if (failure !== undefined) throw failure as Error;
    return frozen(answer as T);
  }

  /**
   * One direction of a call. Takes a moment or, if the server can't be reached, as long as the caller is willing to
   * wait. A request on its way to the server arrives, whatever becomes of its sender.
   */
  #way(signal: AbortSignal | undefined, isThere = true, deadlineMs = GIVES_UP_MS): Promise<void> {
    const { process } = this.#in;
    const time = timeNow();
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const ended = (): void => reject(signal!.reason as Error);
      signal?.addEventListener('abort', ended, { once: true });
      const isLost = process.isCutOff;
      const arrive = (): void => {
        signal?.removeEventListener('abort', ended);
        if (isLost || process.isCutOff) reject(new KubeUnreachable('the API server can not be reached'));
        else resolve();
      };
      if (isThere && !isLost) time.in(time.between(0, 8), arrive);
      else time.later(isLost ? deadlineMs : time.between(0, 8), process, arrive);
    });
  }
}

/** Returns the object after a patch, as the API server makes it. */
export function patched(before: Stored, type: PatchType, patch: unknown): KubeObject {
  if (type === 'json') return jsonPatch({ ...before }, patch as JsonPatch);
  // Preconditions that the patch does not name are not checked.
  const { uid: _uid, resourceVersion: _version, ...metadata } = before.metadata;
  return mergePatch({ ...before, metadata }, patch) as KubeObject;
}
