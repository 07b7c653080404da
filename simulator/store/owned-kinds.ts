import { isEstablished, resourceOf, type CustomResourceDefinition } from '../../api/crd/definition.ts';
import type { KubeObject, OwnerReference } from '../../api/objects.ts';
import {
  ConfigMaps,
  ControllerRevisions,
  CustomResourceDefinitions,
  Secrets,
  type Resource,
} from '../../api/resources.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import type { Cluster } from './cluster.ts';
import { track, type Tracked } from './owner-graph.ts';

type Listener = (before: Tracked | undefined, after: Tracked | undefined) => void;

const GROUPS = new Set(['drover.dev', 'kubevirt.io', 'pool.kubevirt.io', 'cdi.kubevirt.io']);

/**
 * The kinds that garbage collection covers: those of KubeVirt, CDI and drover, as their CRDs come and go, and some
 * built-in kinds.
 */
export class OwnedKinds {
  readonly #cluster: Cluster;
  readonly #listeners: Listener[] = [];
  readonly #resources = new Map<string, Resource>();
  readonly #watches = new Map<string, ListWatch<KubeObject, Tracked>>();
  readonly #definitions: ListWatch<CustomResourceDefinition, Resource | undefined>;
  #started = false;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    for (const store of cluster.stores) {
      this.#resources.set(idOf(store.resource), store.resource);
      store.subscribe((_key, before, after) => {
        this.#notify(before && track(store.resource, before), after && track(store.resource, after));
      });
    }
    this.#definitions = new ListWatch<CustomResourceDefinition, Resource | undefined>({
      client: cluster.client,
      resource: CustomResourceDefinitions,
      view: ownedKind,
      onError: (error) => cluster.log.warn(`the watch of customresourcedefinitions broke: ${error.message}`),
      onChange: (_name, before, after) => {
        if (after !== undefined) this.#follow(after);
        else if (before !== undefined) this.#unfollow(before);
      },
    });
  }

  subscribe(listener: Listener): void {
    this.#listeners.push(listener);
  }

  /** Returns the kind that an owner reference names; undefined if garbage collection doesn't cover it. */
  find({ apiVersion, kind }: OwnerReference): Resource | undefined {
    const group = apiVersion.includes('/') ? apiVersion.split('/')[0]! : '';
    for (const resource of this.#resources.values())
      if (resource.group === group && resource.kind === kind) return resource;
    return undefined;
  }

  async start(): Promise<void> {
    this.#started = true;
    for (const resource of [ControllerRevisions, ConfigMaps, Secrets]) this.#follow(resource);
    await this.#definitions.start().ready();
    await Promise.all([...this.#watches.values()].map((watch) => watch.ready()));
  }

  async stop(): Promise<void> {
    await Promise.all([this.#definitions, ...this.#watches.values()].map((watch) => watch.stop()));
  }

  #follow(resource: Resource): void {
    const id = idOf(resource);
    if (!this.#started || this.#resources.has(id)) return;
    this.#resources.set(id, resource);
    const watch = new ListWatch<KubeObject, Tracked>({
      client: this.#cluster.client,
      resource,
      view: (object) => track(resource, object),
      onChange: (_key, before, after) => this.#notify(before, after),
    });
    this.#watches.set(id, watch.start());
  }

  #unfollow(resource: Resource): void {
    const id = idOf(resource);
    const watch = this.#watches.get(id);
    if (watch === undefined) return;
    this.#watches.delete(id);
    this.#resources.delete(id);
    void watch.stop();
  }

  #notify(before: Tracked | undefined, after: Tracked | undefined): void {
    for (const listener of this.#listeners) listener(before, after);
  }
}

const idOf = ({ group, plural }: Resource): string => `${plural}.${group}`;

const ownedKind = (crd: CustomResourceDefinition): Resource | undefined =>
  GROUPS.has(crd.spec.group) && isEstablished(crd) ? resourceOf(crd) : undefined;
