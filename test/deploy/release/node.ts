import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { until, type TestFleet } from '../../integration/fleet.ts';
import { freePort } from '../../integration/free-port.ts';
import { PATIENCE_MS, waitFor } from '../../wait-for.ts';
import { containerOf, Deployments, environmentOf, Kubelet, type Workload } from '../chart/kubelet.ts';
import { ended, ImageFiles } from '../image.ts';
import { kubeconfigOf, NAMESPACE } from '../service-accounts.ts';

const PLATFORM = process.arch === 'arm64' ? 'linux/arm64' : 'linux/amd64';
const WORKER = { namespace: NAMESPACE, name: 'drover-worker' };

/** A node that runs what the chart has installed, from images that it pulls, with the rights that it has installed. */
export class Node {
  readonly #fleet: () => TestFleet;
  readonly #folder: string;
  readonly #run: (script: string) => Promise<unknown>;
  readonly #images = new Map<string, ImageFiles>();

  /** `folder`: for images. `run`: runs a script where there is crane. */
  constructor(fleet: () => TestFleet, folder: string, run: (script: string) => Promise<unknown>) {
    this.#fleet = fleet;
    this.#folder = folder;
    this.#run = run;
  }

  /** Runs the Job of the setup, then one of the workers until it is ready; returns how to end it. */
  async play(): Promise<() => Promise<unknown>> {
    const { kube } = this.#fleet();
    await new Kubelet(this.#fleet, async (args, env, image) => {
      const { code, output } = await ended(await this.#start(image, args, env));
      return { isDone: code === 0, said: output };
    }).playSetup();

    const deployment = await waitFor(() => kube.get<Workload>(Deployments, WORKER), PATIENCE_MS);
    const worker = await this.#startWorker(deployment);
    const { replicas } = deployment.spec;
    const counts = { replicas, updatedReplicas: replicas, readyReplicas: replicas, availableReplicas: replicas };
    const status = { observedGeneration: 1, ...counts };
    await kube.patch(Deployments, WORKER, 'merge', { status }, { subresource: 'status' });
    return async () => {
      const end = once(worker, 'close');
      worker.kill('SIGTERM');
      return await end;
    };
  }

  async #startWorker(deployment: Workload): Promise<ChildProcess> {
    const { args, image } = containerOf(deployment);
    const port = await freePort();
    const worker = await this.#start(image, args, {
      ...environmentOf(deployment),
      KUBECONFIG: await kubeconfigOf(this.#fleet(), deployment.spec.template.spec.serviceAccountName),
      DROVER_HEALTH_ADDRESS: '127.0.0.1',
      DROVER_HEALTH_PORT: `${port}`,
      DROVER_TEMPORAL_METRICS_PORT: `${await freePort()}`,
    });
    const said: string[] = [];
    for (const input of [worker.stdout!, worker.stderr!])
      createInterface({ input }).on('line', (line) => said.push(line));
    await until(async () => {
      if (worker.exitCode !== null) throw new Error(said.slice(-5).join('\n'));
      expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
    });
    return worker;
  }

  async #start(image: string, args: string[], env: Record<string, string>): Promise<ChildProcess> {
    const files = this.#images.get(image) ?? (await this.#pull(image));
    this.#images.set(image, files);
    // The image's user is not the one who runs the tests.
    chmodSync(env['KUBECONFIG']!, 0o644);
    chmodSync(dirname(env['KUBECONFIG']!), 0o755);
    return files.start(args, env);
  }

  async #pull(image: string): Promise<ImageFiles> {
    const files = new ImageFiles(mkdtempSync(join(this.#folder, 'pulled-')));
    for (const folder of [this.#folder, files.root]) chmodSync(folder, 0o755);
    await this.#run(`crane export --platform ${PLATFORM} ${image} - | tar -x -C ${files.root}`);
    files.addNode();
    return files;
  }
}
