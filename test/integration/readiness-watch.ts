import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject, Stored } from '../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachines, type Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import type { VirtualMachine, VirtualMachineInstance } from '../../simulator/objects/kubevirt.ts';
import { ReadinessLog, vmFacts, vmiFacts, type Change } from './readiness-log.ts';

/** A range of versions in which changes may have been missed, because the API server no longer had them. */
interface Gap {
  kind: Change['kind'];
  from: bigint;
  to: bigint;
}

const AGAIN_MS = 100;
const WATCH_SECONDS = 60;
const SETTLE_MS = 60_000;

/**
 * Records the VMs and VMIs of a namespace, sharing nothing with drover but the client: every change that the API server
 * reports, from the initial list until `stop`. A watch that ends resumes at the last version seen, so that nothing is
 * missed. If the server no longer has that version, as after its own restart, the watch lists again and notes a gap,
 * which hides only what was both created and deleted within it. VMs and VMIs arrive in two streams that are not ordered
 * with each other; the log merges them by resource version, which both kinds take from etcd's revision counter.
 */
export class ReadinessWatch {
  readonly log = new ReadinessLog();
  /** Must be empty in tests that count. */
  readonly gaps: Gap[] = [];
  readonly #kube: KubeClient;
  readonly #namespace: string;
  readonly #stop = new AbortController();
  readonly #following: Promise<void>[] = [];
  readonly #present = { vm: new Set<string>(), vmi: new Set<string>() };

  private constructor(kube: KubeClient, namespace: string) {
    this.#kube = kube;
    this.#namespace = namespace;
  }

  /** Resolves when both initial lists are recorded. */
  static async start(kube: KubeClient, namespace: string): Promise<ReadinessWatch> {
    const watch = new ReadinessWatch(kube, namespace);
    for (const stream of streams) {
      const version = await watch.#list(stream);
      watch.#following.push(watch.#follow(stream, version));
    }
    return watch;
  }

  /** Starts counting: `mostUnavailable` and `restartsOf` leave out what happened before. */
  async startRecording(): Promise<void> {
    this.log.beginAt(await this.caughtUp());
  }

  /**
   * Resolves when the log holds all that the API server has now, with the version of the lists. Throws after
   * `SETTLE_MS`.
   */
  async caughtUp(): Promise<bigint> {
    const deadline = Date.now() + SETTLE_MS;
    let highest = 0n;
    for (const { kind, resource } of streams) {
      const { metadata, items } = await this.#kube.list(resource, { namespace: this.#namespace });
      const listed = BigInt(metadata.resourceVersion);
      if (listed > highest) highest = listed;
      const behind = (): boolean => {
        const names = new Set(items.map((item) => item.metadata.name));
        if (
          items.some(
            ({ metadata: { name, resourceVersion } }) =>
              (this.log.newestOf(kind, name) ?? -1n) < BigInt(resourceVersion),
          )
        )
          return true;
        return [...this.#present[kind]].some((name) => !names.has(name) && this.log.newestOf(kind, name)! <= listed);
      };
      while (behind()) {
        if (Date.now() > deadline)
          throw new Error(`the watch of ${resource.plural} does not catch up with version ${listed}`);
        await sleep(10);
      }
    }
    return highest;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#following);
  }

  /** Logs all existing objects, and the absence of deleted ones. Returns the version at which a watch may resume. */
  async #list(stream: Stream): Promise<bigint> {
    const { metadata, items } = await this.#kube.list(stream.resource, {
      namespace: this.#namespace,
      signal: this.#stop.signal,
    });
    const version = BigInt(metadata.resourceVersion);
    const names = new Set(items.map((item) => item.metadata.name));
    for (const name of this.#present[stream.kind]) if (!names.has(name)) this.#add(stream, name, version, null);
    for (const item of items) this.#add(stream, item.metadata.name, BigInt(item.metadata.resourceVersion), item);
    return version;
  }

  async #follow(stream: Stream, from: bigint): Promise<void> {
    const { signal } = this.#stop;
    let version = from;
    while (!signal.aborted) {
      try {
        const query = {
          resourceVersion: String(version),
          allowWatchBookmarks: 'true',
          timeoutSeconds: String(WATCH_SECONDS),
        };
        for await (const event of this.#kube.watch(stream.resource, { namespace: this.#namespace, query, signal })) {
          if (event.type === 'ERROR')
            throw new KubeError(event.object.code, event.object.reason ?? '', event.object.message ?? '');
          const { name, resourceVersion } = event.object.metadata;
          version = BigInt(resourceVersion);
          if (event.type !== 'BOOKMARK')
            this.#add(stream, name, version, event.type === 'DELETED' ? null : event.object);
        }
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof KubeError && error.status === 410) version = await this.#relist(stream, version);
        else await sleep(AGAIN_MS);
      }
    }
  }

  async #relist(stream: Stream, from: bigint): Promise<bigint> {
    for (;;) {
      try {
        const to = await this.#list(stream);
        this.gaps.push({ kind: stream.kind, from, to });
        return to;
      } catch (error) {
        if (this.#stop.signal.aborted) throw error;
        await sleep(AGAIN_MS);
      }
    }
  }

  #add({ kind }: Stream, name: string, version: bigint, object: Stored | null): void {
    if (object === null) this.#present[kind].delete(name);
    else this.#present[kind].add(name);
    const common = { name, version, at: Date.now() };
    if (kind === 'vm')
      this.log.add({
        ...common,
        kind,
        facts: object === null ? null : vmFacts(object as Stored<VirtualMachine & KubeObject>),
      });
    else
      this.log.add({
        ...common,
        kind,
        facts: object === null ? null : vmiFacts(object as Stored<VirtualMachineInstance & KubeObject>),
      });
  }
}

interface Stream {
  kind: Change['kind'];
  resource: Resource;
}

const streams: readonly Stream[] = [
  { kind: 'vm', resource: VirtualMachines },
  { kind: 'vmi', resource: VirtualMachineInstances },
];
