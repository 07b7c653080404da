import { once } from 'node:events';
import type { KubeList, KubeObject, Stored } from '../../../api/objects.ts';
import type { Resource } from '../../../api/resources.ts';
import type {
  DeleteOptions,
  KubeClient,
  ListOptions,
  ObjectKey,
  PatchType,
  WatchEvent,
  WriteOptions,
} from '../../../kubernetes/client.ts';
import type { LastCheck } from '../../../kubernetes/retry.ts';
import { ServerClock } from '../../../kubernetes/server-clock.ts';
import type { HttpRequest } from '../../../kubernetes/transport.ts';
import { isSelected } from '../../model/selection.ts';
import type { ApiServer } from '../../model/world/api-server.ts';
import { patched } from '../../model/world/model-client.ts';
import { refuseNameless } from '../../requests.ts';
import { isDestructive, requireLastCheck, type Sent } from './destructive.ts';

/** Resolves when something has happened. */
async function somethingNew(listeners: Set<() => void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const happened = Promise.withResolvers<void>();
  listeners.add(happened.resolve);
  await Promise.race([happened.promise, once(signal, 'abort')]);
  listeners.delete(happened.resolve);
  signal.throwIfAborted();
}

/** A client of an API server in memory, which answers at once. */
export class StillClient {
  readonly #server: ApiServer;
  readonly server = 'https://still';
  readonly clock = new ServerClock();
  /** Awaited when a write is about to be sent, before its last check; may throw. */
  onWrite: (verb: string, resource: Resource, name: string) => void | Promise<void> = () => {};
  /** Called when a destructive request is about to be sent, before its last check. */
  onDestructive: (what: string) => void = () => {};
  /** What was written, such as `delete virtualmachines shop/web-1`; Events are not. */
  readonly writes: string[] = [];
  readonly events: KubeObject[] = [];
  /** Whether the API server has drover's admission policies. */
  hasPolicies = true;

  constructor(server: ApiServer) {
    this.#server = server;
  }

  get asClient(): KubeClient {
    return this as unknown as KubeClient;
  }

  /** It answers at once: there is nothing to end. */
  endedBy(): KubeClient {
    return this.asClient;
  }

  async get(resource: Resource, key: ObjectKey): Promise<Stored> {
    return this.#server.get(resource, key);
  }

  async getMetadata(resource: Resource, key: ObjectKey): Promise<Stored> {
    return this.#server.get(resource, key);
  }

  async list(resource: Resource, options: ListOptions = {}): Promise<KubeList> {
    const items = this.#server.all(resource).filter((object) => isSelected(object, options));
    return { metadata: { resourceVersion: this.#server.version }, items };
  }

  async *pages(resource: Resource, options: ListOptions = {}): AsyncGenerator<KubeList, void> {
    yield await this.list(resource, options);
  }

  async create(resource: Resource, object: KubeObject, { dryRun, lastCheck }: WriteOptions = {}): Promise<Stored> {
    if (resource.plural === 'events') this.events.push(object);
    if (resource.plural === 'events' || dryRun === true) return object as Stored;
    await this.onWrite('create', resource, object.metadata.name);
    lastCheck?.();
    this.#note('create', resource, object.metadata);
    return this.#server.create(resource, object);
  }

  async update(resource: Resource, object: KubeObject, { subresource }: WriteOptions = {}): Promise<Stored> {
    return this.#written('update', resource, object.metadata, undefined, () =>
      this.#server.write(resource, object.metadata, () => object, subresource),
    );
  }

  async patch(
    resource: Resource,
    key: ObjectKey,
    type: PatchType,
    patch: unknown,
    { subresource, dryRun, lastCheck }: WriteOptions = {},
  ): Promise<Stored> {
    const after = (before: Stored): KubeObject => patched(before, type, patch);
    if (dryRun === true && this.hasPolicies) refuseNameless(patch);
    if (dryRun === true) return after(this.#server.get(resource, key)) as Stored;
    const check = this.#checked({ verb: 'patch', resource, body: patch }, key, lastCheck);
    return this.#written('patch', resource, key, check, () => this.#server.write(resource, key, after, subresource));
  }

  async delete(resource: Resource, key: ObjectKey, options: DeleteOptions = {}): Promise<Stored> {
    const { dryRun: isDryRun = false, lastCheck } = options;
    const check = this.#checked({ verb: 'delete', resource, isDryRun }, key, lastCheck);
    return this.#written('delete', resource, key, check, () => this.#server.delete(resource, key, options));
  }

  async request(request: HttpRequest): Promise<unknown> {
    const { method, path, lastCheck } = request;
    if (method === 'GET') return path.startsWith('/apis/') ? { preferredVersion: { version: 'v1beta1' } } : {};
    this.#checked({ verb: 'request', path }, {}, lastCheck)?.();
    this.writes.push(`${method} ${path}`);
    return {};
  }

  async *watch(
    resource: Resource,
    { signal, query, onOpen }: { signal: AbortSignal; query: Record<string, string>; onOpen?: () => void },
  ): AsyncGenerator<WatchEvent> {
    const { events, listeners } = this.#server.kind(resource);
    onOpen?.();
    const first = events.findIndex(({ version }) => version > Number(query['resourceVersion'] ?? 0));
    for (let next = first < 0 ? events.length : first; ; next++) {
      if (next === events.length) await somethingNew(listeners, signal);
      const { type, object } = events[next]!;
      if (isSelected(object, query)) yield { type, object };
    }
  }

  #checked(sent: Sent, key: Partial<ObjectKey>, lastCheck: LastCheck | undefined): LastCheck | undefined {
    requireLastCheck(sent, lastCheck);
    if (!isDestructive(sent)) return lastCheck;
    return () => {
      this.onDestructive(sent.resource == null ? `PUT ${sent.path}` : noted(sent.verb, sent.resource, key));
      lastCheck!();
    };
  }

  async #written(
    verb: string,
    resource: Resource,
    key: ObjectKey,
    lastCheck: (() => void) | undefined,
    write: () => Stored,
  ): Promise<Stored> {
    await this.onWrite(verb, resource, key.name);
    lastCheck?.();
    const before = this.#server.find(resource, key);
    const after = write();
    if (after !== before) this.#note(verb, resource, key);
    return after;
  }

  #note(verb: string, resource: Resource, key: Partial<ObjectKey>): void {
    this.writes.push(noted(verb, resource, key));
  }
}

const noted = (verb: string, { plural }: Resource, { namespace = '', name = '' }: Partial<ObjectKey>): string =>
  `${verb} ${plural} ${namespace}/${name}`;
