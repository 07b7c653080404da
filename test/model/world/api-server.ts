import { isDeepStrictEqual } from 'node:util';
import type { KubeObject, New, Stored } from '../../../api/objects.ts';
import type { Resource } from '../../../api/resources.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { frozen } from './frozen.ts';

export interface Event {
  version: number;
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: Stored;
  /** Undefined for an object that is new. */
  before: Stored | undefined;
}

export interface Write {
  resource: Resource;
  before: Stored | undefined;
  after: Stored | undefined;
}

interface Kind {
  objects: Map<string, Stored>;
  events: Event[];
  listeners: Set<() => void>;
}

export interface Preconditions {
  uid?: string;
  resourceVersion?: string;
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  dryRun?: boolean;
}

/** Kinds whose status is a subresource. */
const WITH_STATUS = new Set([
  'virtualmachinepools',
  'virtualmachinereplicasets',
  'virtualmachineinstancereplicasets',
  'virtualmachineoperations',
  'clustervirtualmachineoperations',
  'virtualmachineoperationschedules',
  'virtualmachinedisruptionbudgets',
  'clustervirtualmachinedisruptionbudgets',
  'virtualmachines',
  'datavolumes',
  'persistentvolumeclaims',
  'nodes',
  'virtualmachineinstancemigrations',
]);

/**
 * An in-memory API server: objects with versions, preconditions, finalizers and watches, as in Kubernetes. All that it
 * answers is frozen and shared.
 */
export class ApiServer {
  readonly #kinds = new Map<string, Kind>();
  readonly #now: () => number;
  #version = 100;
  #uids = 0;
  /** Admission: fills in fields on creation and update. */
  admit: (resource: Resource, object: KubeObject, before: Stored | undefined) => KubeObject = (_resource, object) =>
    object;
  onWrite: (write: Write) => void = () => {};

  constructor(now: () => number) {
    this.#now = now;
  }

  get version(): string {
    return String(this.#version);
  }

  kind(resource: Resource): Kind {
    const id = `${resource.group}/${resource.plural}`;
    let kind = this.#kinds.get(id);
    if (kind === undefined) this.#kinds.set(id, (kind = { objects: new Map(), events: [], listeners: new Set() }));
    return kind;
  }

  all<T extends KubeObject>(resource: Resource): Stored<T>[] {
    return [...this.kind(resource).objects.values()] as Stored<T>[];
  }

  find<T extends KubeObject>(
    resource: Resource,
    key: { namespace?: string | undefined; name: string },
  ): Stored<T> | undefined {
    return this.kind(resource).objects.get(namespacedName(key)) as Stored<T> | undefined;
  }

  get(resource: Resource, key: { namespace?: string | undefined; name: string }): Stored {
    const found = this.find(resource, key);
    if (found === undefined)
      throw new KubeError(404, 'NotFound', `${resource.plural}.${resource.group} "${key.name}" not found`);
    return found;
  }

  create(resource: Resource, object: New): Stored {
    const { generateName, ...given } = object.metadata;
    const uid = `uid-${++this.#uids}`;
    const name = given.name ?? `${generateName}${this.#uids}`;
    if (this.find(resource, { namespace: given.namespace, name }) !== undefined) {
      throw new KubeError(409, 'AlreadyExists', `${resource.plural}.${resource.group} "${name}" already exists`);
    }
    const creationTimestamp = this.#timestamp();
    const metadata = { ...given, name, uid, creationTimestamp, generation: 1, resourceVersion: '' };
    const admitted = this.admit(
      resource,
      { apiVersion: versionOf(resource), kind: resource.kind, ...object, metadata },
      undefined,
    );
    return this.#put(resource, undefined, admitted);
  }

  /** Writes what `change` returns, unless that equals the current object. */
  write(
    resource: Resource,
    key: { namespace?: string | undefined; name: string },
    change: (before: Stored) => KubeObject,
    subresource?: string,
  ): Stored {
    const before = this.get(resource, key);
    const wanted = change(before);
    const { uid, resourceVersion } = wanted.metadata;
    if (uid !== undefined && uid !== before.metadata.uid)
      throw new KubeError(
        409,
        'Conflict',
        `Operation cannot be fulfilled: the UID in the precondition (${uid}) differs`,
      );
    if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion)
      throw new KubeError(
        409,
        'Conflict',
        `Operation cannot be fulfilled on ${resource.plural} "${key.name}": the object has been modified`,
      );
    const hasStatus = WITH_STATUS.has(resource.plural);
    const { creationTimestamp, deletionTimestamp, generation } = before.metadata;
    const kept = {
      uid: before.metadata.uid,
      creationTimestamp,
      generation: generation ?? 1,
      resourceVersion: before.metadata.resourceVersion,
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    };
    let next: KubeObject =
      subresource === 'status'
        ? { ...before, status: wanted['status'] }
        : { ...wanted, metadata: { ...wanted.metadata, ...kept }, ...(hasStatus ? { status: before['status'] } : {}) };
    if (subresource !== 'status') next = this.admit(resource, next, before);
    next = frozen(next);
    if (isDeepStrictEqual(next, before)) return before;
    if (!isDeepStrictEqual(next['spec'], before['spec']))
      next = { ...next, metadata: { ...next.metadata, generation: (generation ?? 1) + 1 } };
    if (deletionTimestamp !== undefined && (next.metadata.finalizers ?? []).length === 0)
      return this.#remove(resource, before, next);
    return this.#put(resource, before, next);
  }

  delete(
    resource: Resource,
    key: { namespace?: string | undefined; name: string },
    { uid, resourceVersion, propagationPolicy = 'Background', dryRun }: Preconditions = {},
  ): Stored {
    const before = this.get(resource, key);
    if (uid !== undefined && uid !== before.metadata.uid)
      throw new KubeError(
        409,
        'Conflict',
        `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${before.metadata.uid}`,
      );
    if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion)
      throw new KubeError(409, 'Conflict', 'Precondition failed: ResourceVersion');
    if (dryRun === true) return before;
    const extra =
      propagationPolicy === 'Orphan' ? ['orphan'] : propagationPolicy === 'Foreground' ? ['foregroundDeletion'] : [];
    const finalizers = [...new Set([...(before.metadata.finalizers ?? []), ...extra])];
    if (before.metadata.deletionTimestamp !== undefined) return before;
    if (finalizers.length === 0) return this.#remove(resource, before, before);
    const deletionTimestamp = this.#timestamp();
    return this.#put(resource, before, {
      ...before,
      metadata: {
        ...before.metadata,
        finalizers,
        deletionTimestamp,
        generation: (before.metadata.generation ?? 1) + 1,
      },
    });
  }

  #put(resource: Resource, before: Stored | undefined, object: KubeObject): Stored {
    const after = this.#versioned(object);
    this.kind(resource).objects.set(namespacedName(after.metadata), after);
    this.#tell(resource, { type: before === undefined ? 'ADDED' : 'MODIFIED', object: after, before });
    this.onWrite({ resource, before, after });
    return after;
  }

  #remove(resource: Resource, before: Stored, last: KubeObject): Stored {
    const gone = this.#versioned(last);
    this.kind(resource).objects.delete(namespacedName(before.metadata));
    this.#tell(resource, { type: 'DELETED', object: gone, before });
    this.onWrite({ resource, before, after: undefined });
    return gone;
  }

  #versioned(object: KubeObject): Stored {
    return frozen({ ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } }) as Stored;
  }

  #tell(resource: Resource, event: Omit<Event, 'version'>): void {
    const kind = this.kind(resource);
    kind.events.push({ version: this.#version, ...event });
    for (const listener of kind.listeners) listener();
  }

  /** Kubernetes' timestamps are in whole seconds. */
  #timestamp(): string {
    return new Date(this.#now()).toISOString().replace(/\.\d+Z$/, 'Z');
  }
}

const namespacedName = ({ namespace, name }: { namespace?: string | undefined; name: string }): string =>
  namespace === undefined ? name : `${namespace}/${name}`;
const versionOf = ({ group, version }: Resource): string => (group === '' ? version : `${group}/${version}`);

/** Merge patch (RFC 7386). */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> =
    target !== null && typeof target === 'object' && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else if (value !== undefined) result[key] = mergePatch(result[key], value);
  }
  return result;
}

interface Operation {
  op: string;
  path: string;
  value?: unknown;
}

export type JsonPatch = readonly Operation[];

/** JSON patch (RFC 6902), with only the operations in use: add, replace, remove and test. */
export const jsonPatch = <T>(target: T, patch: JsonPatch): T =>
  patch.reduce<unknown>((result, operation) => operated(result, keysOf(operation.path), operation), target) as T;

const keysOf = (path: string): string[] =>
  path
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));

/** Copies what it changes, and nothing else. */
function operated(holder: unknown, [key = '', ...inner]: string[], operation: Operation): unknown {
  const { op, value } = operation;
  if (typeof holder !== 'object' || holder === null) throw invalid(operation);
  const part = (holder as Record<string, unknown>)[key];
  if (inner.length > 0) return withPart(holder, key, operated(part, inner, operation));
  if (op === 'test') {
    // To the API server, a missing value is null.
    if (!isDeepStrictEqual(part ?? null, value ?? null)) throw invalid(operation);
    return holder;
  }
  if (op === 'remove') return withoutPart(holder, key, operation);
  if (Array.isArray(holder) && op === 'add')
    return holder.toSpliced(key === '-' ? holder.length : Number(key), 0, value);
  return withPart(holder, key, value);
}

const withPart = (holder: object, key: string, part: unknown): object =>
  Array.isArray(holder) ? holder.with(Number(key), part) : { ...holder, [key]: part };

function withoutPart(holder: object, key: string, operation: Operation): object {
  if (!(key in holder)) throw invalid(operation);
  if (Array.isArray(holder)) return holder.toSpliced(Number(key), 1);
  const { [key]: _part, ...rest } = holder as Record<string, unknown>;
  return rest;
}

const invalid = ({ op, path }: Operation): KubeError =>
  new KubeError(422, 'Invalid', `the server rejected our request due to an error in our request: ${op} ${path}`);
