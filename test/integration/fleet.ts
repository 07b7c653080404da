import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { controllerOf, type KubeObject, type Stored } from '../../api/objects.ts';
import type { PoolSpec, VirtualMachinePool } from '../../api/pool/pool.ts';
import type { Condition } from '../../api/pool/status.ts';
import { Namespaces, VirtualMachineInstances, VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import { connectTemporal, type Temporal } from '../../clients/session/temporal.ts';
import { setup } from '../../clients/setup/setup.ts';
import type { Stack } from '../../dev/embedded-stack.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { watchIdOf } from '../../workflows/lib/messages.ts';
import { GivenStack } from '../cluster/given/given-stack.ts';
import { givenCluster } from '../cluster/given/given.ts';
import { isSkip } from '../cluster/given/skip.ts';
import { spawnReaped } from '../reaped.ts';
import { recordHistories, recordObjects } from '../replay/recording.ts';
import { LeasedStack } from '../stacks/leased-stack.ts';
import { kindOf, startTestStack, type Wanted } from '../stacks/stack-pool.ts';
import { waitFor } from '../wait-for.ts';

export interface TestWorker {
  readonly pid: number;
  /** Kills the worker, as a crash would. */
  kill(): Promise<void>;
  /** Asks the worker to end, as Kubernetes does, and resolves with its exit code. */
  stop(): Promise<number | null>;
  /** Resolves with its exit code when it has ended. */
  ended: Promise<number | null>;
}

/** By then, a worker that waits has said what for. */
const READY_MS = 120_000;

/** The stack of one test file, with everything that its tests do to a fleet. */
export class TestFleet {
  readonly stack: Stack;
  readonly kube: KubeClient;
  readonly temporal: Temporal;
  readonly #workers = new Map<ChildProcess, Promise<unknown>>();
  #endRecording: (() => Promise<unknown>) | undefined;
  /** Workers without settings of their own. */
  readonly #usual = new Map<ChildProcess, TestWorker>();

  constructor(stack: Stack, temporal: Temporal) {
    this.stack = stack;
    this.temporal = temporal;
    this.kube =
      stack instanceof GivenStack
        ? stack.kube
        : new KubeClient(loadKubeConfig({ kubeconfig: stack.kubeconfig }), { fieldManager: 'test' });
  }

  /** Path of a kubeconfig with a worker's rights; on a stack of the test's own, with every right. */
  get workerKubeconfig(): string {
    return this.#workerEnv['KUBECONFIG']!;
  }

  get #workerEnv(): Record<string, string> {
    return { ...this.stack.env, ...(this.stack instanceof GivenStack ? this.stack.workerEnv : {}) };
  }

  /**
   * Starts a worker in a process of its own; resolves when it takes work. `program`: of another release, with its
   * arguments.
   */
  async startWorker(env: Record<string, string> = {}, program?: readonly string[]): Promise<TestWorker> {
    const programs = inject('programs')!;
    const child = spawnReaped(process.execPath, [...(program ?? [programs.worker])], {
      cwd: resolve(import.meta.dirname, '../..'),
      env: {
        ...process.env,
        ...programs.env,
        DROVER_WORKFLOW_BUNDLE: programs.workflows,
        ...this.#workerEnv,
        ...env,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    // Not `exit`: the last lines of output may come after that.
    const exited = once(child, 'close').then(([code]) => {
      this.#workers.delete(child);
      this.#usual.delete(child);
      return code as number | null;
    });
    this.#workers.set(child, exited);
    const log = createWriteStream(join(this.stack.state, 'logs', `test-worker-${child.pid}.log`));
    const lines = createInterface({ input: child.stderr! });
    await new Promise<void>((ready, failed) => {
      const last: string[] = [];
      lines.on('line', (line) => {
        log.write(`${line}\n`);
        last.push(line);
        if (line.includes('"worker ready"')) ready();
      });
      const says = (): void => failed(new Error(`the worker is not ready: ${last.slice(-5).join('\n')}`));
      setTimeout(says, READY_MS).unref();
      void exited.then((code) => failed(new Error(`the worker ended with ${code}: ${last.slice(-5).join('\n')}`)));
    });
    const end = (signal: NodeJS.Signals) => async (): Promise<number | null> => {
      child.kill(signal);
      return await exited;
    };
    const kill = async (): Promise<void> => void (await end('SIGKILL')());
    const worker = { pid: child.pid!, kill, stop: end('SIGTERM'), ended: exited };
    if (Object.keys(env).length === 0) this.#usual.set(child, worker);
    return worker;
  }

  /** Returns a worker without settings of its own. Starts one only if none runs: a start takes a second of CPU. */
  async worker(): Promise<TestWorker> {
    const [running] = this.#usual.values();
    return running ?? (await this.startWorker());
  }

  /** Sets up the servers, and sees to it that this many workers run. */
  async begin(workers: number): Promise<void> {
    if (workers === 0) await this.#endAll();
    await this.setUp();
    this.#endRecording ??= recordObjects(this.kube);
    while (this.#workers.size < workers) await this.startWorker();
  }

  async setUp(): Promise<void> {
    const kube = this.stack instanceof GivenStack ? this.stack.kube.plain : this.kube;
    // The file before may have divided the cluster, and a worker waits for as long as it counts other shards.
    await setup({ kube, temporal: this.temporal, cluster: 'default', shards: 1, say: () => {} });
  }

  /** Leaves to the next file what it would start itself: servers without objects and workflows, and a worker if any. */
  async leave(stack: LeasedStack): Promise<void> {
    const [usual] = this.#usual.keys();
    await this.#endWorkers([...this.#workers.keys()].filter((worker) => worker !== usual));
    await recordHistories(this.temporal.client);
    await stack.restoreApiServer();
    if (usual === undefined) await this.#endAll();
    else await until(async () => expect(await this.#terminate((id) => id !== WATCH)).toBe(0));
  }

  /** Ends all workers and the watch, which the next worker would otherwise take over only when it is missed. */
  async #endAll(): Promise<void> {
    await this.#endWorkers(this.#workers.keys());
    await until(async () => expect(await this.#terminate(() => true)).toBe(0));
  }

  /** Terminates workflows, and returns how many ran until now. */
  async #terminate(isToEnd: (id: string) => boolean): Promise<number> {
    const { workflow } = this.temporal.client;
    let count = 0;
    for await (const { workflowId } of workflow.list({ query: `ExecutionStatus = 'Running'` })) {
      if (!isToEnd(workflowId)) continue;
      count++;
      await workflow
        .getHandle(workflowId)
        .terminate()
        .catch(() => {});
    }
    return count;
  }

  async end(): Promise<void> {
    await this.#endWorkers(this.#workers.keys());
    await recordHistories(this.temporal.client).catch((error: unknown) => console.warn('not recorded', error));
    await this.#endRecording?.();
    await this.temporal.connection.close();
    await this.stack.stop();
    await this.kube.close();
  }

  async #endWorkers(workers: Iterable<ChildProcess>): Promise<void> {
    const ends = [...workers].map((worker) => {
      worker.kill('SIGKILL');
      return this.#workers.get(worker)!;
    });
    await Promise.all(ends);
  }

  /** Creates a namespace for one test. */
  async namespace(): Promise<string> {
    const name = `test-${Math.random().toString(36).slice(2, 10)}`;
    await this.kube.create(Namespaces, { metadata: { name } });
    return name;
  }

  createPool(namespace: string, name: string, spec: Partial<PoolSpec> = {}): Promise<Stored<PoolObject>> {
    const pool = { metadata: { namespace, name }, spec: { replicas: 1, template: haltedTemplate, ...spec } };
    return this.kube.create(VirtualMachinePools, pool);
  }

  pool(namespace: string, name: string): Promise<Stored<PoolObject> | undefined> {
    return ignoreNotFound(this.kube.get<PoolObject>(VirtualMachinePools, { namespace, name }));
  }

  /** Returns the pool's condition of this type; undefined if there is none. */
  async condition(namespace: string, name: string, type: string): Promise<Condition | undefined> {
    return (await this.pool(namespace, name))?.status?.conditions?.find((condition) => condition.type === type);
  }

  patchPool(namespace: string, name: string, spec: Partial<PoolSpec>): Promise<Stored<PoolObject>> {
    return this.kube.patch<PoolObject>(VirtualMachinePools, { namespace, name }, 'merge', { spec });
  }

  async vms(namespace: string): Promise<Stored[]> {
    return (await this.kube.list(VirtualMachines, { namespace })).items;
  }

  /** Returns the names of the VMs that the pool controls, in the order of their numbers. */
  async vmNames(namespace: string, pool: string): Promise<string[]> {
    const names = (await this.vms(namespace))
      .filter((vm) => controllerOf(vm)?.name === pool)
      .map((vm) => vm.metadata.name);
    return byNumber(names);
  }

  /** Lets the VMI of a VM (`namespace/name`) that was changed with `neverReady` become ready. */
  async letBecomeReady(vm: string): Promise<void> {
    const [namespace, name] = vm.split('/') as [string, string];
    await until(async () => {
      const { metadata } = await this.kube.get(VirtualMachineInstances, { namespace, name });
      expect(metadata.annotations).toHaveProperty([NEVER_READY]);
    });
    const metadata = { annotations: { [NEVER_READY]: null } };
    await this.kube.patch(VirtualMachineInstances, { namespace, name }, 'merge', { metadata });
  }

  /** Resolves when the pool has exactly these VMs, named in any order, and its status counts them. */
  async settled(namespace: string, pool: string, names: string[]): Promise<void> {
    await until(async () => {
      expect(await this.vmNames(namespace, pool)).toEqual(byNumber(names));
      const { metadata, status } = (await this.pool(namespace, pool))!;
      expect(status).toMatchObject({ replicas: names.length, observedGeneration: metadata.generation });
    });
  }
}

const byNumber = (names: string[]): string[] => names.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));

export type PoolObject = KubeObject & Pick<VirtualMachinePool, 'spec' | 'status'>;

/** A template of stopped VMs, for tests of creation rather than boot. */
export const haltedTemplate: PoolSpec['template'] = {
  spec: { runStrategy: 'Halted', template: { spec: { domain: { devices: {}, memory: { guest: '64Mi' } } } } },
};
export const runningTemplate: PoolSpec['template'] = {
  spec: {
    runStrategy: 'Always',
    template: {
      metadata: { annotations: { 'sim.drover.dev/boot-time': '100ms', 'sim.drover.dev/stop-time': '100ms' } },
      spec: { domain: { devices: {}, memory: { guest: '64Mi' } } },
    },
  },
};

const NEVER_READY = 'sim.drover.dev/never-ready';
/** A change of a VM after which VMIs that start don't become ready. */
export const neverReady = { spec: { template: { metadata: { annotations: { [NEVER_READY]: 'true' } } } } };

export const namesUpTo = (pool: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${pool}-${index + 1}`);

const WATCH = watchIdOf('default');

/** KubeVirt on a given cluster may be slower than the simulator. */
export const UNTIL_MS = givenCluster() === undefined ? 120_000 : 240_000;

/**
 * Waits until the assertions hold. The default timeout, in milliseconds, lets Temporal time out several dead workers on
 * a busy machine, but is shorter than the five-minute resync, which would hide a lost change.
 */
export async function until(assertions: () => Promise<void>, timeout = UNTIL_MS): Promise<void> {
  let skipped: unknown;
  const attempt = (): Promise<void> =>
    assertions().catch((error: unknown) => {
      if (!isSkip(error)) throw error;
      skipped = error;
    });
  await waitFor(attempt, timeout);
  if (skipped !== undefined) throw skipped;
}

interface FleetOptions {
  simulator?: boolean;
  workers?: number;
  /** The file kills servers: it has a stack to itself, whose data survives that. */
  ownStack?: boolean;
  /** The file shows that what drover writes passes KubeVirt's own CRDs, if the machine has them. */
  kubevirtCrds?: boolean;
}

/** The one place that chooses what tests run on: a stack with the simulator, or the given cluster. */
function startServers({ ownStack = false, ...options }: FleetOptions): Promise<Stack> {
  const given = givenCluster();
  if (given !== undefined) return GivenStack.start(given, ownStack);
  if (!ownStack) return LeasedStack.lease(wantedOf(options));
  const state = mkdtempSync(join(tmpdir(), 'drover-test-'));
  return startTestStack(state, { ...wantedOf(options), durable: true }, inject('programs')!);
}

const wantedOf = ({ simulator = true, kubevirtCrds }: FleetOptions): Wanted =>
  kubevirtCrds === undefined ? { simulator } : { simulator, kubevirtCrds };

/** The fleet that a file of this process has left to the next one. */
let left: { kind: string; fleet: TestFleet } | undefined;

/** Returns the fleet that was left, if it is of this kind; ends any other, whose servers would cost CPU in vain. */
async function takeLeft(kind: string | undefined): Promise<TestFleet | undefined> {
  const taken = left;
  left = undefined;
  if (taken?.kind === kind) return taken?.fleet;
  await taken?.fleet.end();
  return undefined;
}

async function start(options: FleetOptions): Promise<TestFleet> {
  const stack = await startServers(options);
  const namespace = stack.env['TEMPORAL_NAMESPACE'];
  return new TestFleet(stack, await connectTemporal({ address: stack.temporalAddress, namespace }));
}

/**
 * The fleet of this test file: it is there before the tests, with as many workers as asked for, and ends after them.
 */
export function aFleet(options: FleetOptions = {}): () => TestFleet {
  const { workers = 1, ownStack = false } = options;
  const kind = kindOf(wantedOf(options));
  let fleet: TestFleet | undefined;
  beforeAll(async () => {
    fleet = (await takeLeft(ownStack ? undefined : kind)) ?? (await start(options));
    await fleet.begin(workers);
  });
  afterAll(async () => {
    if (fleet === undefined) return;
    const { stack } = fleet;
    if (stack instanceof LeasedStack && left === undefined) {
      await fleet.leave(stack);
      left = { kind, fleet };
      return;
    }
    await fleet.end();
    if (!(stack instanceof LeasedStack))
      rmSync(stack.state, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  });
  return () => fleet!;
}
