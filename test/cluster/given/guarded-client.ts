import type { KubeConfig } from '@kubernetes/client-node';
import type { KubeObject, New, ObjectMeta, Stored } from '../../../api/objects.ts';
import { Namespaces, type Resource } from '../../../api/resources.ts';
import {
  KubeClient,
  type DeleteOptions,
  type ObjectKey,
  type PatchType,
  type WriteOptions,
} from '../../../kubernetes/client.ts';
import type { HttpRequest } from '../../../kubernetes/transport.ts';
import { actionObjection, objection } from '../objection.ts';
import type { GivenCluster } from './given.ts';
import { labelsOf } from './ownership.ts';
import { skip } from './skip.ts';
import { openNamespace } from './worker-rights.ts';

/**
 * A test's client on a cluster that belongs to someone else: writes only in namespaces that it created, which it labels
 * with the run's id. Skips a test that needs more, or a VMI that only the simulator can provide.
 */
export class GuardedClient extends KubeClient {
  readonly #given: GivenCluster;
  readonly #plain: KubeClient;
  readonly #own = new Set<string>();

  constructor(config: KubeConfig, given: GivenCluster) {
    super(config, { fieldManager: 'test' });
    this.#given = given;
    this.#plain = new KubeClient(config, { fieldManager: 'test' });
  }

  /** Names of the namespaces that this client created. */
  get namespaces(): string[] {
    return [...this.#own];
  }

  /** The unguarded client, for what the harness itself creates and removes. */
  get plain(): KubeClient {
    return this.#plain;
  }

  override async create<T extends KubeObject>(
    resource: Resource,
    object: New<T>,
    options: WriteOptions = {},
  ): Promise<Stored<T>> {
    if (resource === Namespaces) return this.#createNamespace(object);
    this.#guard(resource, { ...object.metadata, name: object.metadata.name ?? '' }, object);
    return super.create(resource, resource.namespaced ? object : this.#labelled(object), options);
  }

  override async update<T extends KubeObject>(
    resource: Resource,
    object: T,
    options: WriteOptions = {},
  ): Promise<Stored<T>> {
    this.#guard(resource, object.metadata, object);
    return super.update(resource, object, options);
  }

  override async patch<T extends KubeObject>(
    resource: Resource,
    key: ObjectKey,
    type: PatchType,
    patch: unknown,
    options: WriteOptions & { force?: boolean } = {},
  ): Promise<Stored<T>> {
    this.#guard(resource, key, patch);
    return super.patch(resource, key, type, patch, options);
  }

  override async delete<T extends KubeObject>(
    resource: Resource,
    key: ObjectKey,
    options: DeleteOptions = {},
  ): Promise<Stored<T>> {
    if (resource === Namespaces) skip('it deletes a namespace, and with it the rights that the worker has there');
    this.#guard(resource, key, undefined);
    return super.delete(resource, key, options);
  }

  /** Guards KubeVirt's subresource actions. */
  override async request<T>(request: HttpRequest): Promise<T> {
    const reason = request.method === 'GET' ? undefined : actionObjection(this.#given, this.#own, request.path);
    if (reason !== undefined) skip(reason);
    return super.request(request);
  }

  override async close(): Promise<void> {
    await Promise.all([super.close(), this.#plain.close()]);
  }

  async #createNamespace<T extends KubeObject>(object: New<T>): Promise<Stored<T>> {
    const created = await this.#plain.create<T>(Namespaces, this.#labelled(object));
    this.#own.add(created.metadata.name);
    await openNamespace(this.#plain, this.#given, created.metadata.name);
    return created;
  }

  /** The run removes at its end what carries its id. */
  #labelled<T extends { metadata: Pick<ObjectMeta, 'labels'> }>(object: T): T {
    const labels = { ...object.metadata.labels, ...labelsOf(this.#given.run) };
    return { ...object, metadata: { ...object.metadata, labels } };
  }

  #guard(resource: Resource, key: ObjectKey, body: unknown): void {
    const reason = objection(this.#given, this.#own, resource, key, body);
    if (reason !== undefined) skip(reason);
  }
}
