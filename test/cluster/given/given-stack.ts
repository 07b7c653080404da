import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import type { ProcessName, Stack } from '../../../dev/embedded-stack.ts';
import { defaultCache } from '../../../dev/paths.ts';
import { choosePorts } from '../../../dev/process/ports.ts';
import { ProcessReaper } from '../../../dev/process/reaper.ts';
import { Service } from '../../../dev/process/service.ts';
import { temporalConfig } from '../../../dev/services/environment.ts';
import { temporal } from '../../../dev/services/temporal.ts';
import { catalog } from '../../../dev/tools/catalog.ts';
import { resolveTools } from '../../../dev/tools/resolve.ts';
import { loadKubeConfig } from '../../../kubernetes/config.ts';
import { Faults } from './faults.ts';
import type { GivenCluster } from './given.ts';
import { GuardedClient } from './guarded-client.ts';
import { removeNamespaces } from './ownership.ts';
import { Relay } from './relay.ts';
import { skip } from './skip.ts';
import { workerKubeconfig } from './worker-rights.ts';

/**
 * A given cluster in place of a test file's stack, with a Temporal, or a Temporal namespace, of the file's own. What a
 * test kills is never the cluster's own: in place of the API server, it is the way to it.
 */
export class GivenStack implements Stack {
  readonly state = mkdtempSync(join(tmpdir(), 'drover-cluster-'));
  readonly kube: GuardedClient;
  readonly temporalNamespace: string;
  readonly processes = [];
  readonly #given: GivenCluster;
  readonly #faults: Faults;
  readonly #reaper = new ProcessReaper();
  #kubeconfig: string;
  #workerKubeconfig = '';
  #relay: Relay | undefined;
  #temporal: Service | undefined;
  #address = '';
  #ui = '';

  private constructor(given: GivenCluster) {
    this.#given = given;
    this.#kubeconfig = given.kubeconfig;
    this.temporalNamespace =
      given.temporal === null ? 'default' : `drover-test-${given.run}-${randomBytes(3).toString('hex')}`;
    this.kube = new GuardedClient(loadKubeConfig({ kubeconfig: given.kubeconfig }), given);
    this.#faults = new Faults(this.kube.plain, given, (namespace) => this.kube.namespaces.includes(namespace));
  }

  /** `isDurable`: a Temporal that the tests started keeps its data when they kill it. */
  static async start(given: GivenCluster, isDurable: boolean): Promise<GivenStack> {
    const stack = new GivenStack(given);
    try {
      await stack.#start(isDurable);
      return stack;
    } catch (error) {
      await stack.stop();
      throw error;
    }
  }

  get kubeconfig(): string {
    return this.#kubeconfig;
  }

  get temporalAddress(): string {
    return this.#address;
  }

  get temporalUi(): string {
    return this.#ui;
  }

  get env(): Record<string, string> {
    return {
      KUBECONFIG: this.kubeconfig,
      TEMPORAL_ADDRESS: this.#address,
      TEMPORAL_NAMESPACE: this.temporalNamespace,
      TEMPORAL_CONFIG_FILE: join(this.state, 'temporal.toml'),
      TEMPORAL_UI: this.#ui,
      DROVER_STATE: this.state,
    };
  }

  /** The worker's environment: the permissions that are declared for it, and no more. */
  get workerEnv(): Record<string, string> {
    return { KUBECONFIG: this.#workerKubeconfig };
  }

  async #start(isDurable: boolean): Promise<void> {
    for (const folder of ['logs', 'data']) mkdirSync(join(this.state, folder));
    await this.#startRelay();
    this.#workerKubeconfig = await workerKubeconfig(this.kube.plain, this.#given, this);
    if (this.#given.temporal === null) await this.#startTemporal(isDurable);
    else await this.#makeNamespace(this.#given.temporal);
    writeFileSync(
      join(this.state, 'temporal.toml'),
      temporalConfig(this.#address).replace('"default"', JSON.stringify(this.temporalNamespace)),
    );
    await this.#faults.start();
  }

  async stop(): Promise<void> {
    await this.#faults.stop();
    await removeNamespaces(this.kube.plain, this.kube.namespaces);
    await this.#temporal?.stop();
    this.#relay?.close();
    this.#reaper.release();
    if (this.#given.temporal !== null && this.#address !== '') await this.#removeNamespace(this.#address);
  }

  async halt(name: ProcessName): Promise<void> {
    if (name !== 'temporal' || this.#temporal === undefined) return skip(`it stops ${name}`);
    await this.#temporal.stop();
  }

  async restart(name: ProcessName): Promise<void> {
    if (name === 'kube-apiserver' && this.#relay !== undefined) return this.#relay.open();
    await this.halt(name);
    await this.#temporal!.start();
  }

  kill(name: ProcessName, signal: NodeJS.Signals): void {
    if (name === 'kube-apiserver' && signal === 'SIGKILL' && this.#relay !== undefined) return this.#relay.close();
    if (name !== 'temporal' || this.#temporal === undefined) return skip(`it kills ${name}`);
    this.#temporal.kill(signal);
  }

  async #startRelay(): Promise<void> {
    const config = loadKubeConfig({ kubeconfig: this.#given.kubeconfig });
    const cluster = config.getCurrentCluster()!;
    this.#relay = await Relay.to(cluster);
    if (this.#relay === undefined) return;
    config.loadFromClusterAndUser(this.#relay.cluster, config.getCurrentUser()!);
    this.#kubeconfig = join(this.state, 'kubeconfig');
    writeFileSync(this.#kubeconfig, config.exportConfig(), { mode: 0o600 });
  }

  async #startTemporal(isDurable: boolean): Promise<void> {
    const tools = { temporal: catalog().temporal } as ReturnType<typeof catalog>;
    const { temporal: binary } = await resolveTools({ cache: defaultCache(), onProgress: () => {}, tools });
    const { temporal: port, ui: uiPort } = (await choosePorts(['temporal', 'ui'], {}, {})) as {
      temporal: number;
      ui: number;
    };
    this.#address = `127.0.0.1:${port}`;
    this.#ui = `http://127.0.0.1:${uiPort}`;
    const context = {
      logFile: join(this.state, 'logs', 'temporal.log'),
      reaper: this.#reaper,
      restarts: false,
      onProgress: () => {},
      onChange: () => {},
    };
    const data = join(this.state, 'data');
    this.#temporal = new Service(temporal({ binary, data, port, uiPort, ephemeral: !isDurable }), context);
    await this.#temporal.start();
  }

  async #makeNamespace(address: string): Promise<void> {
    this.#address = address;
    await withConnection(address, async (connection) => {
      const workflowExecutionRetentionPeriod = { seconds: 24 * 3600 } as never;
      await connection.workflowService.registerNamespace({
        namespace: this.temporalNamespace,
        workflowExecutionRetentionPeriod,
      });
    });
  }

  async #removeNamespace(address: string): Promise<void> {
    await withConnection(
      address,
      async (connection) =>
        void (await connection.operatorService.deleteNamespace({ namespace: this.temporalNamespace })),
    );
  }
}

async function withConnection(address: string, act: (connection: Connection) => Promise<void>): Promise<void> {
  const connection = await Connection.connect({ address });
  try {
    await act(connection);
  } finally {
    await connection.close();
  }
}
