import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeClient } from '../kubernetes/client.ts';
import { loadKubeConfig } from '../kubernetes/config.ts';
import { installCrds, mergeCrds, readCrds } from './crds/crds.ts';
import { kubevirtCrds } from './crds/kubevirt-crds.ts';
import { defaultCache, pathsOf } from './paths.ts';
import { choosePorts, portNames, type PortName, type StackPorts } from './process/ports.ts';
import { endLeftovers, identify } from './process/process-identity.ts';
import { ProcessReaper } from './process/reaper.ts';
import { Service, StartFailed, type ServiceSpec } from './process/service.ts';
import { prepareCredentials, writeKubeconfig, type Credentials } from './services/credentials.ts';
import { exportLines, temporalConfig } from './services/environment.ts';
import { etcd } from './services/etcd.ts';
import { kubeApiserver } from './services/kube-apiserver.ts';
import { simulator, worker } from './services/simulator-and-worker.ts';
import { temporal } from './services/temporal.ts';
import { readStackRecord, writeStackRecord, type Phase } from './stack-file.ts';
import type { ToolName } from './tools/catalog.ts';
import { resolveTools } from './tools/resolve.ts';

export type ProcessName = ToolName | 'simulator' | 'worker';

export interface StackOptions {
  /** Folder with all files of the stack. */
  state: string;
  /** Start without data, and delete the data at the end. */
  ephemeral?: boolean;
  /** Both default to true. */
  simulator?: boolean;
  worker?: boolean;
  /** Path of the simulator's program; `simulator/main.ts` by default. */
  simulatorProgram?: string;
  /** Extra environment for the simulator, on top of the stack's. */
  simulatorEnv?: Record<string, string>;
  /** File with CRDs that replace the stack's own CRDs of KubeVirt's kinds. */
  kubevirtCrds?: string;
  ports?: Partial<StackPorts>;
  /** Dynamic configuration of Temporal, each as `KEY=VALUE`. */
  temporalSettings?: readonly string[];
  /** Extra environment for the worker, on top of the stack's. */
  workerEnv?: Record<string, string>;
  /** Restart a process that ends by itself; defaults to true. */
  restarts?: boolean;
  /** Called with the stack's environment when the servers are ready, before the worker starts. */
  prepare?: (env: Record<string, string>) => Promise<void>;
  onProgress?: (line: string) => void;
  /** Aborts the start, and ends the processes started so far. */
  signal?: AbortSignal;
}

export interface Stack {
  readonly state: string;
  /** Path of the file. */
  readonly kubeconfig: string;
  /** `host:port` of Temporal's frontend. */
  readonly temporalAddress: string;
  /** URL of Temporal's Web UI. */
  readonly temporalUi: string;
  /** Environment of the stack's clients: `KUBECONFIG`, `TEMPORAL_ADDRESS`, … */
  readonly env: Record<string, string>;
  readonly processes: { name: ProcessName; pid: number }[];
  stop(): Promise<void>;
  /** Stops one process until `restart`. */
  halt(name: ProcessName): Promise<void>;
  /**
   * Stops one process and starts it again. Resolves when it is ready. A simulator that was left out starts for the
   * first time.
   */
  restart(name: ProcessName): Promise<void>;
  /** Only sends the signal, like a kill from outside: the process is restarted if `restarts` is set. */
  kill(name: ProcessName, signal: NodeJS.Signals): void;
}

const PORT_ATTEMPTS = 3;
const PORT_TAKEN = /address already in use|EADDRINUSE/i;
/** Clients stop before their servers. */
const STOP_ORDER: readonly (readonly ProcessName[])[] = [
  ['worker'],
  ['simulator'],
  ['temporal', 'kube-apiserver'],
  ['etcd'],
];

/** The stack of one state folder, whose lock is held. `stop` may be called at any time, even during `start`. */
export class EmbeddedStack implements Stack {
  readonly state: string;
  readonly #options: StackOptions;
  readonly #files: ReturnType<typeof pathsOf>;
  readonly #data: string;
  readonly #services = new Map<ProcessName, Service<ProcessName>>();
  readonly #reaper = new ProcessReaper();
  readonly #ended = new AbortController();
  readonly #releaseLock: () => void;
  /** Chosen after the last run's processes have ended; until then, `stack.json` still describes that run. */
  #ports: StackPorts | undefined;
  #phase: Phase = 'starting';
  #stopping: Promise<void> | undefined;

  constructor(options: StackOptions, releaseLock: () => void) {
    this.state = options.state;
    this.#options = options;
    this.#files = pathsOf(options.state);
    this.#data = options.ephemeral === true ? this.#files.ephemeral : this.#files.data;
    this.#releaseLock = releaseLock;
  }

  get kubeconfig(): string {
    return this.#files.kubeconfig;
  }

  get temporalAddress(): string {
    return `127.0.0.1:${this.#ports?.temporal}`;
  }

  get temporalUi(): string {
    return `http://127.0.0.1:${this.#ports?.ui}`;
  }

  get env(): Record<string, string> {
    return {
      KUBECONFIG: this.kubeconfig,
      TEMPORAL_ADDRESS: this.temporalAddress,
      TEMPORAL_CONFIG_FILE: this.#files.temporalConfig,
      TEMPORAL_UI: this.temporalUi,
      DROVER_STATE: this.state,
    };
  }

  get processes(): { name: ProcessName; pid: number }[] {
    return this.#alive().map(({ name, pid }) => ({ name, pid }));
  }

  async start(): Promise<void> {
    const { kubevirtCrds: file, ephemeral = false, ports = {}, prepare, onProgress = () => {} } = this.#options;
    const given = file === undefined ? [] : readCrds(file);
    const tools = await resolveTools({
      cache: defaultCache(),
      onProgress,
      signal: this.#signal(),
      reaper: this.#reaper,
    });
    const last = readStackRecord(this.#files.stack);
    if (last !== undefined) await endLeftovers(last.processes);
    if (ephemeral) rmSync(this.#data, { recursive: true, force: true });
    for (const folder of [this.#data, this.#files.logs]) mkdirSync(folder, { recursive: true, mode: 0o700 });
    const credentials = prepareCredentials(this.#files.credentials);
    this.#ports = (await choosePorts(portNames, ports, last?.ports ?? {})) as StackPorts;

    await Promise.all([this.#startTemporal(tools), this.#startKubernetes(tools, credentials)]);
    writeFileSync(this.#files.temporalConfig, temporalConfig(this.temporalAddress));
    writeFileSync(this.#files.env, exportLines(this.env));
    await this.#installCrds(given);
    const isSimulated = this.#options.simulator ?? true;
    await Promise.all([isSimulated && this.#startSimulator(), prepare?.(this.env)]);
    if (this.#options.worker ?? true) await this.#start(worker({ env: { ...this.env, ...this.#options.workerEnv } }));
    this.#signal().throwIfAborted();
    this.#phase = 'ready';
    this.#record();
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async halt(name: ProcessName): Promise<void> {
    await this.#service(name).stop();
  }

  async restart(name: ProcessName): Promise<void> {
    if (name === 'simulator' && !this.#services.has(name)) return this.#startSimulator();
    const service = this.#service(name);
    await service.stop();
    await service.start(this.#signal());
  }

  kill(name: ProcessName, signal: NodeJS.Signals): void {
    this.#service(name).kill(signal);
  }

  async #stop(): Promise<void> {
    this.#phase = 'stopping';
    this.#ended.abort(new Error('the stack was stopped'));
    try {
      for (const names of STOP_ORDER) await Promise.all(names.map(async (name) => this.#services.get(name)?.stop()));
    } finally {
      this.#reaper.release();
      if (this.#options.ephemeral === true) rmSync(this.#data, { recursive: true, force: true });
      this.#phase = 'stopped';
      this.#record();
      this.#releaseLock();
    }
  }

  async #startTemporal({ temporal: binary }: Record<ToolName, string>): Promise<void> {
    const { ephemeral = false, temporalSettings: settings = [] } = this.#options;
    const location = { binary, data: this.#data, ephemeral, settings };
    await this.#startOnPorts(['temporal', 'ui'], ({ temporal: port, ui: uiPort }) =>
      temporal({ ...location, port, uiPort }),
    );
  }

  async #startKubernetes(tools: Record<ToolName, string>, credentials: Credentials): Promise<void> {
    const location = { data: this.#data, ephemeral: this.#options.ephemeral ?? false };
    await this.#start(etcd({ ...location, binary: tools.etcd }));
    await this.#startOnPorts(['apiserver'], ({ apiserver: port }) =>
      kubeApiserver({ ...location, binary: tools['kube-apiserver'], port, credentials }),
    );
    writeKubeconfig(this.kubeconfig, `https://127.0.0.1:${this.#ports?.apiserver}`, credentials);
  }

  async #startSimulator(): Promise<void> {
    const credentials = prepareCredentials(this.#files.credentials);
    await this.#startOnPorts(['simulator'], ({ simulator: port }) =>
      simulator({
        port,
        credentials,
        env: { ...this.env, ...this.#options.simulatorEnv },
        program: this.#options.simulatorProgram,
      }),
    );
  }

  async #installCrds(given: ReturnType<typeof readCrds>): Promise<void> {
    const client = new KubeClient(loadKubeConfig({ kubeconfig: this.kubeconfig }), { fieldManager: 'drover-dev' });
    try {
      await installCrds(client, mergeCrds(kubevirtCrds(), given), this.#signal());
    } finally {
      await client.close();
    }
  }

  async #start(spec: ServiceSpec<ProcessName>): Promise<void> {
    this.#signal().throwIfAborted();
    const { restarts = true, onProgress = () => {} } = this.#options;
    const service = new Service(spec, {
      logFile: join(this.#files.logs, `${spec.name}.log`),
      reaper: this.#reaper,
      restarts,
      onProgress,
      onChange: () => this.#record(),
    });
    this.#services.set(spec.name, service);
    await service.start(this.#signal());
    onProgress(`${spec.name} is ready`);
  }

  /** A free port may have been taken meanwhile. Ports that were not asked for are then chosen again. */
  async #startOnPorts(
    names: readonly PortName[],
    spec: (ports: StackPorts) => ServiceSpec<ProcessName>,
  ): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#start(spec(this.#ports!));
      } catch (error) {
        if (attempt === PORT_ATTEMPTS || !(error instanceof StartFailed) || !PORT_TAKEN.test(error.log)) throw error;
        this.#ports = { ...this.#ports!, ...(await choosePorts(names, this.#options.ports ?? {}, this.#ports!)) };
      }
    }
  }

  #service(name: ProcessName): Service<ProcessName> {
    const service = this.#services.get(name);
    if (service === undefined) throw new Error(`this stack has no ${name}`);
    return service;
  }

  #signal(): AbortSignal {
    const { signal } = this.#options;
    return signal === undefined ? this.#ended.signal : AbortSignal.any([signal, this.#ended.signal]);
  }

  #alive(): { name: ProcessName; pid: number; started: string }[] {
    return [...this.#services].flatMap(([name, { identity }]) =>
      identity === undefined ? [] : [{ name, ...identity }],
    );
  }

  /** Never throws: it is also called when a process ends, when no caller could catch an error. */
  #record(): void {
    if (this.#ports === undefined) return;
    try {
      writeStackRecord(this.#files.stack, {
        phase: this.#phase,
        supervisor: identify(process.pid)!,
        ephemeral: this.#options.ephemeral ?? false,
        ports: this.#ports,
        kubeconfig: this.kubeconfig,
        temporalAddress: this.temporalAddress,
        temporalUi: this.temporalUi,
        names: [...this.#services.keys()],
        processes: this.#alive(),
      });
    } catch (error) {
      this.#options.onProgress?.(`what runs could not be noted: ${(error as Error).message}`);
    }
  }
}
