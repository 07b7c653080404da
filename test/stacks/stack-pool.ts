import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { applyCrds } from '../../clients/setup/crds.ts';
import type { Stack } from '../../dev/embedded-stack.ts';
import { pathsOf } from '../../dev/paths.ts';
import { reservePort, type PortName } from '../../dev/process/ports.ts';
import { readStackRecord } from '../../dev/stack-file.ts';
import { startStack } from '../../dev/stack.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import type { Programs } from '../programs.ts';
import { temporalSettings } from '../replay/recording.ts';
import { isSoak } from '../soak.ts';
import { EtcdSnapshot } from './etcd-snapshot.ts';

const crds =
  process.env['DROVER_TEST_KUBEVIRT_CRDS'] ?? resolve(import.meta.dirname, '../../../shared/kubevirt/crds.json');
/** File with KubeVirt's own CRDs, if the machine has it beside the project. */
export const KUBEVIRT_CRDS = existsSync(crds) ? crds : undefined;

export interface Wanted {
  simulator: boolean;
  /** True by default; false saves the CPU of a start. A stack that is new has Temporal nevertheless. */
  temporal?: boolean;
  /** Keep the data on disk, so that it survives a kill of its server. */
  durable?: boolean;
  /** KubeVirt's own CRDs, if the machine has them, and not the stack's smaller ones. */
  kubevirtCrds?: boolean;
}

/** What a test file knows of a stack that is leased to it. */
export type Lease = Pick<Stack, 'state' | 'kubeconfig' | 'temporalAddress' | 'temporalUi' | 'env'>;
export type Answer = { lease: Lease } | { error: string };
/** What a file says to have its API server hold again what it held at first, or its simulator end or start. */
export type Order = 'restore' | 'kill simulator' | 'halt simulator' | 'restart simulator';

/**
 * Starts a stack for tests, which start the workers themselves and see every process that ends. KubeVirt's own CRDs
 * double the CPU of the API server: only files that ask for them have them, and in a soak run all whose API server is
 * not restarted.
 */
export function startTestStack(state: string, wanted: Wanted, programs: Programs): Promise<Stack> {
  const { simulator, durable = false } = wanted;
  const crds = KUBEVIRT_CRDS !== undefined && wantsKubevirtCrds(wanted) ? { kubevirtCrds: KUBEVIRT_CRDS } : {};
  return startStack({
    state,
    ephemeral: !durable,
    simulator,
    simulatorProgram: programs.simulator,
    simulatorEnv: programs.env,
    worker: false,
    restarts: false,
    temporalSettings,
    ...crds,
  });
}

const wantsKubevirtCrds = ({ durable = false, kubevirtCrds = isSoak && !durable }: Wanted): boolean => kubevirtCrds;

/**
 * Leases stacks to test files, each to one file at a time, and restores them in between: an API server takes four
 * seconds of CPU to start. A lease lasts as long as the connection over which it was asked for, so it also ends with a
 * process that is killed.
 */
export class StackPool {
  readonly #folder = mkdtempSync(join(tmpdir(), 'drover-'));
  readonly #server = createServer((connection) => void this.#serve(connection));
  readonly #programs: Programs;
  readonly #all: SharedStack[] = [];
  #free: SharedStack[] = [];

  constructor(programs: Programs) {
    this.#programs = programs;
  }

  /** Path of the socket that the pool listens on. */
  get socket(): string {
    return join(this.#folder, 'leases.sock');
  }

  async listen(): Promise<void> {
    this.#server.listen(this.socket);
    await once(this.#server, 'listening');
  }

  async close(): Promise<void> {
    this.#server.close();
    await Promise.all(this.#all.map((stack) => stack.end()));
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }

  async #serve(connection: Socket): Promise<void> {
    const closed = once(connection, 'close').catch(() => {});
    const answer = (what: Answer): void => void connection.write(`${JSON.stringify(what)}\n`);
    const lines = createInterface({ input: connection });
    const [request] = (await once(lines, 'line')) as [string];
    try {
      const stack = await this.#take(JSON.parse(request) as Wanted);
      const { lease } = stack;
      lines.on('line', (order) => {
        stack.obey(order as Order).then(
          () => answer({ lease }),
          (error: Error) => answer({ error: error.message }),
        );
      });
      answer({ lease });
      await closed;
      stack.restore();
      this.#free.push(stack);
    } catch (error) {
      answer({ error: (error as Error).stack ?? String(error) });
    }
  }

  async #take(wanted: Wanted): Promise<SharedStack> {
    const kubevirtCrds = wantsKubevirtCrds(wanted);
    let stack = this.#free.find((free) => free.kubevirtCrds === kubevirtCrds);
    this.#free = this.#free.filter((free) => free !== stack);
    if (stack === undefined) {
      const state = mkdtempSync(join(this.#folder, 's-'));
      const started = await startTestStack(state, { ...wanted, simulator: false }, this.#programs);
      stack = await SharedStack.of(started, kubevirtCrds);
      this.#all.push(stack);
    }
    await stack.start(wanted);
    return stack;
  }
}

/** A fleet of one kind is as another of it. */
export const kindOf = (wanted: Wanted): string =>
  JSON.stringify({ simulator: wanted.simulator, kubevirtCrds: wantsKubevirtCrds(wanted) });

/** The ports of the servers that are not restored, but started for each lease that wants them. */
const PORTS = { temporal: ['temporal', 'ui'], simulator: ['simulator'] } as const;
type LeaseServer = keyof typeof PORTS;
const LEASE_SERVERS = Object.keys(PORTS) as LeaseServer[];

/** A stack that is as new for each file that leases it. */
class SharedStack {
  readonly kubevirtCrds: boolean;
  readonly #stack: Stack;
  /** What the API server holds before a lease. */
  readonly #first: EtcdSnapshot;
  /** What it holds as a lease begins: with a simulator, more. */
  #leased: EtcdSnapshot | undefined;
  /** A stack that is new has Temporal. */
  readonly #running = new Set<LeaseServer>(['temporal']);
  /** Keep the ports of the servers that are halted from other stacks that choose theirs meanwhile. */
  readonly #held = new Map<PortName, Server>();
  #restored: Promise<void> = Promise.resolve();
  #isOver = false;

  private constructor(stack: Stack, first: EtcdSnapshot, kubevirtCrds: boolean) {
    this.#stack = stack;
    this.#first = first;
    this.kubevirtCrds = kubevirtCrds;
  }

  /** Takes over a stack that has just started, without a simulator. */
  static async of(stack: Stack, kubevirtCrds: boolean): Promise<SharedStack> {
    await installCrds(stack);
    return new SharedStack(stack, await EtcdSnapshot.take(pathsOf(stack.state).ephemeral), kubevirtCrds);
  }

  get lease(): Lease {
    const { state, kubeconfig, temporalAddress, temporalUi, env } = this.#stack;
    return { state, kubeconfig, temporalAddress, temporalUi, env };
  }

  /** Begins a lease. */
  async start({ temporal = true, simulator }: Wanted): Promise<void> {
    await this.#restored;
    const wanted = LEASE_SERVERS.filter((name) => (name === 'temporal' ? temporal : simulator));
    const missing = wanted.filter((name) => !this.#running.has(name));
    for (const name of missing) {
      this.#releasePorts(name);
      this.#running.add(name);
    }
    await Promise.all(missing.map((name) => this.#stack.restart(name)));
    if (simulator) this.#leased = await EtcdSnapshot.take(pathsOf(this.#stack.state).ephemeral);
  }

  /** Carries out what the file asks for during its lease. */
  async obey(order: Order): Promise<void> {
    if (order === 'restore') await (this.#leased ?? this.#first).restore();
    if (order === 'kill simulator') this.#stack.kill('simulator', 'SIGKILL');
    if (order === 'halt simulator') await this.#stack.halt('simulator');
    if (order === 'restart simulator') await this.#stack.restart('simulator');
  }

  /** Ends what keeps things in memory, and brings the API server back to what it held before the lease. */
  restore(): void {
    // If a test process ends after the pool has closed, held ports would keep the pool's process alive.
    if (this.#isOver) return;
    this.#restored = (async () => {
      await Promise.all([...this.#running].map((name) => this.#stack.halt(name)));
      this.#running.clear();
      await this.#holdPorts();
      await this.#leased?.close();
      this.#leased = undefined;
      await this.#first.restore();
    })();
    // `start` tells of it.
    this.#restored.catch(() => {});
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#restored.catch(() => {});
    for (const name of LEASE_SERVERS) this.#releasePorts(name);
    await Promise.all([this.#leased?.close(), this.#first.close()]);
    await this.#stack.stop();
  }

  async #holdPorts(): Promise<void> {
    const { ports } = readStackRecord(pathsOf(this.#stack.state).stack)!;
    const names = LEASE_SERVERS.flatMap((name) => PORTS[name]).filter((name) => !this.#held.has(name));
    const hold = async (name: PortName): Promise<void> => {
      const server = await reservePort(ports[name]);
      server?.on('connection', (connection) => connection.destroy());
      if (server !== undefined) this.#held.set(name, server);
    };
    await Promise.all(names.map(hold));
  }

  #releasePorts(of: LeaseServer): void {
    for (const name of PORTS[of]) {
      this.#held.get(name)?.close();
      this.#held.delete(name);
    }
  }
}

/**
 * Installs drover's CRDs as the tests' fleets would, which then change nothing: a change has the API server build
 * anew what it serves of them.
 */
async function installCrds({ kubeconfig }: Stack): Promise<void> {
  const kube = new KubeClient(loadKubeConfig({ kubeconfig }), { fieldManager: 'test' });
  await applyCrds(kube, { dryRun: false, say: () => {} });
  await kube.close();
}
